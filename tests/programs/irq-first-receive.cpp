// A device's interrupt waits for its receiver (R5): what the device raised before anybody ever received, or while the
// source was masked, the next receive takes at once; what it did not raise, none takes. The launcher judges by what
// the kernel gives it; the alarms come from the device.

#include "user/rt/program.h"
#include "user/workload/alarm.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Launcher;

constexpr rt::Micros kSoon = rt::milliseconds(1);
constexpr rt::Micros kLong = rt::milliseconds(50);
constexpr u32 kRounds = 20;

// What was raised before the line fell: one interrupt that was claimed while nobody waited, and one that the
// controller holds since that claim was completed with the line high. Then nothing is left.
void drain(Launcher& launcher, const rt::Interrupt& interrupt) {
    constexpr u32 kLeft = 2;
    abi::Status status = abi::Status::ok;
    for (u32 i = 0; i <= kLeft && status == abi::Status::ok; ++i) {
        status = rt::receive(interrupt, kSoon).status();
    }
    launcher.expect(status == abi::Status::timeout);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    constexpr auto kClock = abi::DeviceModel::goldfish_rtc;
    const rt::RegisterWindow window{launcher.device(abi::DeviceKind::mmio, kClock)};
    const rt::Interrupt interrupt{launcher.device(abi::DeviceKind::interrupt, kClock)};
    workload::Alarm alarm{launcher.must(rt::map_device(window))};
    for (u32 round = 0; round < kRounds; ++round) {
        // In round 0 nobody has received yet; in the others the source is masked or was unmasked in vain.
        alarm.set(alarm.now());
        rt::sleep(kSoon);
        // With no time to wait the source is only unmasked: what is pending may come behind it.
        if (round % 2 != 0) {
            static_cast<void>(rt::receive(interrupt, {0}));
            alarm.clear();
            alarm.set(alarm.now());
        }
        launcher.must(rt::receive(interrupt, kLong));
        alarm.clear();
        drain(launcher, interrupt);
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
