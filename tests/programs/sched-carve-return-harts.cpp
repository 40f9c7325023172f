// The trick of sched-carve-return where a budget has a hart more: one thread of the carver plays it while another one spins
// on, on what weight there is, and the victim has two threads as well, so that no hart is anyone's own.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u64;
using workload::Launcher;

void stage(Launcher& launcher, u64 times) {
    constexpr u64 kThreads = 2;
    rt::Budget victim = launcher.budget(launcher.users(), workload::kCarved + 1, 1);
    rt::Budget carver = launcher.budget(launcher.users(), workload::kCarved + 1, 2, 2);
    launcher.start<workload::spin>(victim, {launcher.piece(), kThreads});
    launcher.start<workload::spin>(carver, {launcher.piece()});
    launcher.start<workload::carve_and_return>(
        carver, {launcher.piece(), times, launcher.ticks(workload::kSlice).value},
        {carver.index()});
    launcher.run({});
    launcher.collect();
    launcher.destroy(victim);
    launcher.destroy(carver);
    launcher.reset_children();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    stage(launcher, 1);
    stage(launcher, ~u64{0});
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
