// A driver that waits for the real-time clock's alarm, beside a spinner of equal weight: every alarm comes
// in one of the spinner's slices, wakes the driver and takes nothing from the spinner.

#include "user/rt/program.h"
#include "user/workload/alarm.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using workload::Launcher;

constexpr rt::u64 kAlarms = 60;
// More than two harts, so that none of them idles.
constexpr rt::u64 kThreads = 3;

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget driver = launcher.budget(launcher.users(), 100, 1);
    rt::Budget spinner = launcher.budget(launcher.users(), 100, 2);
    workload::start_driver(launcher, driver, kAlarms);
    launcher.start<workload::spin>(spinner, {launcher.piece(), kThreads});
    launcher.run({.warm_up = {0}, .judged = rt::milliseconds(500)});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
