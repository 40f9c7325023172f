// Where the kernel lies, for assembly, the linker script and C++.
//
// Rule: one linear window. The kernel reaches physical address P at P + LAYOUT_OFFSET, its own image
// included, and at no other address. User space is below the window.
//   rv64  Sv39: the upper 256 GiB are physical 0 and on.
//   rv32  Sv32: the upper 2 GiB are RAM from its base on, but for the last 256 MiB, where device
//         registers are mapped one large page each.
// The image is linked for one load address, the board's, so that nothing has to be relocated.

#pragma once

#include "board.h"

#define LAYOUT_LOAD (BOARD_RAM_BASE + BOARD_FIRMWARE_BYTES)

#if __riscv_xlen == 64
#define LAYOUT_OFFSET 0xffffffc000000000
#define LAYOUT_WINDOW 0xffffffc000000000
#define LAYOUT_WINDOW_PHYSICAL 0
#define LAYOUT_ROOT_SHIFT 30
#define LAYOUT_ROOT_ENTRIES 512
#define LAYOUT_SATP_MODE 0x8000000000000000
#else
#define LAYOUT_OFFSET (0x80000000 - BOARD_RAM_BASE)
#define LAYOUT_WINDOW 0x80000000
#define LAYOUT_WINDOW_PHYSICAL BOARD_RAM_BASE
#define LAYOUT_ROOT_SHIFT 22
#define LAYOUT_ROOT_ENTRIES 1024
#define LAYOUT_DEVICES 0xf0000000
#define LAYOUT_SATP_MODE 0x80000000
#endif

#define LAYOUT_PAGE 4096

// Most harts that run.
#define LAYOUT_HARTS 8

// One hart's stack: a guard page that is not mapped, the stack, and at its top the hart's block.
#define LAYOUT_STACK_SHIFT 14
#define LAYOUT_GUARD_BYTES LAYOUT_PAGE

// Offsets in words into a user context (struct Context) and into a hart's block (struct HartBlock).
#define CONTEXT_PC 0
#define BLOCK_CONTEXT 0
#define BLOCK_SPILL 1
#define BLOCK_SCRATCH 2
#define BLOCK_ID 3
#define BLOCK_REGISTERS 4
#define BLOCK_WORDS 64
