// Two spinners run, then nothing does, and a third budget that slept through both wakes into the gap. When
// all three spin from then on they get alike: the floor holds while the queue is empty, so the
// sleeper comes back without credit for the time it was away.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::Micros;
using rt::milliseconds;
using workload::Launcher;

constexpr rt::u64 kWeight = 100;

// From the window's start.
constexpr Micros kPause = milliseconds(200);
constexpr Micros kSleeperWakes = milliseconds(220);
constexpr Micros kGoOn = milliseconds(240);

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget first = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget second = launcher.budget(launcher.users(), kWeight, 2);
    rt::Budget sleeper = launcher.budget(launcher.users(), kWeight, 3);
    for (const rt::Budget* budget : {&first, &second}) {
        launcher.start<workload::spin_gap>(*budget,
                                           {launcher.piece(), 0, kPause.value, kGoOn.value});
    }
    launcher.start<workload::spin_gap>(sleeper, {launcher.piece(), kSleeperWakes.value});
    launcher.run({.warm_up = kGoOn, .judged = milliseconds(200)});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
