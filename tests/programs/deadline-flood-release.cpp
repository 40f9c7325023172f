// deadline-flood on a release kernel: what a flood of deadlines leaves the spinner beside it of the hart, small or large.
#include "user/rt/program.h"
#include "user/workload/roles.h"
#include "user/workload/useful.h"

namespace {

using namespace ravelin;
using rt::u64;
using workload::Launcher;

constexpr u64 kWeight = 100;
constexpr u64 kLeast = 480;

void hold(Launcher& launcher, u64 size) {
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget flooder = launcher.budget(launcher.users(), kWeight, 2, 1, workload::kFloodPages);
    launcher.start<workload::count_rounds>(victim);
    launcher.start<workload::flood>(flooder, {size, launcher.ticks(workload::kSlice).value},
                                    {flooder.index()});
    launcher.expect(workload::useful_work(launcher, 2, rt::milliseconds(500)) >= kLeast);
    launcher.destroy(victim);
    launcher.destroy(flooder);
    launcher.reset_children();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    hold(launcher, 16);
    hold(launcher, 64);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
