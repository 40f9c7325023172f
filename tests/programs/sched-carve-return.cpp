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
using workload::Child;
using workload::kSlice;
using workload::Launcher;

constexpr u64 kWeight = 1'000;

/// Works, and at the start of a slice plays the trick on this process's own budget, the role handle 0.
///   0 length of a piece   1 how often at most   2 a slice
void carve_and_return(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    const u64 slice = child.parameter(2);
    child.begin();
    u64 count = 0;
    rt::Ticks last = rt::clock();
    while (child.in_window()) {
        rt::work({child.parameter(0)});
        const rt::Ticks now = rt::clock();
        // A gap that others' slices made: this is the start of one of its own.
        if ((now - last).value > slice / 2 && count < child.parameter(1)) {
            rt::Budget most =
                child.must(rt::budget_create(child.env().records(), own, {.weight = kWeight - 1}));
            const u64 spent = (rt::clock() - now).value;
            rt::work({slice * 9 / 10 - (spent < slice / 2 ? spent : slice / 2)});
            child.must(rt::budget_destroy(most));
            ++count;
            last = rt::clock();
        } else {
            last = now;
        }
    }
    child.report(count);
}

void play(Launcher& launcher, u64 times) {
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget carver = launcher.budget(launcher.users(), kWeight, 2);
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<carve_and_return>(
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
