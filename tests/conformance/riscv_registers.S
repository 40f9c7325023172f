// User code that has a value of its own in every register, gp, tp and sp included, when it calls, and calls
// again with whatever it has then. It is copied to a page of user space (riscv_checks.cpp).

    .option norvc
    .section .rodata.registers, "a"
    .balign 4
    .globl  conformance_registers
conformance_registers:
    .irp    n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    li      x\n, 0x5a000000 + \n * 0x10101
    .endr
    ecall
    ecall
1:
    j       1b
    .globl  conformance_registers_end
conformance_registers_end:
