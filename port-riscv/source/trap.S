// From user mode to the kernel and back: everything saved, everything restored.
//
// While user code runs, sscratch holds the hart's block, which lies at the top of the hart's kernel
// stack, and stvec the entry below. While the kernel runs, stvec holds ravelin_kernel_trap: a trap
// then is the kernel's own fault. Interrupts stay off in the kernel (sstatus.SIE is never set), so
// sstatus needs no care: a trap from user mode leaves SPP clear. The kernel uses neither gp nor tp.

#include "port-riscv/asm.h"

    .text
    .cfi_sections .debug_frame
    .balign 4
    .globl  ravelin_user_trap
ravelin_user_trap:
    .cfi_startproc
    .cfi_undefined ra           // for a debugger, the stack ends here
    csrrw   sp, sscratch, sp
    REG_S   t0, AT(BLOCK_SPILL)(sp)
    REG_L   t0, AT(BLOCK_CONTEXT)(sp)
    REG_S   x1, AT(1)(t0)
    REG_S   x3, AT(3)(t0)
    REG_S   x4, AT(4)(t0)
    .irp    n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    REG_S   x\n, AT(\n)(t0)
    .endr
    REG_L   t1, AT(BLOCK_SPILL)(sp)
    csrrw   t2, sscratch, sp
    csrr    t3, sepc
    REG_S   t1, AT(5)(t0)
    REG_S   t2, AT(2)(t0)
    REG_S   t3, AT(CONTEXT_PC)(t0)
    la      t1, ravelin_kernel_trap
    csrw    stvec, t1
    mv      a0, sp
    mv      a1, t0
    csrr    a2, scause
    csrr    a3, stval
    call    ravelin_trap

// Runs the user context a0. sp is the hart's block: the stack is empty.
    .globl  ravelin_resume
ravelin_resume:
    REG_S   a0, AT(BLOCK_CONTEXT)(sp)
    la      t0, ravelin_user_trap
    csrw    stvec, t0
    // A reservation that another thread made must not let this one's sc succeed.
    addi    t0, sp, AT(BLOCK_SCRATCH)
    SC_SCRATCH zero, zero, (t0)
    REG_L   t0, AT(CONTEXT_PC)(a0)
    csrw    sepc, t0
    .irp    n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    REG_L   x\n, AT(\n)(a0)
    .endr
    REG_L   a0, AT(10)(a0)
    sret
    .cfi_endproc
