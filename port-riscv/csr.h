// The instructions that C++ does not have: CSR access, fences, halting, the clock, and the firmware call.
// All inline assembly of the port is here, the firmware's included; longer sequences have .S files.
//
// Rule: of what is pending, only the software interrupt is ever written: the other bits are the machine's.
#pragma once

#include "core/types.h"
#include "port-riscv/sbi.h"
#include "port-riscv/split.h"

namespace ravelin::riscv {

/// Numbers of CSRs that S-mode has (privileged specification 1.12).
enum Csr : unsigned {
    kSstatus = 0x100,
    kSie = 0x104,
    kStvec = 0x105,
    kScounteren = 0x106,
    kSscratch = 0x140,
    kSepc = 0x141,
    kScause = 0x142,
    kStval = 0x143,
    kSip = 0x144,
    kStimecmp = 0x14D,
    kStimecmph = 0x15D,
    kSatp = 0x180,
    kCycle = 0xC00,
    kTimeLow = 0xC01,
    kInstret = 0xC02,
    kTimeHigh = 0xC81,
};

/// Bits of sie and sip.
inline constexpr Word kSoftware = 1U << 1, kTimer = 1U << 5, kExternal = 1U << 9;
inline constexpr Word kEveryInterrupt = kSoftware | kTimer | kExternal;

/// Bits of sstatus.
inline constexpr Word kSupervisorInterrupts = 1U << 1, kPreviousInterrupts = 1U << 5,
                      kPreviousSupervisor = 1U << 8, kFloatState = 3U << 13, kVectorState = 3U << 9,
                      kUserAccess = 1U << 18, kExecutableReads = 1U << 19;

/// scounteren: user code may read the clock, and no other counter.
inline constexpr Word kUserClock = 1U << 1;

template <unsigned kCsr>
inline Word csr_read() noexcept {
    Word value;
    asm volatile("csrr %0, %1" : "=r"(value) : "i"(kCsr) : "memory");
    return value;
}

template <unsigned kCsr>
inline constexpr bool kMayWrite = kCsr != kSip;

template <unsigned kCsr>
    requires kMayWrite<kCsr>
inline void csr_write(Word value) noexcept {
    asm volatile("csrw %0, %1" : : "i"(kCsr), "r"(value) : "memory");
}

template <unsigned kCsr>
    requires kMayWrite<kCsr>
inline void csr_set(Word bits) noexcept {
    asm volatile("csrs %0, %1" : : "i"(kCsr), "r"(bits) : "memory");
}

template <unsigned kCsr>
    requires kMayWrite<kCsr>
inline void csr_clear(Word bits) noexcept {
    asm volatile("csrc %0, %1" : : "i"(kCsr), "r"(bits) : "memory");
}

/// Makes S-mode's own software interrupt pending.
inline void kick_self() noexcept {
    asm volatile("csrs %0, %1" : : "i"(kSip), "r"(kSoftware) : "memory");
}

/// Takes S-mode's own software interrupt back.
inline void take_back_kick() noexcept {
    asm volatile("csrc %0, %1" : : "i"(kSip), "r"(kSoftware) : "memory");
}

/// Halts until an interrupt that is enabled is pending; the mode's interrupts are off, so none is taken.
inline void wait_for_interrupt() noexcept {
    asm volatile("wfi" : : : "memory");
}

/// Orders memory and device accesses before it against those after it.
inline void fence_all() noexcept {
    asm volatile("fence iorw, iorw" : : : "memory");
}

inline void fence_instructions() noexcept {
    asm volatile("fence.i" : : : "memory");
}

inline void flush_everything() noexcept {
    asm volatile("sfence.vma" : : : "memory");
}

inline void flush_space(Word space) noexcept {
    asm volatile("sfence.vma zero, %0" : : "r"(space) : "memory");
}

inline void flush_page(Word address) noexcept {
    asm volatile("sfence.vma %0, zero" : : "r"(address) : "memory");
}

inline void flush_page(Word address, Word space) noexcept {
    asm volatile("sfence.vma %0, %1" : : "r"(address), "r"(space) : "memory");
}

/// The timebase clock.
inline u64 read_clock() noexcept {
    if constexpr (sizeof(Word) == 8) {
        return csr_read<kTimeLow>();
    } else {
        return read_halves([] { return static_cast<u32>(csr_read<kTimeLow>()); },
                           [] { return static_cast<u32>(csr_read<kTimeHigh>()); });
    }
}

/// Sets Sstc's compare register.
inline void set_compare(u64 when) noexcept {
    if constexpr (sizeof(Word) == 8) {
        csr_write<kStimecmp>(static_cast<Word>(when));
    } else {
        write_compare(
            when, static_cast<u32>(csr_read<kStimecmph>()),
            [](u32 low) { csr_write<kStimecmp>(low); },
            [](u32 high) { csr_write<kStimecmph>(high); });
    }
}

inline u64 read_compare() noexcept {
    if constexpr (sizeof(Word) == 8) {
        return csr_read<kStimecmp>();
    } else {
        return static_cast<u64>(csr_read<kStimecmph>()) << 32 | csr_read<kStimecmp>();
    }
}

/// One call of the firmware.
inline sbi::Result call_firmware(Word extension, Word function, Word first = 0, Word second = 0,
                                 Word third = 0, Word fourth = 0, Word fifth = 0) noexcept {
    register Word a0 asm("a0") = first;
    register Word a1 asm("a1") = second;
    register Word a2 asm("a2") = third;
    register Word a3 asm("a3") = fourth;
    register Word a4 asm("a4") = fifth;
    register Word a6 asm("a6") = function;
    register Word a7 asm("a7") = extension;
    asm volatile("ecall"
                 : "+r"(a0), "+r"(a1)
                 : "r"(a2), "r"(a3), "r"(a4), "r"(a6), "r"(a7)
                 : "memory");
    return {static_cast<sbi::Error>(a0), a1};
}

}  // namespace ravelin::riscv
