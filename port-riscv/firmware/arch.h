// The machine instructions the firmware needs from C++: CSR access, fences, wait, device registers.
// All inline assembly of the firmware is here; longer sequences are in entry.S, trap.S and probe.S.

#pragma once

#include "port-riscv/firmware/board.h"
#include "port-riscv/sbi.h"

#include <cstdint>

namespace ravelin::firmware {

using sbi::Word;

/// CSR numbers (privileged specification 1.12).
inline constexpr unsigned kScounteren = 0x106, kStimecmp = 0x14D, kStimecmph = 0x15D, kMisa = 0x301,
                          kMedeleg = 0x302, kMideleg = 0x303, kMie = 0x304, kMtvec = 0x305,
                          kMcounteren = 0x306, kMepc = 0x341, kMcause = 0x342, kMtval = 0x343,
                          kMip = 0x344, kPmpcfg0 = 0x3A0, kPmpaddr0 = 0x3B0, kPmpaddr1 = 0x3B1,
                          kPmpaddr2 = 0x3B2, kMvendorid = 0xF11, kMarchid = 0xF12, kMimpid = 0xF13,
                          kMhartid = 0xF14;

/// Bits of mie and mip.
inline constexpr Word kSupervisorSoftware = 1U << 1, kMachineSoftware = 1U << 3,
                      kSupervisorTimer = 1U << 5, kMachineTimer = 1U << 7,
                      kSupervisorExternal = 1U << 9;

template <unsigned kCsr>
inline Word csr_read() noexcept {
    Word value;
    asm volatile("csrr %0, %1" : "=r"(value) : "i"(kCsr));
    return value;
}

template <unsigned kCsr>
inline void csr_write(Word value) noexcept {
    asm volatile("csrw %0, %1" : : "i"(kCsr), "r"(value) : "memory");
}

template <unsigned kCsr>
inline void csr_set(Word bits) noexcept {
    asm volatile("csrs %0, %1" : : "i"(kCsr), "r"(bits) : "memory");
}

template <unsigned kCsr>
inline void csr_clear(Word bits) noexcept {
    asm volatile("csrc %0, %1" : : "i"(kCsr), "r"(bits) : "memory");
}

/// Halts until an interrupt enabled in mie is pending (no trap: mstatus.MIE is clear in M-mode).
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

inline void flush_page(Word address) noexcept {
    asm volatile("sfence.vma %0, zero" : : "r"(address) : "memory");
}

inline void flush_asid(Word asid) noexcept {
    asm volatile("sfence.vma zero, %0" : : "r"(asid) : "memory");
}

inline void flush_page_of_asid(Word address, Word asid) noexcept {
    asm volatile("sfence.vma %0, %1" : : "r"(address), "r"(asid) : "memory");
}

/// A device register of type T at a physical address.
template <class T>
inline volatile T& device(Word address) noexcept {
    return *reinterpret_cast<volatile T*>(address);
}

}  // namespace ravelin::firmware
