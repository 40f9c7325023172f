# The trap and the clock of a program on RISC-V.
#
# Call registers by place: 0 to 7 are a0 to a7, 8 to 14 are t0 to t6, 15 to 21 are s2 to s8.

#if __riscv_xlen == 64
#define LOAD ld
#define STORE sd
#define SIZE 8
#else
#define LOAD lw
#define STORE sw
#define SIZE 4
#endif

    .text

# void ravelin_guest_call(Word* registers): enters the kernel with the registers and writes back what it
# left in them. s1 holds the pointer across the trap; the kernel keeps every register that carries
# nothing of a call.
    .globl ravelin_guest_call
    .type ravelin_guest_call, @function
ravelin_guest_call:
    addi sp, sp, -8 * SIZE
    STORE s1, 0 * SIZE(sp)
    STORE s2, 1 * SIZE(sp)
    STORE s3, 2 * SIZE(sp)
    STORE s4, 3 * SIZE(sp)
    STORE s5, 4 * SIZE(sp)
    STORE s6, 5 * SIZE(sp)
    STORE s7, 6 * SIZE(sp)
    STORE s8, 7 * SIZE(sp)
    mv s1, a0
    LOAD a0, 0 * SIZE(s1)
    LOAD a1, 1 * SIZE(s1)
    LOAD a2, 2 * SIZE(s1)
    LOAD a3, 3 * SIZE(s1)
    LOAD a4, 4 * SIZE(s1)
    LOAD a5, 5 * SIZE(s1)
    LOAD a6, 6 * SIZE(s1)
    LOAD a7, 7 * SIZE(s1)
    LOAD t0, 8 * SIZE(s1)
    LOAD t1, 9 * SIZE(s1)
    LOAD t2, 10 * SIZE(s1)
    LOAD t3, 11 * SIZE(s1)
    LOAD t4, 12 * SIZE(s1)
    LOAD t5, 13 * SIZE(s1)
    LOAD t6, 14 * SIZE(s1)
    LOAD s2, 15 * SIZE(s1)
    LOAD s3, 16 * SIZE(s1)
    LOAD s4, 17 * SIZE(s1)
    LOAD s5, 18 * SIZE(s1)
    LOAD s6, 19 * SIZE(s1)
    LOAD s7, 20 * SIZE(s1)
    LOAD s8, 21 * SIZE(s1)
    ecall
    STORE a0, 0 * SIZE(s1)
    STORE a1, 1 * SIZE(s1)
    STORE a2, 2 * SIZE(s1)
    STORE a3, 3 * SIZE(s1)
    STORE a4, 4 * SIZE(s1)
    STORE a5, 5 * SIZE(s1)
    STORE a6, 6 * SIZE(s1)
    STORE a7, 7 * SIZE(s1)
    STORE t0, 8 * SIZE(s1)
    STORE t1, 9 * SIZE(s1)
    STORE t2, 10 * SIZE(s1)
    STORE t3, 11 * SIZE(s1)
    STORE t4, 12 * SIZE(s1)
    STORE t5, 13 * SIZE(s1)
    STORE t6, 14 * SIZE(s1)
    STORE s2, 15 * SIZE(s1)
    STORE s3, 16 * SIZE(s1)
    STORE s4, 17 * SIZE(s1)
    STORE s5, 18 * SIZE(s1)
    STORE s6, 19 * SIZE(s1)
    STORE s7, 20 * SIZE(s1)
    STORE s8, 21 * SIZE(s1)
    LOAD s1, 0 * SIZE(sp)
    LOAD s2, 1 * SIZE(sp)
    LOAD s3, 2 * SIZE(sp)
    LOAD s4, 3 * SIZE(sp)
    LOAD s5, 4 * SIZE(sp)
    LOAD s6, 5 * SIZE(sp)
    LOAD s7, 6 * SIZE(sp)
    LOAD s8, 7 * SIZE(sp)
    addi sp, sp, 8 * SIZE
    ret
    .size ravelin_guest_call, . - ravelin_guest_call

# u64 ravelin_guest_clock(): the timebase clock. On rv32 the halves are read until no carry fell
# between them.
    .globl ravelin_guest_clock
    .type ravelin_guest_clock, @function
ravelin_guest_clock:
#if __riscv_xlen == 64
    rdtime a0
#else
1:
    rdtimeh a1
    rdtime a0
    rdtimeh t0
    bne a1, t0, 1b
#endif
    ret
    .size ravelin_guest_clock, . - ravelin_guest_clock
