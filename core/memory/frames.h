// The free frames of RAM (R11, R12): those that were never used, one bit a frame under levels of summary
// bits, each of which says whether the word below it has such a frame; and those that were given back, in
// stacks: unclean ones by who pays for zeroing them, and clean ones.
//
// Rule: a frame is zeroed before anybody sees it. Who idles takes an unclean frame out, zeroes it without the
// lock and puts it among the clean. take prefers a clean one and zeroes only when there is none. Backing a page,
// a table or an object costs no search of RAM, however much of it is in use.
// Invariant: a bit of a level is set exactly if its word in the level below is not zero; a frame is in one set
// or taken. The state lies in frames of RAM that are never free, so it costs no memory of the kernel's own
// image. Links lie in the state and not in the frames: a user whose mapping is not flushed yet may still write
// to a frame that was given back.
// Bound: take, take_exact and give read and write one word a level (at most 4 levels for 64 GiB on
// a 64-bit machine, 4 for 4 GiB on a 32-bit one) and look the frame up among the board's runs. init
// writes whole words: a few instructions a frame. At most one frame a hart is out to be zeroed.
#pragma once

#include <bit>
#include <limits>
#include <span>

#include "core/assert.h"
#include "core/port.h"

namespace ravelin {

/// Frames that were given back, the latest first, by index.
struct FrameStack {
    u32 first = ~u32{0};
    u32 last = ~u32{0};
    u32 count = 0;
};

/// Frames whose zeroing one budget pays for: those freed while it paid.
struct Unclean {
    FrameStack frames;
    Unclean* next = nullptr;  ///< of the ring of all that have any; null: it has none
    Unclean* previous = nullptr;
};

class Frames {
  public:
    /// Makes every frame of the board's RAM free, but those of `held` (ranges with members `first`
    /// and `count`: the first program, which is in memory already), those of the trace ring, frame
    /// 0, and the few that the state itself takes. Held frames count as taken, and in total(). The
    /// frames of one run must lie one after the other as Port::frame_pointer gives them.
    /// Returns false if no run has room for the state or a held frame is no RAM or held twice; the
    /// object is unusable then.
    template <class Held>
    bool init(Port& port, const BoardFacts& facts, const Held& held) {
        const u32 size = state_frames(facts);
        FrameNumber place{0};
        const auto consider = [&](u64 at) {
            if (place.value != 0 || at == 0 || !fits(facts, at, size)) return;
            for (const auto& range : held) {
                if (overlap(at, size, range.first.value, range.count)) return;
            }
            place = FrameNumber{static_cast<u32>(at)};
        };
        for (const RamRun& run : facts.ram) {
            consider(run.first.value == 0 ? 1 : run.first.value);
        }
        for (const auto& range : held) {
            consider(u64{range.first.value} + range.count);
        }
        if (place.value == 0) return false;
        build(port, facts, place, size);
        for (const auto& range : held) {
            for (u32 i = 0; i < range.count; ++i) {
                if (!take_exact(FrameNumber{range.first.value + i})) return false;
            }
        }
        return true;
    }

    /// As above with nothing held.
    bool init(Port& port, const BoardFacts& facts) {
        return init(port, facts, std::span<const RamRun>{});
    }

    /// A free frame, zeroed, or {0} if none is free: a clean one, else one given back, else the lowest of
    /// those never used.
    FrameNumber take(Port& port);

    /// Takes this frame, which nobody ever had, as it is, not zeroed. False if it is no RAM or not free.
    bool take_exact(FrameNumber frame);

    /// Makes a taken frame free. The caller has removed every mapping of it, and makes the flush
    /// before the lock is released or another frame is taken.
    void give(FrameNumber frame);

    /// Frames given back that nobody owes the zeroing of yet.
    u32 freed() const { return freed_.count; }

    /// The payer owes the zeroing of those; null: who takes them does.
    void owe(Unclean* payer);

    /// What `from` owes, `to` owes; null: who takes them does.
    void move(Unclean& from, Unclean* to);

    /// Who owes the zeroing of a frame, or null.
    Unclean* owing() const { return owing_; }

    /// Takes one of its frames out, to be zeroed without the lock.
    FrameNumber take_out(Unclean& payer);

    /// Puts a frame back that was taken out and zeroed.
    void put_clean(FrameNumber frame);

    /// Zeroes a frame that was taken or taken out. Needs no lock.
    static void zero(Port& port, FrameNumber frame);

    /// Frames that take can give now, those that are out included.
    u32 free() const { return free_ + out_ - kMaxHarts; }

    /// Frames that were ever free or held at init, less one a hart for what is out to be zeroed: what all
    /// budgets together may be charged.
    u32 total() const { return total_; }

    /// Whether the frame is RAM of the board's runs, and not a device's.
    bool contains(FrameNumber frame) const { return index_of(frame) != kNone; }

    /// A number that the holder of a RAM frame keeps beside it: of a page table, its used entries.
    /// 0 when the frame is taken.
    u16& note(FrameNumber frame) {
        const u32 index = index_of(frame);
        RAVELIN_ASSERT(index != kNone);
        return notes_[index];
    }

  private:
    static constexpr u32 kNone = ~u32{0};
    static constexpr u32 kNotGiven = kNone - 1;  ///< link of a frame that is in no stack
    static constexpr u32 kWordBits = std::numeric_limits<Word>::digits;
    static constexpr u32 kWordShift = kWordBits == 64 ? 6 : 5;
    /// Levels that cover every frame number a u32 holds.
    static constexpr u32 kMaxLevels = (32 + kWordShift - 1) / kWordShift;

    static constexpr bool overlap(u64 a, u64 a_count, u64 b, u64 b_count) {
        return a < b + b_count && b < a + a_count;
    }

    static u32 state_frames(const BoardFacts& facts);
    static bool fits(const BoardFacts& facts, u64 at, u32 size);
    void build(Port& port, const BoardFacts& facts, FrameNumber place, u32 size);
    bool is_free(u32 index) const {
        return (levels_[0][index / kWordBits] >> index % kWordBits & 1) != 0;
    }
    void remove(u32 index);
    void push(FrameStack& stack, u32 index);
    u32 pop(FrameStack& stack);
    void splice(FrameStack& from, FrameStack& to);
    void enlist(Unclean& payer);
    void drop_if_empty(Unclean& payer);

    /// The frame's place among the frames of all runs, or kNone.
    u32 index_of(FrameNumber frame) const {
        u32 base = 0;
        for (const RamRun& run : runs_) {
            const u32 offset = frame.value - run.first.value;
            if (offset < run.count) return base + offset;
            base += run.count;
        }
        return kNone;
    }
    FrameNumber frame_of(u32 index) const;

    std::span<const RamRun> runs_;
    Word* levels_[kMaxLevels] = {};
    u32* links_ = nullptr;  ///< a frame's next in its stack
    u16* notes_ = nullptr;
    FrameStack freed_;   ///< since the last owe
    FrameStack unowed_;  ///< unclean, and nobody's to zero ahead of their use
    FrameStack clean_;
    Unclean* owing_ = nullptr;  ///< ring
    u32 out_ = 0;               ///< taken out to be zeroed
    u32 level_count_ = 0;
    u32 free_ = 0;
    u32 total_ = 0;
    RamRun state_;
};

}  // namespace ravelin
