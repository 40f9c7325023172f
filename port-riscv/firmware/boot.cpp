// What a hart's CSRs hold before it enters S-mode, how it enters, and what M-mode traps mean.
//
// Rule: everything S-mode can handle is delegated to it; what still comes here is a call, a timer
// for a hart without its own compare register, or a ring of another hart. Anything else is a fault
// of the firmware: it says so and ends the machine.

#include "port-riscv/firmware/firmware.h"

#include <initializer_list>

namespace ravelin::firmware {

Hart harts[kMaxHarts];
HartMask present;

namespace {

constexpr Word kInterrupt = ~(~Word{0} >> 1), kCallFromSupervisor = 9, kCallFromMachine = 11;

/// A pmpaddr that matches the naturally aligned range of `bytes` at `address`.
constexpr Word pmp_range(Word address, Word bytes) noexcept {
    return (address >> 2) | ((bytes >> 3) - 1);
}

/// Entry 0 the firmware, entry 1 the CLINT: no access; entry 2 everything: all access.
void protect_memory() noexcept {
    csr_write<kPmpaddr0>(pmp_range(FIRMWARE_RAM_BASE, FIRMWARE_BYTES));
    csr_write<kPmpaddr1>(pmp_range(BOARD_CLINT_BASE, BOARD_CLINT_BYTES));
    csr_write<kPmpaddr2>(~Word{0});
    constexpr Word kNaturallyAligned = 3U << 3;
    constexpr Word kReadWriteExecute = 7;
    csr_write<kPmpcfg0>(kNaturallyAligned | kNaturallyAligned << 8 |
                        (kNaturallyAligned | kReadWriteExecute) << 16);
    flush_everything();
}

void set_up_hart() noexcept {
    csr_write<kMtvec>(reinterpret_cast<Word>(&firmware_trap_entry));
    csr_write<kMedeleg>(0xFFFF & ~(Word{1} << kCallFromSupervisor | Word{1} << kCallFromMachine));
    csr_write<kMideleg>(kEveryInterrupt);
    // S-mode may read time, cycle and instret; whether U-mode may is for S-mode to say.
    csr_write<kMcounteren>(~Word{0});
    csr_write<kScounteren>(0);
    protect_memory();
    timer_init();
    csr_write<kMie>(kMachineSoftware);
}

}  // namespace

void wait_for_start(Word id) noexcept {
    Hart& self = harts[id];
    for (;;) {
        serve(id);
        if (self.state.load(std::memory_order_acquire) == RunState::ready) break;
        wait_for_interrupt();
    }
    // Nothing that was sent to the hart's earlier life may wake the new one.
    self.software.store(0, std::memory_order_relaxed);
    csr_clear<kMip>(kSoftware);
    const Word address = self.start_address;
    const Word opaque = self.opaque;
    self.state.store(RunState::started);
    // Whoever saw the hart not started left its fence to this one.
    fence_all();
    flush_everything();
    fence_instructions();
    firmware_enter_supervisor(address, id, opaque);
}

/// The boot hart comes here from entry.S, once, alone.
extern "C" [[noreturn]] void firmware_boot(Word id, Word tree) noexcept {
    console_init();
    if ((csr_read<kMisa>() & (1U << ('S' - 'A'))) == 0) {
        console_print("ravelin-sbi: the boot hart has no S-mode\n");
        end_machine(sbi::srst::kShutdown, true);
    }
    find_harts();
    set_up_hart();
    harts[id].state.store(RunState::started);
    firmware_enter_supervisor(FIRMWARE_NEXT_STAGE, id, tree);
}

/// Every other hart comes here from entry.S.
extern "C" [[noreturn]] void firmware_join(Word id) noexcept {
    set_up_hart();
    wait_for_start(id);
}

/// A trap from the firmware itself; trap.S comes here on the stack it was taken on.
extern "C" [[noreturn]] void firmware_panic() noexcept {
    console_print("\nravelin-sbi: fault of the firmware: hart, mcause, mepc, mtval =");
    for (const Word value :
         {self_id(), csr_read<kMcause>(), csr_read<kMepc>(), csr_read<kMtval>()}) {
        console_print_hex(value);
    }
    console_print("\n");
    end_machine(sbi::srst::kShutdown, true);
}

/// A trap from S-mode or below.
extern "C" void firmware_trap(Frame& frame) noexcept {
    switch (csr_read<kMcause>()) {
    case kCallFromSupervisor:
        frame.mepc += 4;
        call(frame);
        return;
    case kInterrupt | 3: serve(self_id()); return;
    case kInterrupt | 7: timer_fired(); return;
    default: firmware_panic();
    }
}

}  // namespace ravelin::firmware
