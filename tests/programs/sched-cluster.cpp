// A driver and a sleeper of weight 1000 beside a busy server of that weight and sixteen spinners of weight 100, which one timeout
// lets go together. Each wakes again and again, by turns without a lead over the floor and with one, which it worked for just before.

#include "user/rt/program.h"
#include "user/workload/alarm.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::Micros;
using rt::u64;
using workload::Child;
using workload::kSlice;
using workload::Launcher;

constexpr u64 kHeavy = 1'000;
constexpr u64 kLight = 100;
constexpr u64 kSpinners = 16;

/// Behind which nobody has a lead of his own any more.
constexpr Micros kPause = rt::milliseconds(20);
constexpr Micros kOffsets[] = {{100}, {300}, {600}, {850}};

/// Ahead of attempt `number`: a pause and, in every other one, nine tenths of a slice of work. Gives the time to wait then.
Micros prepare(Child& child, u64 number) {
    rt::sleep(kPause);
    if (number % 2 == 1) {
        rt::work(child.rate().ticks_of({kSlice.value * 9 / 10}));
    }
    return kOffsets[number / 2 % std::size(kOffsets)];
}

void timer_wakes(Child& child) {
    child.begin();
    u64 number = 0;
    for (; child.in_window(); ++number) {
        rt::sleep(prepare(child, number));
    }
    child.report(number);
}

/// Role handles: the clock's registers and its interrupt.
void alarm_wakes(Child& child) {
    const rt::RegisterWindow window = child.handle<rt::RegisterWindow>(0);
    const rt::Interrupt interrupt = child.handle<rt::Interrupt>(1);
    workload::Alarm alarm{child.must(rt::map_device(window))};
    child.begin();
    u64 number = 0;
    for (; child.in_window(); ++number) {
        const u64 ahead = prepare(child, number).value * 1'000;
        const u64 when = alarm.now() + ahead;
        alarm.set(when);
        do {
            child.must(rt::receive(interrupt, rt::milliseconds(100)));
        } while (alarm.now() < when);
        alarm.clear();
    }
    child.report(number);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget driver = launcher.budget(launcher.system(), kHeavy, 1);
    rt::Budget sleeper = launcher.budget(launcher.system(), kHeavy, 2);
    rt::Budget server = launcher.budget(launcher.system(), kHeavy, 3);
    for (u64 i = 0; i < kSpinners; ++i) {
        rt::Budget spinner = launcher.budget(launcher.users(), kLight, 4);
        launcher.start<workload::spin>(spinner, {launcher.piece()});
        spinner.forget();
    }
    constexpr auto kClock = abi::DeviceModel::goldfish_rtc;
    launcher.start<alarm_wakes>(driver, {},
                                {launcher.device(abi::DeviceKind::mmio, kClock),
                                 launcher.device(abi::DeviceKind::interrupt, kClock)});
    launcher.start<timer_wakes>(sleeper);
    launcher.start<workload::spin>(server, {launcher.piece()});
    launcher.run({.warm_up = {0}, .judged = rt::milliseconds(2'500)});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
