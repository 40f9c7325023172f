// Device objects; see device.h.
#include "core/object/device.h"

#include "core/ipc/ipc.h"
#include "core/object/handle.h"
#include "core/object/lifecycle.h"
#include "core/planted.h"
#include "core/sched/sched.h"

namespace ravelin {

namespace {

constexpr u64 kFrames = u64{1} << 32;  ///< frame numbers are 32 bits wide

bool overlap(u64 a, u64 a_count, u64 b, u64 b_count) {
    return a < b + b_count && b < a + a_count;
}

bool overlaps(const DeviceFact& window, const RamRun& run) {
    return overlap(window.address / kPageSize, window.pages, run.first.value, run.count);
}

const char* unsound_window(const BoardFacts& facts, const DeviceFact& window) {
    u64 first = window.address / kPageSize;
    if (window.pages == 0 || window.address % kPageSize != 0 || first == 0)
        return "boot: a device window is empty, at address 0 or not whole pages";
    if (first >= kFrames || window.pages > kFrames - first)
        return "boot: a device window is out of reach";
    for (const RamRun& run : facts.ram) {
        if (overlaps(window, run)) return "boot: a device window overlaps RAM";
    }
    if (overlaps(window, facts.trace)) return "boot: a device window overlaps RAM";
    for (const DeviceFact& other : facts.devices) {
        if (&other != &window && other.kind == DeviceKind::mmio &&
            overlap(first, window.pages, other.address / kPageSize, other.pages))
            return "boot: two device windows overlap";
    }
    return nullptr;
}

const char* unsound_source(const BoardFacts& facts, const DeviceFact& interrupt) {
    if (interrupt.source == 0 || interrupt.source > kMaxSource)
        return "boot: a device's interrupt source is 0 or above 1,023";
    for (const DeviceFact& other : facts.devices) {
        if (&other != &interrupt && other.kind == DeviceKind::interrupt &&
            other.source == interrupt.source)
            return "boot: two devices have one interrupt source";
    }
    return nullptr;
}

}  // namespace

const char* unsound_devices(const BoardFacts& facts) {
    u32 resets = 0;
    for (const DeviceFact& fact : facts.devices) {
        const char* why = nullptr;
        switch (fact.kind) {
        case DeviceKind::mmio: why = unsound_window(facts, fact); break;
        case DeviceKind::interrupt: why = unsound_source(facts, fact); break;
        case DeviceKind::reset: ++resets; break;
        }
        if (why != nullptr) return why;
    }
    return resets == 1 ? nullptr : "boot: the board has no reset, or several";
}

Device* make_device(Kernel& kernel, Hart& hart, const DeviceFact& fact) {
    if (!charge(*kernel.system, 1)) return nullptr;
    Device& device = make_object<Device>(kernel, hart.index, ObjectKind::device);
    device.fact = fact;
    device.owner = kernel.system;
    device.owner->devices.push_back(device, device.owner_link);
    if (fact.kind == DeviceKind::interrupt) kernel.sources[fact.source] = &device;
    return &device;
}

void end_device(Kernel& kernel, Hart& self, Device& device) {
    if (device.fact.kind == DeviceKind::interrupt) {
        kernel.port.set_enabled(self.index, device.fact.source, false);
        kernel.sources[device.fact.source] = nullptr;
        ipc::device_dies(kernel, self, device);
    }
    close_object(kernel, device.head);
    device.owner->devices.remove(device.owner_link);
    uncharge(*device.owner, 1);
    free_object(kernel, device);
}

void take_interrupt(Kernel& kernel, Hart& self, bool expired) {
    u32 source = kernel.port.claim(self.index);
    Device* device = source <= kMaxSource ? kernel.sources[source] : nullptr;
    Budget* payer = device == nullptr ? nullptr : sched::payer_for(device->owner);
    kernel.trace.write(self.index, trace::TraceKind::claim, payer == nullptr ? 0 : payer->head.id,
                       source, 0);
    if (source == 0) return;
    payer = planted::payer(planted::Row::interrupt, payer, self.runner);
    if (expired) {
        sched::bill(kernel, self, kernel.port.now(self.index), payer, abi::TraceCharge::interrupt);
    } else {
        sched::set_payer(self, payer, abi::TraceCharge::interrupt);
    }
    kernel.port.complete(self.index, source);
    kernel.port.set_enabled(self.index, source, false);
    if (device != nullptr) ipc::fire(kernel, self, *device);
}

}  // namespace ravelin
