// See alarm.h.

#include "user/workload/alarm.h"

namespace ravelin::workload {

namespace {

// In nanoseconds.
constexpr u64 kAhead = 2'000'000;
constexpr u64 kFurther = 17'000;

constexpr Micros kQuiet = rt::milliseconds(10);
constexpr Micros kTimeout = rt::milliseconds(100);

}  // namespace

void drive(Child& child) {
    const rt::RegisterWindow window = child.handle<rt::RegisterWindow>(0);
    const rt::Interrupt interrupt = child.handle<rt::Interrupt>(1);
    Alarm alarm{child.must(rt::map_device(window))};
    child.begin();
    rt::sleep(kQuiet);
    const u64 alarms = child.parameter(0);
    for (u64 i = 0; i < alarms; ++i) {
        const u64 when = alarm.now() + kAhead + i * kFurther;
        alarm.set(when);
        // The line was still high when the last claim was completed: that interrupt may come first.
        do {
            child.must(rt::receive(interrupt, kTimeout));
        } while (alarm.now() < when);
        alarm.clear();
    }
    child.report(alarms);
}

}  // namespace ravelin::workload
