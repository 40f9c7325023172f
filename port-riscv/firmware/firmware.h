// The firmware's own interface: what a hart is to it, and the services one file offers another.
//
// Rule: a hart's record is the only thing shared between harts, and everything in it is either
// atomic or handed over by an atomic. Nobody holds a lock, and whoever waits halts and keeps
// serving what others ask of it, so no two harts can wait for each other.
// Bound: FIRMWARE_MAX_HARTS harts; every loop is over harts or over kFlushPages pages, but for the
// waits for another hart.

#pragma once

#include "port-riscv/firmware/arch.h"
#include "port-riscv/sbi.h"

#include <atomic>
#include <cstdint>

namespace ravelin::firmware {

/// One bit a hart, by hart id.
using HartMask = std::uint32_t;
inline constexpr Word kMaxHarts = FIRMWARE_MAX_HARTS;

/// A hart's life. The low two bits are the status that SBI gives a state.
///
///   stopped -> claimed   by the one starter whose compare-and-swap wins
///   claimed -> ready     by that starter, once the arguments are written
///   ready   -> started   by the hart itself
///   started -> stopped   by the hart itself; nothing is left to do after it, so there is no
///                        state between, and a start that follows at once is not lost
enum class RunState : std::uint32_t { started = 0, stopped = 1, claimed = 2, ready = 4 | 2 };

enum class FenceKind : std::uint32_t { instructions, all_spaces, one_space };

/// What a remote fence asks for; addresses and sizes are in bytes.
struct Fence {
    FenceKind kind;
    Word start;
    Word size;
    Word asid;
};

struct alignas(64) Hart {
    std::atomic<RunState> state;
    /// Written by the starter in state claimed, read by the hart after ready.
    Word start_address;
    Word opaque;
    /// Written by this hart while acks_due is 0, read by the harts it posted it to until they ack.
    Fence fence;
    /// How many harts have not yet carried out `fence`.
    std::atomic<std::uint32_t> acks_due;
    /// Bit s: hart s waits for this hart to carry out hart s's fence.
    std::atomic<HartMask> fences_from;
    /// Nonzero: somebody sent this hart's S-mode an interrupt.
    std::atomic<std::uint32_t> software;
    /// The hart has a compare register of S-mode's own. Read and written by the hart alone.
    bool own_compare;
};

/// The registers a trap saves, as trap.S lays them out.
struct Frame {
    Word ra;
    Word t[7];
    Word a[8];
    Word sp;
    Word mepc;
};

extern Hart harts[kMaxHarts];
/// The harts the machine has. Written by the boot hart before any S-mode code runs.
extern HartMask present;
/// Not 0 once the boot hart has counted the harts: only then do the others leave entry.S.
extern "C" std::atomic<std::uint32_t> firmware_may_join;

inline Word self_id() noexcept {
    return csr_read<kMhartid>();
}

// --- boot.cpp
/// Waits, halted, until somebody starts this hart, then enters S-mode.
[[noreturn]] void wait_for_start(Word id) noexcept;

// --- calls.cpp
/// Carries out the call in the frame's a0..a7 and leaves its results there.
void call(Frame& frame) noexcept;
/// Ends the machine: a shutdown, with the given exit code where the machine has one, or a reboot.
[[noreturn]] void end_machine(Word type, bool failure) noexcept;

// --- console.cpp
void console_init() noexcept;
void console_put(char byte) noexcept;
/// The next byte received, or -1.
int console_get() noexcept;
void console_print(const char* text) noexcept;
/// Prints a space and the value.
void console_print_hex(Word value) noexcept;

// --- timer.cpp
/// The deadline of a timer that is off.
inline constexpr std::uint64_t kNeverFires = ~std::uint64_t{0};
/// Lets S-mode write its own compare register where the hart has one; the timer is off.
void timer_init() noexcept;
/// Arms this hart's S-mode timer for an absolute time in ticks, and withdraws a pending interrupt.
void timer_set(std::uint64_t deadline) noexcept;
/// The M-mode timer has fired: passes it on to S-mode.
void timer_fired() noexcept;

// --- remote.cpp
/// Finds the harts there are, all of them stopped, and lets those that wait in entry.S join.
void find_harts() noexcept;
inline bool exists(Word id) noexcept {
    return id < kMaxHarts && ((present >> id) & 1U) != 0;
}
/// Makes hart `id`'s M-mode software interrupt pending.
void ring(Word id) noexcept;
/// Takes back this hart's M-mode software interrupt, then does what others asked of this hart.
void serve(Word id) noexcept;
/// Sends S-mode software interrupts. `mask` and `base` as in the specification.
sbi::Error send_interrupts(Word mask, Word base) noexcept;
/// Has the named harts carry out a fence, and returns when all have.
sbi::Error send_fence(Word mask, Word base, const Fence& fence) noexcept;

// --- assembly
extern "C" {
/// trap.S: the M-mode trap vector.
void firmware_trap_entry() noexcept;
/// entry.S: enters S-mode at `address` with a0 = `id` and a1 = `opaque`.
[[noreturn]] void firmware_enter_supervisor(Word address, Word id, Word opaque) noexcept;
/// probe.S: loads a byte of physical memory with S-mode's rights; all ones if that faults.
Word firmware_guarded_load(Word address) noexcept;
/// probe.S: stores a byte of physical memory with S-mode's rights; all ones if that faults, else 0.
Word firmware_guarded_store(Word address, Word byte) noexcept;
/// probe.S: turns on S-mode's own compare register; 0 if the hart has none, else 1.
Word firmware_enable_sstc() noexcept;
}

}  // namespace ravelin::firmware
