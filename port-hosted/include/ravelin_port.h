// The hosted port: a machine inside a Linux process (core/port.h states the contracts).
//
// This header is what the core is compiled with, so everything here that runs often is inline and
// makes no system call; the rest is in port-hosted/source. Two ways of running, chosen per machine:
//   virtual  all harts on one OS thread. Each hart has its own clock in ticks, moved by stated
//            amounts; the hart with the lowest clock runs. Invariant: whatever a hart does at its
//            time t, no other hart that can run is behind t: things happen in the order of time.
//   threads  each hart is an OS thread on the real clock.
// Included by core/port.h only. Bound: one compare a clock move at one hart; a scan of the harts a
// turn at several.
#pragma once

#include <cstddef>

#include "core/abi/calls.h"
#include "core/types.h"

namespace ravelin {

namespace hosted {
struct Machine;
struct GuestThread;
}  // namespace hosted

class Port {
  public:
    /// The user state of a thread. Its registers are those of its last call; everything else of a
    /// thread that has run is on its own stack, in a GuestThread.
    struct Context {
        Word registers[abi::kCallRegisters];
        Word entry;
        Word stack;
        hosted::GuestThread* thread;  ///< null until the first run
        u32 space;
        u8 made;
        u8 again;     ///< its call is taken again before it goes on
        u8 was_call;  ///< its last trap was a call

        Word reg(unsigned place) const noexcept { return registers[place]; }
        void set_reg(unsigned place, Word value) noexcept { registers[place] = value; }
        /// A fault comes again by itself, since its instruction runs again, and an interrupt is
        /// pending or not: only a call has to be remembered.
        void retake() noexcept { again = was_call; }
    };

    /// Page tables: three levels of 512 entries of 64 bits. Bit 0 valid; 1 to 3 the rights, none in
    /// a pointer to the next level; 4 user; 5 lent (software's); from 10 the frame's number. User
    /// space is one GiB, so that the window of host addresses which shows a process its memory is
    /// small.
    struct Format {
        using Entry = u64;
        static constexpr unsigned kLevels = 3;
        static constexpr unsigned kIndexBits = 9;
        static constexpr u64 kUserEnd = u64{1} << 30;

        static Entry leaf(FrameNumber number, u32 access) noexcept {
            return table(number) | Entry{access} << 1 | kUser;
        }
        static Entry table(FrameNumber number) noexcept {
            return Entry{number.value} << kFrameShift | kValid;
        }
        static bool is_valid(Entry entry) noexcept { return (entry & kValid) != 0; }
        static bool is_leaf(Entry entry) noexcept { return (entry & kUser) != 0; }
        static FrameNumber frame(Entry entry) noexcept {
            return {static_cast<u32>(entry >> kFrameShift)};
        }
        static u32 rights(Entry entry) noexcept { return static_cast<u32>(entry >> 1 & 7); }
        static bool is_lent(Entry entry) noexcept { return (entry & kLent) != 0; }
        static Entry with_lent(Entry entry, bool on) noexcept {
            return on ? entry | kLent : entry & ~kLent;
        }
        static Entry with_valid(Entry entry, bool on) noexcept {
            return on ? entry | kValid : entry & ~kValid;
        }

      private:
        static constexpr Entry kValid = 1;
        static constexpr Entry kUser = 16;
        static constexpr Entry kLent = 32;
        static constexpr unsigned kFrameShift = 10;
    };

    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    Ticks now(HartIndex hart) noexcept {
        return real_ ? real_now() : Ticks{turns_[hart.value].time};
    }
    void arm(HartIndex hart, Ticks when) noexcept {
        turns_[hart.value].armed = when.value;
        if (!plain_timer_) {
            arm_slowly(hart);
        }
    }
    void disarm(HartIndex hart) noexcept { arm(hart, kNever); }

    bool start(HartIndex hart, HartIndex other) noexcept;
    void kick(HartIndex hart, HartMask harts) noexcept;
    void wait(HartIndex hart) noexcept;

    bool make_context(HartIndex hart, Context& context, const ContextStart& start) noexcept;
    void drop_context(HartIndex hart, Context& context) noexcept;

