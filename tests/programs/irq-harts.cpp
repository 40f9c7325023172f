// Device interrupts on several harts: a driver waits for alarms while more spinning threads than there are
// harts keep every hart in user code, so that each alarm comes on every hart.

#include "user/rt/program.h"
#include "user/workload/alarm.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using workload::Launcher;

constexpr rt::u64 kAlarms = 60;
constexpr rt::u64 kThreads = 8;

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget driver = launcher.budget(launcher.users(), 1'000, 1);
    rt::Budget spinner = launcher.budget(launcher.users(), 100, 2, 1, kThreads * rt::copy_pages());
    workload::start_driver(launcher, driver, kAlarms);
    launcher.start<workload::spin>(spinner, {launcher.piece(), kThreads});
    launcher.run({.warm_up = {0}, .judged = rt::milliseconds(500)});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
