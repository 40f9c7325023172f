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

// A clean frame is still so: what wrote to it had no right to. Sixteen places of it are looked at.
void check_clean([[maybe_unused]] const void* frame) {
#if RAVELIN_CHECKED
    constexpr std::size_t kWords = kPageSize / sizeof(Word);
    for (std::size_t at = 0; at < kWords; at += kWords / 16)
        RAVELIN_ASSERT(static_cast<const Word*>(frame)[at] == 0);
#endif
}

// Eight stores a turn: zeroing is most of what backing a page costs.
void fill_zero(void* frame) {
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
    u64 bytes = u64{frames} * (sizeof(u32) + sizeof(u16));
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
        zero(port, FrameNumber{place.value + i});
    }

    // The levels from the lowest, then the links and the notes: all of one block, each part aligned to its
    // own size.
    const u32 frames = frame_count(facts);
    auto* word = static_cast<Word*>(port.frame_pointer(place));
    u32 words = frames;
    level_count_ = 0;
    do {
        words = words_for(words);
        levels_[level_count_++] = word;
        word += words;
    } while (words > 1);
    links_ = reinterpret_cast<u32*>(word);
    notes_ = reinterpret_cast<u16*>(links_ + frames);
    for (u32 i = 0; i < frames; ++i)
        links_[i] = kNotGiven;

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
    total_ = free_ < kMaxHarts ? 0 : free_ - kMaxHarts;
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

void Frames::push(FrameStack& stack, u32 index) {
    if (stack.count++ == 0) stack.last = index;
    links_[index] = stack.first;
    stack.first = index;
}

u32 Frames::pop(FrameStack& stack) {
    const u32 index = stack.first;
    stack.first = links_[index];
    links_[index] = kNotGiven;
    --stack.count;
    return index;
}

void Frames::splice(FrameStack& from, FrameStack& to) {
    if (from.count == 0) return;
    if (to.count == 0) {
        to = from;
    } else {
        links_[from.last] = to.first;
        to.first = from.first;
        to.count += from.count;
    }
    from = {};
}

// Into the ring, if it is not there and has frames.
void Frames::enlist(Unclean& payer) {
    if (payer.next != nullptr || payer.frames.count == 0) return;
    if (owing_ == nullptr) owing_ = payer.next = payer.previous = &payer;
    payer.next = owing_;
    payer.previous = owing_->previous;
    payer.previous->next = &payer;
    owing_->previous = &payer;
}

void Frames::drop_if_empty(Unclean& payer) {
    if (payer.frames.count != 0 || payer.next == nullptr) return;
    if (owing_ == &payer) owing_ = payer.next == &payer ? nullptr : payer.next;
    payer.previous->next = payer.next;
    payer.next->previous = payer.previous;
    payer.next = payer.previous = nullptr;
}

void Frames::owe(Unclean* payer) {
    splice(freed_, payer == nullptr ? unowed_ : payer->frames);
    if (payer != nullptr) enlist(*payer);
}

void Frames::move(Unclean& from, Unclean* to) {
    splice(from.frames, to == nullptr ? unowed_ : to->frames);
    drop_if_empty(from);
    if (to != nullptr) enlist(*to);
}

FrameNumber Frames::take_out(Unclean& payer) {
    const u32 index = pop(payer.frames);
    drop_if_empty(payer);
    --free_;
    ++out_;
    return frame_of(index);
}

void Frames::put_clean(FrameNumber frame) {
    push(clean_, index_of(frame));
    ++free_;
    --out_;
}

void Frames::zero(Port& port, FrameNumber frame) {
    fill_zero(port.frame_pointer(frame));
}

FrameNumber Frames::take(Port& port) {
    if (free() == 0) return FrameNumber{0};
    if (clean_.count != 0) {
        const FrameNumber frame = frame_of(pop(clean_));
        --free_;
        check_unmapped(port, frame);
        check_clean(port.frame_pointer(frame));
        return frame;
    }
    u32 index = 0;
    if (freed_.count != 0) {
        index = pop(freed_);
        --free_;
    } else if (unowed_.count != 0) {
        index = pop(unowed_);
        --free_;
    } else if (Unclean* payer = owing_; payer != nullptr) {
        index = pop(payer->frames);
        drop_if_empty(*payer);
        --free_;
    } else {
        for (u32 level = level_count_; level-- > 0;)
            index = index * kWordBits + static_cast<u32>(std::countr_zero(levels_[level][index]));
        RAVELIN_ASSERT(is_free(index));
        remove(index);
    }
    const FrameNumber frame = frame_of(index);
    check_unmapped(port, frame);
    zero(port, frame);
    return frame;
}

bool Frames::take_exact(FrameNumber frame) {
    const u32 index = index_of(frame);
    if (index == kNone || !is_free(index)) return false;
    remove(index);
    return true;
}

void Frames::give(FrameNumber frame) {
    const u32 index = index_of(frame);
    RAVELIN_ASSERT(index != kNone && !is_free(index) && links_[index] == kNotGiven);
    RAVELIN_ASSERT(frame.value != 0 && frame.value - state_.first.value >= state_.count);
    notes_[index] = 0;
    push(freed_, index);
    ++free_;
}

}  // namespace ravelin
