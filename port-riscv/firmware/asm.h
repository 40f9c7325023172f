// What the assembly files share: the width of a register, and the bits of mstatus they use.

#pragma once

#include "port-riscv/firmware/board.h"

#if __riscv_xlen == 64
#define REG_S sd
#define REG_L ld
#else
#define REG_S sw
#define REG_L lw
#endif
#define REG_BYTES (__riscv_xlen / 8)

#define MSTATUS_MPP_S (1 << 11)
#define MSTATUS_MPP_MASK (3 << 11)
#define MSTATUS_MPRV (1 << 17)
