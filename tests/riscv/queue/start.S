// Entry of the queue's cost program: a stack, room for C++, and main. M-mode, one hart, no firmware.

    .section .text.entry, "ax"
    .globl  _start
_start:
    csrr    t0, mhartid
    bnez    t0, 2f
    la      sp, image_stack_end
    la      t0, image_bss_start
    la      t1, image_bss_end
1:  sb      zero, (t0)
    addi    t0, t0, 1
    bltu    t0, t1, 1b
    call    measure
2:  wfi
    j       2b