    void* frame_pointer(FrameNumber frame) noexcept {
        return ram_ + std::size_t{frame.value} * kPageSize;
    }
    FrameNumber frame_number(const void* pointer) noexcept {
        return {static_cast<u32>((static_cast<const std::byte*>(pointer) - ram_) / kPageSize)};
    }
    void activate(HartIndex hart, FrameNumber root, u32 space) noexcept;
    void flush(HartIndex hart, u32 space, Word address, u32 count) noexcept;
    void release_space(HartIndex hart, u32 space) noexcept;
    void sync_code(HartIndex) noexcept {}

    /// Checks that no window shows `frame` any more, and ends the process with a message if one
    /// does: a flush was forgotten. The core's allocator calls it in checked builds.
    void assert_frame_unmapped(FrameNumber frame) noexcept;

    u32 claim(HartIndex hart) noexcept;
    void complete(HartIndex hart, u32 source) noexcept;
    void set_enabled(HartIndex hart, u32 source, bool on) noexcept;

    void console(HartIndex hart, std::span<const char> bytes) noexcept;
    void entropy(std::span<std::byte, 32> seed) noexcept;
    [[noreturn]] void reset(HartIndex hart, ResetKind kind) noexcept;
    const BoardFacts& facts() noexcept { return board_; }

    void work(HartIndex hart, Work done, u32 count) noexcept {
        if (!costs_) {
            return;
        }
        Turn& turn = turns_[hart.value];
        const Cost cost = kCosts[static_cast<unsigned>(done)];
        turn.random += kRandomStep;
        const u64 random = (turn.random ^ turn.random >> 29) * kRandomFactor >> 40;
        turn.time += u64{count} * cost.least + (random * cost.spread * count >> 24);
        if (turn.time > horizon_) {
            pass_turn(hart);
        }
    }

  private:
    friend struct hosted::Machine;

    /// A hart's clock and what moves it on. Times are ticks; kNever's value is "no such event".
    struct alignas(64) Turn {
        u64 time = 0;
        u64 armed = kNever.value;
        u64 kick_at = kNever.value;  ///< when a kick is or becomes pending
        u64 key = kNever.value;      ///< when the hart goes on, while another has the turn
        u64 random = 0;
        bool started = false;
        bool listening = false;  ///< a kick or a device ends what it does now before `key`
    };

    /// What one unit of work costs: `least` ticks and a seeded 0 to `spread` - 1 more.
    struct Cost {
        u16 least;
        u16 spread;
    };

    // By place in Work. At 12.5 instructions a tick (10 MHz against 8 ns an instruction, as the
    // RISC-V bench has it) a slice end is entry + bill + deschedule + pick + leave and the trap's
    // one: 13 to 26 ticks, about the 203 to 283 instructions measured there. The least is never 0,
    // so every interval that is billed is seen; the spread is about half of the mean, so that no
    // two paths cost alike.
    static constexpr Cost kCosts[kWorkKinds] = {
        {3, 4},    // entry: 31 registers saved, the lock
        {2, 3},    // call: decode and look up a handle
        {4, 5},    // expiry: out of a heap, wake the thread
        {1, 2},    // bill: a subtraction and an addition of 128 bits
        {3, 4},    // deschedule: fold and requeue, 60 instructions
        {2, 4},    // pick: 30 instructions, more with many budgets
        {4, 6},    // switched: address space, fence, cold lines
        {7, 9},    // destroy_step: one object taken out of its lists
        {36, 10},  // frame: 512 stores
        {1, 2},    // idle
        {3, 4},    // leave: arm, 31 registers loaded
    };
    static_assert(sizeof kCosts / sizeof kCosts[0] == kWorkKinds);

    // A counter and a hash of it (the constants of splitmix64): the chain from one cost to the next
    // is one addition. Only high bits are used.
    static constexpr u64 kRandomStep = 0x9e3779b97f4a7c15u;
    static constexpr u64 kRandomFactor = 0xbf58476d1ce4e5b9u;

    explicit Port(hosted::Machine& machine) : machine_(machine) {}

    static Ticks real_now() noexcept;
    void arm_slowly(HartIndex hart) noexcept;
    void pass_turn(HartIndex hart) noexcept;

    hosted::Machine& machine_;
    std::byte* ram_ = nullptr;
    u64 horizon_ = kNever.value;  ///< virtual: the lowest key of the harts without the turn
    bool real_ = false;           ///< threads mode
    bool costs_ = false;          ///< virtual with the cost model
    bool plain_timer_ = true;     ///< what is armed is the time, and no host timer
    Turn turns_[kMaxHarts];
    BoardFacts board_;
};

}  // namespace ravelin
