// The M-mode trap vector. mscratch holds the top of the hart's stack while it runs S-mode or below,
// and 0 while it runs the firmware: a trap that finds 0 is a fault of the firmware itself.

#include "port-riscv/firmware/asm.h"

// struct Frame of firmware.h: ra, t0..t6, a0..a7, sp, mepc.
#define FRAME_REGS 18
#define FRAME_BYTES (FRAME_REGS * REG_BYTES)

.macro each_register op
    \op     ra, 0 * REG_BYTES(sp)
    \op     t0, 1 * REG_BYTES(sp)
    \op     t1, 2 * REG_BYTES(sp)
    \op     t2, 3 * REG_BYTES(sp)
    \op     t3, 4 * REG_BYTES(sp)
    \op     t4, 5 * REG_BYTES(sp)
    \op     t5, 6 * REG_BYTES(sp)
    \op     t6, 7 * REG_BYTES(sp)
    \op     a0, 8 * REG_BYTES(sp)
    \op     a1, 9 * REG_BYTES(sp)
    \op     a2, 10 * REG_BYTES(sp)
    \op     a3, 11 * REG_BYTES(sp)
    \op     a4, 12 * REG_BYTES(sp)
    \op     a5, 13 * REG_BYTES(sp)
    \op     a6, 14 * REG_BYTES(sp)
    \op     a7, 15 * REG_BYTES(sp)
.endm

    .text
    .balign 4
    .globl  firmware_trap_entry
firmware_trap_entry:
    csrrw   sp, mscratch, sp
    beqz    sp, in_firmware
    addi    sp, sp, -FRAME_BYTES
    each_register REG_S
    csrrw   t0, mscratch, zero
    REG_S   t0, 16 * REG_BYTES(sp)
    csrr    t0, mepc
    REG_S   t0, 17 * REG_BYTES(sp)
    mv      a0, sp
    call    firmware_trap
    REG_L   t0, 17 * REG_BYTES(sp)
    csrw    mepc, t0
    addi    t0, sp, FRAME_BYTES
    csrw    mscratch, t0
    each_register REG_L
    REG_L   sp, 16 * REG_BYTES(sp)
    mret
in_firmware:
    csrr    sp, mscratch
    tail    firmware_panic
