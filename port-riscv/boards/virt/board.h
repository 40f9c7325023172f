// QEMU's `virt`: what must be known of a board before its device tree can be read. Macros, since
// assembly, the linker script and C++ share them. A second board is a second folder of this name.
//
// The firmware keeps the first large page of RAM (2 MiB on rv64, 4 MiB on rv32) and starts the kernel
// behind it.

#pragma once

#define BOARD_RAM_BASE 0x80000000

#if __riscv_xlen == 64
#define BOARD_FIRMWARE_BYTES 0x200000
#else
#define BOARD_FIRMWARE_BYTES 0x400000
#endif
