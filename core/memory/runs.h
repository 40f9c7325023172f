// The search for free pages of an area: a map of one bit a page, read a word at a time.
//
// Rule: a call's time depends neither on how much it asks for nor on what others hold: the search is linear in the area, which has
// a fixed size (R12), and never in the length sought.
// Bound: next_fit reads each word of the map once, and the words of at most `length` pages behind the cursor a second time. A word
// costs a constant plus, only where it holds a run of free pages long enough to go on, two operations for each doubling of it.
#pragma once

#include <bit>
#include <limits>

#include "core/types.h"

namespace ravelin {

inline constexpr u32 kRunBits = std::numeric_limits<Word>::digits;
inline constexpr u32 kNoRun = ~u32{0};

/// The lowest `length` pages in a row within [begin, end) that are free, or kNoRun. word_at(i) gives word i of the map: bit j of it
/// is set if page i * kRunBits + j is used. length is at least 1.
template <class WordAt>
u32 first_fit(const WordAt& word_at, u32 begin, u32 end, u32 length) {
    if (begin >= end) return kNoRun;
    constexpr Word kAll = ~Word{0};
    u32 run = 0;  // free pages just before the word
    for (u32 at = begin - begin % kRunBits; at < end; at += kRunBits) {
        Word used = word_at(at / kRunBits);
        if (at < begin) used |= (Word{1} << (begin - at)) - 1;
        if (end - at < kRunBits) used |= kAll << (end - at);

        if (used == 0) {
            run += kRunBits;
            if (run >= length) return at + kRunBits - run;
            continue;
        }
        const bool goes_on = run != 0 && (used & 1) == 0;
        if (goes_on && run + static_cast<u32>(std::countr_zero(used)) >= length) return at - run;
        if (length < kRunBits) {
            // Bit j of `free` stays set while the `known` pages from j on are free.
            Word free = ~used;
            for (u32 known = 1; free != 0 && known < length;) {
                const u32 step = known < length - known ? known : length - known;
                free &= free >> step;
                known += step;
            }
            if (free != 0) return at + static_cast<u32>(std::countr_zero(free));
        }
        run = used >> (kRunBits - 1) != 0 ? 0 : static_cast<u32>(std::countl_zero(used));
    }
    return kNoRun;
}

/// As first_fit in an area of `pages` pages, looking from `cursor` to the area's end first, then from its start.
template <class WordAt>
u32 next_fit(const WordAt& word_at, u32 pages, u32 cursor, u32 length) {
    if (length > pages) return kNoRun;
    const u32 found = first_fit(word_at, cursor, pages, length);
    if (found != kNoRun) return found;
    // A run that begins before the cursor may go on behind it.
    const u32 end = length - 1 < pages - cursor ? cursor + (length - 1) : pages;
    return first_fit(word_at, 0, end, length);
}

}  // namespace ravelin
