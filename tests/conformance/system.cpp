// System and interrupts: the board's facts, entropy, the controller with nothing pending, cost
// units.

#include "tests/conformance/kernel.h"

namespace ravelin::conformance {

namespace {

Port::Context* facts(Kernel& kernel, const Trap*) {
    const BoardFacts& facts = kernel.port.facts();
    kernel.expect(facts.timebase != 0, "there is a timebase");
    kernel.expect(facts.harts >= 1 && facts.harts <= kMaxHarts, "1 to kMaxHarts harts");
    kernel.expect(!facts.ram.empty(), "there is RAM");
    u64 end = 1;  // frame 0 names no frame
    for (const RamRun& run : facts.ram) {
        kernel.expect(run.count != 0, "no RAM run is empty");
        kernel.expect(run.first.value >= end,
                      "RAM runs are sorted and disjoint, and none has frame 0");
        end = u64{run.first.value} + run.count;
    }
    for (const RamRun& run : facts.ram) {
        const bool apart = facts.trace.count == 0 ||
                           facts.trace.first.value >= run.first.value + run.count ||
                           facts.trace.first.value + facts.trace.count <= run.first.value;
        kernel.expect(apart, "the trace's RAM is in no other run");
    }
    for (const DeviceFact& device : facts.devices) {
        kernel.expect(device.kind != DeviceKind::interrupt ||
                          (device.source >= 1 && device.source <= 1'023),
                      "interrupt sources are 1 to 1023");
        kernel.expect(device.kind != DeviceKind::mmio ||
                          (device.pages >= 1 && device.address % kPageSize == 0),
                      "mmio windows are whole pages");
    }
    kernel.expect(&kernel.port.facts() == &facts, "facts are the same every time");
    return kernel.done();
}

Port::Context* entropy(Kernel& kernel, const Trap*) {
    std::byte seed[32] = {};
    kernel.port.entropy(seed);
    unsigned zeros = 0;
    for (const std::byte byte : seed) {
        zeros += byte == std::byte{0} ? 1 : 0;
    }
    kernel.expect(zeros < 8, "32 bytes are filled");  // 8 of 32 random bytes 0: once in 10^13
    return kernel.done();
}

Port::Context* controller(Kernel& kernel, const Trap*) {
    kernel.expect(kernel.port.claim(kBootHart) == 0, "nothing pending: claim gives 0");
    for (const DeviceFact& device : kernel.port.facts().devices) {
        if (device.kind == DeviceKind::interrupt) {
            kernel.port.set_enabled(kBootHart, device.source, true);
            kernel.port.complete(kBootHart, device.source);
            kernel.port.set_enabled(kBootHart, device.source, false);
        }
    }
    kernel.expect(kernel.port.claim(kBootHart) == 0,
                  "completing what was not claimed makes nothing pending");
    return kernel.done();
}

Port::Context* work(Kernel& kernel, const Trap*) {
    const Ticks before = kernel.now();
    for (unsigned kind = 0; kind < kWorkKinds; ++kind) {
        const Ticks start = kernel.now();
        kernel.port.work(kBootHart, static_cast<Work>(kind), 0);
        kernel.port.work(kBootHart, static_cast<Work>(kind), 3);
        kernel.expect(kernel.now() >= start, "work moves no clock back");
    }
    kernel.expect(kernel.now() - before < Ticks{kernel.port.facts().timebase},
                  "work takes no second");
    return kernel.done();
}

constexpr Check kChecks[] = {
    {"system-facts", 1, facts},
    {"system-entropy", 1, entropy},
    {"interrupts-nothing-pending", 1, controller},
    {"system-work", 1, work},
};

}  // namespace

std::span<const Check> system_checks() {
    return kChecks;
}

}  // namespace ravelin::conformance
