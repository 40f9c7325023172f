// Where a hart's life in S-mode begins: the boot hart from the firmware (a0 = hart id, a1 = device
// tree), the others by HSM (a0 = hart id).
//
// Of a hart that HSM starts only its id is believed. OpenSBI before 1.2 lets it go before it has written
// where it shall go and with what: it then comes to the image's entry, where the firmware itself would
// send it, or with the device tree in a1. So the entry boots once, whoever comes later is a started
// hart, and it finds its block by its id.
//
// Both run at physical addresses until paging is on. Turning it on moves the hart to the window: on
// rv64 the next fetch faults and stvec holds where to go on; on rv32 the window is where it runs. A
// hart that lacks the paging mode keeps satp at 0 and goes on where it was: it says so and ends the
// machine.

#include "port-riscv/asm.h"

#define ENTRY_VALID 1
#define ENTRY_READ_WRITE (2 | 4)
#define ENTRY_EXECUTE 8
#define ENTRY_GLOBAL_ACCESSED_DIRTY (0x20 | 0x40 | 0x80)
#define ENTRY_WINDOW (ENTRY_VALID | ENTRY_READ_WRITE | ENTRY_GLOBAL_ACCESSED_DIRTY)

    // stvec, which is where rv64 goes on, takes whole instructions of 4 bytes only.
    .option norvc
    .section .text.start, "ax"
    .cfi_sections .debug_frame
    .globl  ravelin_start
ravelin_start:
    .cfi_startproc
    .cfi_undefined ra           // for a debugger, the stack ends here
    csrw    sie, zero
    la      t0, begun
    li      t1, 1
    amoswap.w.aqrl t1, t1, (t0)
    bnez    t1, ravelin_secondary_start
    la      t0, ravelin_bss_start
    la      t1, ravelin_bss_end
1:
    REG_S   zero, 0(t0)
    REG_S   zero, REG_BYTES(t0)
    addi    t0, t0, 2 * REG_BYTES
    bltu    t0, t1, 1b

    // The first table: the whole window, large pages, written but not executed ...
    la      t0, ravelin_first_table
    li      t1, LAYOUT_ROOT_ENTRIES / 2 * REG_BYTES
    add     t2, t0, t1
    add     t3, t2, t1
    li      t4, (LAYOUT_WINDOW_PHYSICAL >> 12 << 10) | ENTRY_WINDOW
    li      t5, 1 << (LAYOUT_ROOT_SHIFT - 2)
2:
    REG_S   t4, 0(t2)
    add     t4, t4, t5
    addi    t2, t2, REG_BYTES
    bltu    t2, t3, 2b
    // ... but for the image, which may do both until the C++ code has made the real table.
    add     t2, t0, t1
    la      t3, ravelin_image_start
    call    make_executable
    la      t3, ravelin_image_end - 1
    call    make_executable

    call    turn_on_paging
    la      sp, ravelin_stacks
    li      t0, LAYOUT_GUARD_BYTES + (1 << LAYOUT_STACK_SHIFT) - BLOCK_WORDS * REG_BYTES
    add     sp, sp, t0
    csrw    sscratch, sp
    la      t0, ravelin_kernel_trap
    csrw    stvec, t0
    call    ravelin_boot
    tail    ravelin_resume

    .globl  ravelin_secondary_start
ravelin_secondary_start:
    csrw    sie, zero
    la      t0, ravelin_kernel_root
    REG_L   t0, 0(t0)
    beqz    t0, park
    fence   r, rw
    la      sp, ravelin_stacks
    li      t1, LAYOUT_GUARD_BYTES + (1 << LAYOUT_STACK_SHIFT)
    li      t2, LAYOUT_HARTS
1:
    beqz    t2, park
    add     sp, sp, t1
    addi    t2, t2, -1
    REG_L   t3, AT(BLOCK_ID - BLOCK_WORDS)(sp)
    bne     t3, a0, 1b
    li      t1, LAYOUT_OFFSET - BLOCK_WORDS * REG_BYTES
    add     sp, sp, t1
    call    turn_on_paging
    csrw    sscratch, sp
    la      t0, ravelin_kernel_trap
    csrw    stvec, t0
    mv      a0, sp
    call    ravelin_secondary
    tail    ravelin_resume
    .cfi_endproc

// Adds the right to execute to the entry of physical address t3; t2 is the window's first entry.
make_executable:
    li      t4, LAYOUT_WINDOW_PHYSICAL
    sub     t3, t3, t4
    srli    t3, t3, LAYOUT_ROOT_SHIFT
    slli    t3, t3, __riscv_xlen / 32 + 1
    add     t3, t3, t2
    REG_L   t4, 0(t3)
    ori     t4, t4, ENTRY_EXECUTE
    REG_S   t4, 0(t3)
    ret

// Makes the table at physical address t0 the hart's and returns inside the window.
turn_on_paging:
    li      t1, LAYOUT_OFFSET
    add     ra, ra, t1
    csrw    stvec, ra
    srli    t0, t0, 12
    li      t1, LAYOUT_SATP_MODE
    or      t0, t0, t1
    sfence.vma
    csrw    satp, t0
    csrr    t1, satp
    beq     t0, t1, 1f
    la      s0, no_paging
    j       refuse
1:
    sfence.vma
    ret

// Prints the string at s0 with the console call that every firmware has, and powers off as failed.
refuse:
    lbu     a0, 0(s0)
    beqz    a0, 2f
    li      a7, 1
    ecall
    addi    s0, s0, 1
    j       refuse
2:
    li      a0, 0
    li      a1, 1
    li      a6, 0
    li      a7, 0x53525354
    ecall
    li      a7, 8
    ecall

// A hart that nobody asked for, or whose machine has ended.
park:
    wfi
    j       park

    // Read by a hart that may come before .bss is cleared.
    .data
    .balign REG_BYTES
    .globl  ravelin_kernel_root
ravelin_kernel_root:            // as satp takes an address; 0 until there is one
    .skip   REG_BYTES
begun:
    .word   0

    .section .rodata
no_paging:
#if __riscv_xlen == 64
    .asciz "ravelin: refused: the hart has no Sv39\nRAVELIN-OFF failed\n"
#else
    .asciz "ravelin: refused: the hart has no Sv32\nRAVELIN-OFF failed\n"
#endif

    .bss
    .balign LAYOUT_PAGE
ravelin_first_table:
    .skip   LAYOUT_PAGE
