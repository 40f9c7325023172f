// A kernel on the null port whose user threads and hardware a test plays: it says which hart enters
// the kernel with what, and when the clock moves. No test framework: fuzz targets use it too.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "core/abi/records.h"
#include "core/kernel.h"
#include "core/memory/space.h"
#include "core/object/handle.h"
#include "core/object/lifecycle.h"
#include "core/object/regs.h"
#include "core/object/shootdown.h"

namespace ravelin::differential {

inline constexpr u32 kDeviceSource = 5;
inline constexpr u32 kDeviceWindow = 0x4000'0000;
inline constexpr u32 kWindowPages = 2;
inline constexpr u64 kTicksPerMicro = 10;

/// The devices of the machine: the reset, a window of registers and an interrupt. The first program
/// has them from handle abi::kBootReset on.
inline constexpr std::array<DeviceFact, 3> kDevices = {
    DeviceFact{.kind = DeviceKind::reset},
    DeviceFact{.kind = DeviceKind::mmio,
               .model = abi::DeviceModel::goldfish_rtc,
               .address = kDeviceWindow,
               .pages = kWindowPages},
    DeviceFact{.kind = DeviceKind::interrupt,
               .model = abi::DeviceModel::goldfish_rtc,
               .source = kDeviceSource}};

class ByHand {
  public:
    explicit ByHand(u32 hart_count) : port(hart_count), kernel(port), harts(hart_count) {
        port.board.devices = kDevices;
        // While one hart waits for others to answer a shootdown, they do.
        port.on_wait_data = &kernel;
        port.on_wait = [](Port& machine, HartIndex) {
            auto& waited = *static_cast<Kernel*>(machine.on_wait_data);
            for (Hart& hart : waited.harts)
                serve_shootdown(waited, hart);
        };
        running[0] = boot(kernel, BootProgram{.entry = 0x1000, .segments = {}});
        for (u32 hart = 1; hart < harts; ++hart)
            running[hart] = hart_online(kernel, HartIndex{hart});
    }
    ByHand(const ByHand&) = delete;
    ByHand& operator=(const ByHand&) = delete;

    /// The thread that the hart runs, or null.
    Thread* thread(u32 hart) const { return kernel.harts[hart].thread; }

    /// The hart enters the kernel; harts that were kicked by it follow.
    void enter(u32 hart, const Trap& trap) {
        go(hart, trap);
        follow();
    }

    /// Harts that were kicked enter, and those that these kick.
    void follow() {
        for (bool more = true; more;) {
            more = false;
            for (u32 other = 0; other < harts; ++other) {
                if (!port.harts[other].kicked) continue;
                port.harts[other].kicked = false;
                go(other, {.kind = TrapKind::kick});
                more = true;
            }
        }
    }

    /// The hart's thread makes the call that `registers` say. Harts that it kicks have not entered yet.
    void call(u32 hart, std::span<const u64, abi::kCallRegisters> registers) {
        Port::Context& context = *running[hart];
        for (unsigned place = 0; place < abi::kCallRegisters; ++place)
            context.set_reg(place, static_cast<Word>(registers[place]));
        go(hart, {.kind = TrapKind::call});
    }

    /// Whether the registers of the hart's thread ask for the machine's end, which a process that
    /// plays the machine would end with.
    bool ends_machine(u32 hart, std::span<const u64, abi::kCallRegisters> registers) const {
        if (registers[0] != abi::kCallBase + static_cast<u64>(abi::Call::system_reset))
            return false;
        HandleSlot* slot = find_handle(*thread(hart)->process, static_cast<Word>(registers[1]));
        return slot != nullptr && slot->object->kind == ObjectKind::device && registers[2] >= 1 &&
               registers[2] <= 3;
    }

    /// Lets the clock run to the next point that any hart's timer is armed for and takes that
    /// interrupt. False: none is armed.
    bool next_timer() {
        u32 first = 0;
        for (u32 hart = 1; hart < harts; ++hart) {
            if (port.harts[hart].armed < port.harts[first].armed) first = hart;
        }
        if (port.harts[first].armed == kNever) return false;
        if (port.clock < port.harts[first].armed) port.clock = port.harts[first].armed;
        enter(first, {.kind = TrapKind::timer});
        return true;
    }

    MemoryContext memory(Process& process) { return memory_of(kernel, kernel.harts[0], process); }

    Port port;
    Kernel kernel;
    const u32 harts;
    Port::Context* running[kMaxHarts] = {};
    u64 entries = 0;  ///< made so far

  private:
    void go(u32 hart, const Trap& trap) {
        ++entries;
        running[hart] = ravelin::enter(kernel, HartIndex{hart}, trap);
    }
};

}  // namespace ravelin::differential
