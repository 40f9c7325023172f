// A destruction costs what dies and nothing else: the launcher destroys small leases, each with a process, a
// thread, an endpoint and some memory, before and after others hold twenty thousand
// endpoints, full handle tables and hundreds of threads. The time in the middle grows by a fifth at most, or by ten ticks.

#include "user/rt/program.h"
#include "user/workload/filler.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u32 kRuns = 9;
constexpr u32 kPages = 24;
constexpr u32 kHoarders = 5;
constexpr u32 kHoard = 4'000;

void small(Child& child) {
    static_cast<void>(
        child.must(rt::map_anon(kPages / 2 * rt::kPageSize, abi::kRead | abi::kWrite)));
    const rt::Endpoint endpoint = child.must(rt::endpoint_create());
    child.report(endpoint.index());
    rt::sleep(rt::kForever);
}

void hoard(Child& child) {
    for (u32 i = 0; i < kHoard; ++i) {
        child.must(rt::endpoint_create()).forget();
    }
    child.report(kHoard);
    rt::sleep(rt::kForever);
}

u64 middle_of(u64 (&values)[kRuns]) {
    for (u32 i = 0; i < kRuns; ++i) {
        for (u32 j = i + 1; j < kRuns; ++j) {
            if (values[j] < values[i]) {
                std::swap(values[i], values[j]);
            }
        }
    }
    return values[kRuns / 2];
}

u64 ticks_of_destruction(Launcher& launcher) {
    u64 took[kRuns];
    for (u64& ticks : took) {
        rt::Budget budget = launcher.budget(launcher.users(), 100, 900, 1, kPages);
        launcher.start<small>(budget);
        static_cast<void>(launcher.next_report());
        rt::sleep(rt::milliseconds(5));
        const rt::Ticks begin = rt::clock();
        launcher.destroy(budget);
        ticks = (rt::clock() - begin).value;
    }
    return middle_of(took);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    static_cast<void>(ticks_of_destruction(launcher));
    const u64 alone = ticks_of_destruction(launcher);
    const rt::Endpoint server = launcher.must(rt::endpoint_create());
    const rt::Endpoint sends = launcher.must(rt::mint(server, 1));
    rt::Budget budgets[kHoarders + 1];
    for (u32 i = 0; i < kHoarders; ++i) {
        budgets[i] = launcher.budget(launcher.users(), 100, i + 1, 1, kHoard + kHoard / 64 + 2);
        launcher.start<hoard>(budgets[i]);
        static_cast<void>(launcher.next_report());
    }
    launcher.reset_children();
    budgets[kHoarders] =
        launcher.budget(launcher.users(), 100, kHoarders + 1, 1, workload::filler_pages());
    launcher.start<workload::fill>(budgets[kHoarders], {}, {sends.index()});
    static_cast<void>(launcher.open({.warm_up = {0}, .judged = {0}}));
    for (u32 i = 0; i < workload::kFillTaken; ++i) {
        launcher.expect(launcher.must(rt::receive(server, rt::milliseconds(5'000))).kind ==
                        abi::Received::call);
    }
    launcher.collect();
    rt::sleep(rt::milliseconds(100));
    const u64 beside = ticks_of_destruction(launcher);
    launcher.expect(beside <= alone + alone / 5 || beside <= alone + 10);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
