// Every process there can be, each in a budget of its own, and every one of them runnable: nobody is left
// out of the queue.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u64;
using workload::Launcher;

// The launcher is one.
constexpr u64 kOthers = abi::kMaxProcesses - 1;

// system may hold a quarter of all processes, and users the rest.
constexpr u64 kInSystem = abi::kMaxProcesses / 4;

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Records& records = launcher.env().records();
    for (u64 i = 0; i < kOthers; ++i) {
        const rt::Budget& parent = i < kInSystem ? launcher.system() : launcher.users();
        rt::Budget budget = launcher.must(rt::budget_create(
            records, parent, {.pages = rt::copy_pages(), .processes = 1, .weight = 1}));
        launcher.must(rt::start_copy<workload::busy>(records, budget,
                                                     static_cast<rt::Word>(launcher.piece()), {}));
        budget.forget();
    }
    launcher.mark(workload::kWindowStart);
    rt::sleep(rt::milliseconds(kOthers + 50));
    launcher.mark(workload::kWindowEnd);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
