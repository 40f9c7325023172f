// Every process there can be wakes in one entry: they sleep to one instant, at which the kernel is in a long
// destruction, so that the next entry finds all of them due and queues all of their budgets. The kernel's
// longest section is judged, and that all ran.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::Micros;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

// The launcher and who is destroyed are two.
constexpr u64 kOthers = abi::kMaxProcesses - 2;
constexpr u64 kInSystem = abi::kMaxProcesses / 4;
constexpr u64 kPages = 2'000;
constexpr Micros kBeforeDue{200};
constexpr u64 kLead = 3'000;  // milliseconds in which all of them are made

// Sleeps until so many microseconds since boot, and then for good.
void wake_once(rt::Env& env) {
    const u64 due = env.argument();
    const u64 now = rt::time_now().value;
    if (now >= due) {
        rt::process_exit(1);
    }
    rt::sleep({due - now});
    rt::work({1});
    rt::sleep(rt::kForever);
}

// Has what a destruction of more than kBeforeDue takes.
void hold(Child& child) {
    for (u64 i = 0; i < kPages; ++i) {
        child.must(rt::endpoint_create()).forget();
    }
    child.report(kPages);
    rt::sleep(rt::kForever);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Records& records = env.records();
    rt::Budget large = launcher.budget(launcher.users(), 100, 1, 1, kPages + kPages / 64 + 2);
    launcher.start<hold>(large);
    launcher.collect();
    const Micros due = rt::time_now() + rt::milliseconds(kLead);
    for (u64 i = 0; i < kOthers; ++i) {
        const rt::Budget& parent = i < kInSystem ? launcher.system() : launcher.users();
        rt::Budget budget = launcher.must(rt::budget_create(
            records, parent, {.pages = rt::copy_pages(), .processes = 1, .weight = 1}));
        launcher.must(rt::start_copy<wake_once>(records, budget, static_cast<Word>(due.value), {}))
            .forget();
        budget.forget();
    }
    const Micros now = rt::time_now();
    launcher.expect(now + kBeforeDue < due);
    rt::sleep({due.value - kBeforeDue.value - now.value});
    launcher.mark(workload::kWindowStart);
    launcher.destroy(large);
    rt::sleep(rt::milliseconds(200));
    launcher.mark(workload::kWindowEnd);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
