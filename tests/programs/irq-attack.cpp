// A device's interrupt is its holder's (R5, R18). Attackers that were given none receive on every handle number
// throughout; a driver that leaves the device's line high is destroyed in its receive; then the victim,
// another driver, takes over the device and must see every one of its alarms. The launcher is refused whatever an
// interrupt's handle is not for.

#include "user/rt/program.h"
#include "user/workload/alarm.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr u64 kAlarms = 40;
constexpr u32 kNumbers = 64;

void attack(Child& child) {
    child.begin();
    while (child.in_window()) {
        for (u32 number = workload::kFirstRoleHandle; number < kNumbers; ++number) {
            if (rt::receive(rt::Interrupt{number}, {0}).ok()) {
                child.fail(__LINE__);
            }
        }
    }
    child.report(0);
    rt::sleep(rt::kForever);
}

// Takes alarms without clearing them, so that the line stays high, and dies in a receive.
void hold(Child& child) {
    const rt::RegisterWindow window = child.handle<rt::RegisterWindow>(0);
    const rt::Interrupt interrupt = child.handle<rt::Interrupt>(1);
    workload::Alarm alarm{child.must(rt::map_device(window))};
    alarm.set(alarm.now());
    child.must(rt::receive(interrupt, rt::milliseconds(100)));
    child.report(0);
    for (;;) {
        static_cast<void>(rt::receive(interrupt, rt::kForever));
    }
}

void refusals(Launcher& launcher, u32 line) {
    rt::Endpoint endpoint{line};
    rt::Budget budget{line};
    rt::Records& records = launcher.env().records();
    constexpr auto kWrong = abi::Status::wrong_object;
    launcher.expect(rt::mint(endpoint, 1).status() == kWrong);
    launcher.expect(rt::call(records, endpoint, {}, {}, {0}).status == kWrong);
    launcher.expect(rt::send(records, endpoint, {}, {}, {0}).status() == kWrong);
    launcher.expect(rt::process_create(budget).status() == kWrong);
    launcher.expect(rt::budget_reap(budget).status() == kWrong);
    endpoint.forget();
    budget.forget();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    constexpr auto kClock = abi::DeviceModel::goldfish_rtc;
    const u32 registers = launcher.device(abi::DeviceKind::mmio, kClock);
    const u32 line = launcher.device(abi::DeviceKind::interrupt, kClock);
    refusals(launcher, line);
    rt::Budget first = launcher.budget(launcher.users(), 100, 3);
    launcher.start<hold>(first, {}, {registers, line});
    static_cast<void>(launcher.next_report());
    launcher.destroy(first);
    launcher.reset_children();
    const rt::Budget driver = launcher.budget(launcher.users(), 1'000, 1);
    const rt::Budget attackers = launcher.budget(launcher.users(), 100, 2, 2);
    workload::start_driver(launcher, driver, kAlarms);
    launcher.start<attack>(attackers);
    launcher.start<attack>(attackers);
    launcher.run({.warm_up = {0}, .judged = rt::milliseconds(300)});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
