// The conformance image's entries: the boot hart's, at the start of the image, and that of harts
// started through HSM. Both set the hart's stack and keep its id in tp; a hart started later hands
// on what it found: a0, a1, satp, sstatus and sip as the firmware left them.

#include "port-riscv/firmware/asm.h"

#define STACK_BYTES 4096

    .section .text.entry, "ax"
    .globl  _start
_start:
    la      t0, image_bss_start
    la      t1, image_bss_end
1:
    bgeu    t0, t1, 2f
    REG_S   zero, 0(t0)
    addi    t0, t0, REG_BYTES
    j       1b
2:
    jal     load_stack
    tail    boot_main

    .globl  peer_entry
peer_entry:
    csrr    a2, satp
    csrr    a3, sstatus
    csrr    a4, sip
    jal     load_stack
    tail    peer_main

load_stack:
    mv      tp, a0
    la      sp, stacks
    li      t0, STACK_BYTES
    addi    t1, a0, 1
    mul     t1, t1, t0
    add     sp, sp, t1
    ret

// long call_keeps_registers(): makes a call (get_spec_version) with a pattern in every register a
// call must keep, and returns how many of them changed.
    .text
    .globl  call_keeps_registers
call_keeps_registers:
    addi    sp, sp, -16 * REG_BYTES
    REG_S   ra, 0 * REG_BYTES(sp)
    REG_S   gp, 1 * REG_BYTES(sp)
    REG_S   tp, 2 * REG_BYTES(sp)
    REG_S   s0, 3 * REG_BYTES(sp)
    REG_S   s1, 4 * REG_BYTES(sp)
    REG_S   s2, 5 * REG_BYTES(sp)
    REG_S   s3, 6 * REG_BYTES(sp)
    REG_S   s4, 7 * REG_BYTES(sp)
    REG_S   s5, 8 * REG_BYTES(sp)
    REG_S   s6, 9 * REG_BYTES(sp)
    REG_S   s7, 10 * REG_BYTES(sp)
    REG_S   s8, 11 * REG_BYTES(sp)
    REG_S   s9, 12 * REG_BYTES(sp)
    REG_S   s10, 13 * REG_BYTES(sp)
    REG_S   s11, 14 * REG_BYTES(sp)
    mv      s11, sp
    li      a6, 0
    li      a7, 0x10
.irp reg, ra, gp, tp, t0, t1, t2, t3, t4, t5, t6, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10
    li      \reg, 0x5A5
.endr
.irp reg, a2, a3, a4, a5
    li      \reg, 0x5A5
.endr
    ecall
    sub     a0, sp, s11
    snez    a0, a0
    mv      sp, s11
    li      a1, 0x5A5
.irp reg, ra, gp, tp, t0, t1, t2, t3, t4, t5, t6, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10
    sub     \reg, \reg, a1
    snez    \reg, \reg
    add     a0, a0, \reg
.endr
.irp reg, a2, a3, a4, a5
    sub     \reg, \reg, a1
    snez    \reg, \reg
    add     a0, a0, \reg
.endr
    snez    a6, a6
    add     a0, a0, a6
    addi    a7, a7, -0x10
    snez    a7, a7
    add     a0, a0, a7
    REG_L   ra, 0 * REG_BYTES(sp)
    REG_L   gp, 1 * REG_BYTES(sp)
    REG_L   tp, 2 * REG_BYTES(sp)
    REG_L   s0, 3 * REG_BYTES(sp)
    REG_L   s1, 4 * REG_BYTES(sp)
    REG_L   s2, 5 * REG_BYTES(sp)
    REG_L   s3, 6 * REG_BYTES(sp)
    REG_L   s4, 7 * REG_BYTES(sp)
    REG_L   s5, 8 * REG_BYTES(sp)
    REG_L   s6, 9 * REG_BYTES(sp)
    REG_L   s7, 10 * REG_BYTES(sp)
    REG_L   s8, 11 * REG_BYTES(sp)
    REG_L   s9, 12 * REG_BYTES(sp)
    REG_L   s10, 13 * REG_BYTES(sp)
    REG_L   s11, 14 * REG_BYTES(sp)
    addi    sp, sp, 16 * REG_BYTES
    ret

    .bss
    .balign 16
stacks:
    .skip   FIRMWARE_MAX_HARTS * STACK_BYTES
