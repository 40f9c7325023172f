// A budget of weight 1000 carves 999 away at the start of a slice, runs on the 1 it kept until nine tenths
// of the slice into it, and takes the weight back: what it owes follows its weight, both ways. First
// once, ahead of a window in which it and an equal spinner get alike; then at every slice of a window
// in which it gains nothing.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u64;
using workload::kSlice;
using workload::Launcher;

void play(Launcher& launcher, u64 times) {
    rt::Budget victim = launcher.budget(launcher.users(), workload::kCarved + 1, 1);
    rt::Budget carver = launcher.budget(launcher.users(), workload::kCarved + 1, 2);
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<workload::carve_and_return>(
        carver, {launcher.piece(), times, launcher.ticks(kSlice).value}, {carver.index()});
    launcher.run({});
    launcher.collect();
    launcher.destroy(victim);
    launcher.destroy(carver);
    launcher.reset_children();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    play(launcher, 1);
    play(launcher, ~u64{0});
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
