// A trap while the kernel runs: the kernel's own fault, which ends the machine. The registers go into
// the hart's block, and the panic runs on the hart's stack from its top, so that a stack that ran into
// its guard page does not matter.

#include "port-riscv/asm.h"

    .text
    .balign 4
    .globl  ravelin_kernel_trap
ravelin_kernel_trap:
    csrrw   sp, sscratch, sp
    REG_S   x1, AT(BLOCK_REGISTERS + 1)(sp)
    .irp    n, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    REG_S   x\n, AT(BLOCK_REGISTERS + \n)(sp)
    .endr
    csrrw   t0, sscratch, sp
    REG_S   t0, AT(BLOCK_REGISTERS + 2)(sp)
    csrr    t0, sepc
    REG_S   t0, AT(BLOCK_REGISTERS)(sp)
    mv      a0, sp
    csrr    a1, scause
    csrr    a2, stval
    tail    ravelin_kernel_fault
