// The M-mode trap vector. mscratch holds the top of the hart's stack while it runs S-mode or below,
// and 0 while it runs the firmware: a trap that finds 0 is a fault of the firmware itself.

#include "port-riscv/firmware/asm.h"

// struct Frame of firmware.h: ra, t0..t6, a0..a7, sp, mepc.
#define FRAME_BYTES (18 * REG_BYTES)

.macro each_register op
    .set    place, 0
.irp reg, ra, t0, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7
    \op     \reg, place(sp)
    .set    place, place + REG_BYTES
.endr
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
