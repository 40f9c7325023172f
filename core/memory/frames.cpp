// The free frames: how their state is laid out, and taking and giving back. See frames.h.
#include "core/memory/frames.h"

#include <cstddef>

namespace ravelin {
namespace {

constexpr u32 kWordBits = std::numeric_limits<Word>::digits;

u32 frame_count(const BoardFacts& facts) {
    u32 count = 0;
    for (const RamRun& run : facts.ram) {
        count += run.count;
    }
    return count;
}

/// Words of the level above one that has `bits` bits.
u32 words_for(u32 bits) {
    return bits / kWordBits + (bits % kWordBits != 0 ? 1 : 0);
}

// Where the port can tell, nobody reaches a frame that is handed out: a flush was not forgotten.
template <class AnyPort>
void check_unmapped([[maybe_unused]] AnyPort& port, [[maybe_unused]] FrameNumber frame) {
#if RAVELIN_CHECKED
    if constexpr (requires { port.assert_frame_unmapped(frame); })
        port.assert_frame_unmapped(frame);
#endif
}

// Eight stores a turn: zeroing is most of what backing a page costs.
void zero(void* frame) {
    constexpr std::size_t kWords = kPageSize / sizeof(Word);
    auto* word = static_cast<Word*>(frame);
    for (Word* const end = word + kWords; word != end; word += 8) {
        word[0] = 0;
        word[1] = 0;
        word[2] = 0;
        word[3] = 0;
        word[4] = 0;
        word[5] = 0;
        word[6] = 0;
        word[7] = 0;
    }
}

}  // namespace

u32 Frames::state_frames(const BoardFacts& facts) {
    const u32 frames = frame_count(facts);
    u64 bytes = u64{frames} * sizeof(u16);
    u32 words = frames;
    do {
        words = words_for(words);
        bytes += u64{words} * sizeof(Word);
    } while (words > 1);
    return static_cast<u32>((bytes + kPageSize - 1) / kPageSize);
}

bool Frames::fits(const BoardFacts& facts, u64 at, u32 size) {
    if (size == 0 || overlap(at, size, facts.trace.first.value, facts.trace.count)) return false;
    for (const RamRun& run : facts.ram) {
        if (at >= run.first.value && at + size <= u64{run.first.value} + run.count) return true;
    }
    return false;
}

void Frames::build(Port& port, const BoardFacts& facts, FrameNumber place, u32 size) {
    runs_ = facts.ram;
    state_ = RamRun{place, size};
    for (u32 i = 0; i < size; ++i) {
        zero(port.frame_pointer(FrameNumber{place.value + i}));
    }

    // The levels from the lowest, then the notes: all of one block, each part aligned to its own
    // size.
    const u32 frames = frame_count(facts);
    auto* word = static_cast<Word*>(port.frame_pointer(place));
    u32 words = frames;
    level_count_ = 0;
    do {
        words = words_for(words);
        levels_[level_count_++] = word;
        word += words;
    } while (words > 1);
    notes_ = reinterpret_cast<u16*>(word);

    u32 bits = frames;
    for (u32 level = 0; level < level_count_; ++level) {
        for (u32 i = 0; i < bits / kWordBits; ++i) {
            levels_[level][i] = ~Word{0};
        }
        if (bits % kWordBits != 0) {
            levels_[level][bits / kWordBits] = (Word{1} << bits % kWordBits) - 1;
        }
        bits = words_for(bits);
    }

    free_ = frames;
    const auto reserve = [&](RamRun range) {
        for (u32 i = 0; i < range.count; ++i) {
            const u32 index = index_of(FrameNumber{range.first.value + i});
            if (index != kNone && is_free(index)) remove(index);
        }
    };
    reserve(RamRun{FrameNumber{0}, 1});
    reserve(state_);
    reserve(facts.trace);
    total_ = free_;
}

void Frames::remove(u32 index) {
    for (u32 level = 0; level < level_count_; ++level) {
        Word& word = levels_[level][index / kWordBits];
        word &= ~(Word{1} << index % kWordBits);
        if (word != 0) break;
        index /= kWordBits;
    }
    --free_;
}

FrameNumber Frames::frame_of(u32 index) const {
    for (const RamRun& run : runs_) {
        if (index < run.count) return FrameNumber{run.first.value + index};
        index -= run.count;
    }
    return FrameNumber{0};
}

FrameNumber Frames::take(Port& port) {
    if (free_ == 0) return FrameNumber{0};
    u32 index = 0;
    for (u32 level = level_count_; level-- > 0;) {
        index = index * kWordBits + static_cast<u32>(std::countr_zero(levels_[level][index]));
    }
    RAVELIN_ASSERT(is_free(index));
    remove(index);
    const FrameNumber frame = frame_of(index);
    check_unmapped(port, frame);
    zero(port.frame_pointer(frame));
    return frame;
}

bool Frames::take_exact(FrameNumber frame) {
    const u32 index = index_of(frame);
    if (index == kNone || !is_free(index)) return false;
    remove(index);
    return true;
}

void Frames::give(FrameNumber frame) {
    u32 index = index_of(frame);
    RAVELIN_ASSERT(index != kNone && !is_free(index));
    RAVELIN_ASSERT(frame.value != 0 && frame.value - state_.first.value >= state_.count);
    notes_[index] = 0;
    for (u32 level = 0; level < level_count_; ++level) {
        Word& word = levels_[level][index / kWordBits];
        const bool was_empty = word == 0;
        word |= Word{1} << index % kWordBits;
        if (!was_empty) break;
        index /= kWordBits;
    }
    ++free_;
}

}  // namespace ravelin
