// Where every hart enters the machine (a0 = hart id, a1 = device tree), and where each leaves for
// S-mode. The first hart to draw 0 from the lottery clears .bss and boots; the others halt until
// it has counted them and then wait to be started. Harts whose id is too high to serve halt for
// ever.

#include "port-riscv/firmware/asm.h"

    .section .text.entry, "ax"
    .globl  _start
_start:
    csrw    mie, zero
    la      t0, park
    csrw    mtvec, t0
    li      t0, FIRMWARE_MAX_HARTS
    bgeu    a0, t0, park
    la      t0, lottery
    li      t1, 1
    amoadd.w.aqrl t1, t1, (t0)
    bnez    t1, wait_for_boot

    la      t0, firmware_bss_start
    la      t1, firmware_bss_end
2:
    bgeu    t0, t1, 3f
    REG_S   zero, 0(t0)
    addi    t0, t0, REG_BYTES
    j       2b
3:
    jal     load_stack
    tail    firmware_boot

// The boot hart rings every hart and sees by the ring's register that the hart is there. A hart takes
// its ring back as soon as it joins, so none may join before all are counted; until then the ring
// stays pending and is not lost.
wait_for_boot:
    csrwi   mie, 1 << 3
1:
    lw      t0, firmware_may_join
    bnez    t0, 2f
    wfi
    j       1b
2:
    fence   r, rw
    jal     load_stack
    tail    firmware_join

    .balign 4
park:
    wfi
    j       park

// sp = top of hart a0's stack. Clobbers t0 and t1.
load_stack:
    la      sp, firmware_stacks
    li      t0, FIRMWARE_STACK_BYTES
    addi    t1, a0, 1
    mul     t1, t1, t0
    add     sp, sp, t1
    ret

// [[noreturn]] void firmware_enter_supervisor(Word address, Word id, Word opaque)
    .globl  firmware_enter_supervisor
firmware_enter_supervisor:
    csrw    mepc, a0
    mv      a0, a1
    mv      a1, a2
    jal     load_stack
    csrw    mscratch, sp
    // Everything but MPP = S is cleared: interrupts off, no MPRV, SUM, MXR, TVM, TW, TSR, FS or VS.
    li      t0, ~0
    srli    t0, t0, __riscv_xlen - 23
    csrc    mstatus, t0
    li      t0, MSTATUS_MPP_S
    csrs    mstatus, t0
    csrw    satp, zero
    mret

// Not in .bss: they must be right before it is cleared.
    .data
    .balign 4
lottery:
    .word   0
    .globl  firmware_may_join
firmware_may_join:
    .word   0

    .bss
    .balign 16
firmware_stacks:
    .skip   FIRMWARE_MAX_HARTS * FIRMWARE_STACK_BYTES
