// The conformance suite as a kernel on the RISC-V port: its room in the image, its end, and the board's
// device: a goldfish RTC, whose alarm in the past raises its line at once.

#include <new>

#include "port-riscv/machine.h"
#include "tests/conformance/kernel.h"

namespace ravelin {

namespace riscv {

Kernel& make_kernel(Port& port) noexcept {
    alignas(Kernel) static std::byte room[sizeof(Kernel)];
    return *new (room) Kernel(port);
}

void end_kernel(HartBlock& block, const char* what) noexcept {
    block.kernel->expect(false, what);
    power_off(ResetKind::off_failed);
}

}  // namespace riscv

namespace conformance {

TestDevice test_device(Kernel& kernel) {
    constexpr u32 kAlarmLow = 0x08, kAlarmHigh = 0x0c, kEnabled = 0x10, kClear = 0x1c;
    static constexpr TestDevice::Write kRaise[] = {{kEnabled, 1}, {kAlarmHigh, 0}, {kAlarmLow, 0}};
    static constexpr TestDevice::Write kLower[] = {{kClear, 1}};
    TestDevice device{.raise = kRaise, .lower = kLower};
    for (const DeviceFact& fact : kernel.port.facts().devices) {
        if (fact.kind == DeviceKind::mmio) {
            device.address = fact.address;
        } else if (fact.kind == DeviceKind::interrupt) {
            device.source = fact.source;
        }
    }
    return device;
}

}  // namespace conformance

}  // namespace ravelin
