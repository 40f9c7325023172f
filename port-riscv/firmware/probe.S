// Accesses that may fault. Each points mtvec at its own way out for as long as it takes; interrupts
// are off in M-mode, so the only trap that can come is the fault itself. A trap overwrites mepc and
// mstatus.MPP: mstatus is put back here, mepc is in the frame of the call.

#include "port-riscv/firmware/asm.h"

// Keeps mtvec in t0, satp in t1 and mstatus in t2; makes loads and stores S-mode's, untranslated.
.macro guard_begin
    la      t0, guard_failed
    csrrw   t0, mtvec, t0
    csrrw   t1, satp, zero
    csrr    t2, mstatus
    li      t3, MSTATUS_MPP_MASK
    csrc    mstatus, t3
    li      t3, MSTATUS_MPRV | MSTATUS_MPP_S
    csrs    mstatus, t3
.endm

    .text
    .globl  firmware_guarded_load
firmware_guarded_load:
    guard_begin
    lbu     a0, 0(a0)
    j       guard_end

    .globl  firmware_guarded_store
firmware_guarded_store:
    guard_begin
    sb      a1, 0(a0)
    li      a0, 0
    j       guard_end

    .balign 4
guard_failed:
    li      a0, -1
guard_end:
    csrw    mstatus, t2
    csrw    satp, t1
    csrw    mtvec, t0
    ret

// S-mode's compare register is enabled by the highest bit of menvcfg (menvcfgh on rv32). A hart
// without it faults at the register itself; the bit alone proves nothing, since QEMU 7.2 keeps it
// even with sstc=off.
#define MENVCFG_STCE_CSR (0x30A + (64 - __riscv_xlen) / 2)
#define STIMECMP_CSR 0x14D
    .globl  firmware_enable_sstc
firmware_enable_sstc:
    la      t0, 1f
    csrrw   t0, mtvec, t0
    li      a0, 0
    csrr    t1, STIMECMP_CSR
    li      t1, 1 << (__riscv_xlen - 1)
    csrs    MENVCFG_STCE_CSR, t1
    li      a0, 1
    .balign 4
1:
    csrw    mtvec, t0
    ret
