// Everything at once: a driver with its alarms, a hostile budget that does everything at random, a sleeper
// that games, a budget that churns processes, and a spinner that must keep its share of it all.

#include "user/rt/program.h"
#include "user/workload/alarm.h"
#include "user/workload/hostile.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using workload::Launcher;

constexpr rt::u64 kWeight = 100;

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1, 1, 16);
    rt::Budget hostile = launcher.budget(launcher.users(), kWeight, 2,
                                         1 + workload::kHostileBudgets, workload::hostile_pages());
    rt::Budget gamer = launcher.budget(launcher.users(), kWeight, 3, 1, 64);
    rt::Budget driver = launcher.budget(launcher.system(), kWeight, 4);
    launcher.start<workload::spin>(victim, {launcher.piece(), 4});
    launcher.start<workload::hostile>(hostile, {launcher.ticks(workload::kSlice).value},
                                      {hostile.index()});
    launcher.start<workload::game>(gamer, {launcher.ticks({300}).value, 50, 4});
    workload::start_driver(launcher, driver, 60);
    launcher.run({});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
