// What M-mode has beyond the instructions of csr.h: its CSRs and device registers.

#pragma once

#include "port-riscv/csr.h"
#include "port-riscv/firmware/board.h"

namespace ravelin::firmware {

using namespace riscv;

/// CSR numbers (privileged specification 1.12).
inline constexpr unsigned kMisa = 0x301, kMedeleg = 0x302, kMideleg = 0x303, kMie = 0x304,
                          kMtvec = 0x305, kMcounteren = 0x306, kMepc = 0x341, kMcause = 0x342,
                          kMtval = 0x343, kMip = 0x344, kPmpcfg0 = 0x3A0, kPmpaddr0 = 0x3B0,
                          kPmpaddr1 = 0x3B1, kPmpaddr2 = 0x3B2, kMvendorid = 0xF11,
                          kMarchid = 0xF12, kMimpid = 0xF13, kMhartid = 0xF14;

/// Bits of mie and mip besides S-mode's.
inline constexpr Word kMachineSoftware = 1U << 3, kMachineTimer = 1U << 7;

/// A device register of type T at a physical address.
template <class T>
inline volatile T& device(Word address) noexcept {
    return *reinterpret_cast<volatile T*>(address);
}

}  // namespace ravelin::firmware
