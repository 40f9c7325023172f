// Two groups of three budgets that wake at an equal pass, each group in one kernel entry: its three wait
// in a call through a handle whose stamp is destroyed. Within a group the lowest id runs first; which
// group is first, the oracle judges from what happened between the two entries.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u64;
using workload::Launcher;

constexpr u64 kWeight = 100;
constexpr rt::u32 kGroups = 2;
constexpr rt::u32 kSize = 3;
constexpr u64 kSpinner = kGroups + 1;

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint silent = launcher.must(rt::endpoint_create());
    rt::Budget stamps[kGroups];
    rt::Budget budgets[kGroups][kSize];
    for (rt::u32 group = 0; group < kGroups; ++group) {
        stamps[group] = launcher.scope(launcher.root());
        rt::Endpoint sender = launcher.must(rt::mint(silent, group + 1, &stamps[group]));
        for (rt::Budget& budget : budgets[group]) {
            budget = launcher.budget(launcher.users(), kWeight, group + 1);
            launcher.start<workload::tie>(budget, {}, {sender.index()});
        }
    }
    // Meanwhile this one spins, so that the floor is above what the groups ran before they blocked.
    rt::Budget spinner = launcher.budget(launcher.users(), kWeight, kSpinner);
    launcher.start<workload::spin>(spinner, {launcher.piece()});

    const workload::Times times{.judged = rt::milliseconds(40)};
    const workload::Window window = launcher.open(times);
    launcher.sleep_until(window.start + launcher.ticks(times.warm_up));
    launcher.mark(workload::kWindowStart);
    for (rt::Budget& stamp : stamps) {
        launcher.destroy(stamp);
    }
    launcher.sleep_until(window.start + launcher.ticks(times.warm_up + times.judged));
    launcher.mark(workload::kWindowEnd);
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
