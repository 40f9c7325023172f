// What the assembly files share: loads and stores as wide as a register, and places by name.

#pragma once

#include "port-riscv/layout.h"

#if __riscv_xlen == 64
#define REG_S sd
#define REG_L ld
#define SC_SCRATCH sc.d
#else
#define REG_S sw
#define REG_L lw
#define SC_SCRATCH sc.w
#endif
#define REG_BYTES (__riscv_xlen / 8)
#define AT(word) ((word) * REG_BYTES)
