// The supervisor instructions the port needs from C++: CSR access, fences, halting, the clock, and the
// firmware call. All inline assembly of the port is here; longer sequences have .S files.

#pragma once

#include "core/types.h"
#include "port-riscv/sbi.h"

namespace ravelin::riscv {

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
    kTimeLow = 0xC01,
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

template <Csr kCsr>
inline Word csr_read() noexcept {
    Word value;
    asm volatile("csrr %0, %1" : "=r"(value) : "i"(kCsr) : "memory");
    return value;
}

template <Csr kCsr>
inline void csr_write(Word value) noexcept {
    asm volatile("csrw %0, %1" : : "i"(kCsr), "r"(value) : "memory");
}

template <Csr kCsr>
inline void csr_set(Word bits) noexcept {
    asm volatile("csrs %0, %1" : : "i"(kCsr), "r"(bits) : "memory");
}

template <Csr kCsr>
inline void csr_clear(Word bits) noexcept {
    asm volatile("csrc %0, %1" : : "i"(kCsr), "r"(bits) : "memory");
}

/// Halts until an interrupt that sie enables is pending; sstatus.SIE is clear, so none is taken.
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

inline void flush_page(Word address, Word space) noexcept {
    asm volatile("sfence.vma %0, %1" : : "r"(address), "r"(space) : "memory");
}

/// The timebase clock. On rv32 the halves are read until no carry fell between them.
inline u64 read_clock() noexcept {
    if constexpr (sizeof(Word) == 8) {
        return csr_read<kTimeLow>();
    } else {
        for (;;) {
            const Word high = csr_read<kTimeHigh>();
            const Word low = csr_read<kTimeLow>();
            if (high == csr_read<kTimeHigh>()) {
                return static_cast<u64>(high) << 32 | low;
            }
        }
    }
}

/// Sets Sstc's compare register. On rv32 the low half is all ones meanwhile, so that no value between
/// the old and the new one fires.
inline void set_compare(u64 when) noexcept {
    if constexpr (sizeof(Word) == 4) {
        csr_write<kStimecmp>(~Word{0});
        csr_write<kStimecmph>(static_cast<Word>(when >> 32));
    }
    csr_write<kStimecmp>(static_cast<Word>(when));
}

inline u64 read_compare() noexcept {
    if constexpr (sizeof(Word) == 8) {
        return csr_read<kStimecmp>();
    } else {
        return static_cast<u64>(csr_read<kStimecmph>()) << 32 | csr_read<kStimecmp>();
    }
}

/// One call of the firmware.
inline sbi::Result call_firmware(sbi::Word extension, sbi::Word function, sbi::Word first = 0,
                                 sbi::Word second = 0, sbi::Word third = 0) noexcept {
    register sbi::Word a0 asm("a0") = first;
    register sbi::Word a1 asm("a1") = second;
    register sbi::Word a2 asm("a2") = third;
    register sbi::Word a6 asm("a6") = function;
    register sbi::Word a7 asm("a7") = extension;
    asm volatile("ecall" : "+r"(a0), "+r"(a1) : "r"(a2), "r"(a6), "r"(a7) : "memory");
    return {static_cast<sbi::Error>(a0), a1};
}

}  // namespace ravelin::riscv
