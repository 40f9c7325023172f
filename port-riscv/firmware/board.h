// What the firmware must know of its machine: QEMU's `virt`, either width. The same constants serve
// assembly, the linker script and C++, so they are macros; nothing else in the firmware names an
// address. A second machine is a second header of these names.
//
// Memory: the firmware keeps the first FIRMWARE_BYTES of RAM and S-mode cannot touch them. The next
// stage is loaded one large page (2 MiB on rv64, 4 MiB on rv32) above the start of RAM; the device
// tree is passed on unedited, so the next stage must keep off that first large page by itself.

#pragma once

#define FIRMWARE_RAM_BASE 0x80000000
#define FIRMWARE_BYTES 0x80000

#if __riscv_xlen == 64
#define FIRMWARE_NEXT_STAGE 0x80200000
#else
#define FIRMWARE_NEXT_STAGE 0x80400000
#endif

// Hart ids below this are served, the rest are parked: `virt` numbers harts from 0, and one bit a
// hart must fit the 32-bit masks that the harts exchange.
#define FIRMWARE_MAX_HARTS 32

// Deepest call is a trap frame (144 bytes) and a handful of small functions.
#define FIRMWARE_STACK_BYTES 2048

#define BOARD_CLINT_BASE 0x02000000
#define BOARD_CLINT_BYTES 0x10000
#define BOARD_UART_BASE 0x10000000
#define BOARD_FINISHER_BASE 0x00100000
