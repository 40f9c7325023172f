// Sums and differences of memory ranges; see ranges.h. Bound: kMost ranges.

#include "port-riscv/ranges.h"

namespace ravelin::riscv {

bool Ranges::insert(u32 place, Range range) noexcept {
    if (range.base >= range.end) {
        return true;
    }
    if (count_ == kMost) {
        return false;
    }
    for (u32 i = count_++; i > place; --i) {
        ranges_[i] = ranges_[i - 1];
    }
    ranges_[place] = range;
    return true;
}

bool Ranges::add(Range range) noexcept {
    u32 place = 0;
    while (place < count_ && ranges_[place].base < range.base) {
        ++place;
    }
    return insert(place, range);
}

bool Ranges::subtract(Range range) noexcept {
    for (u32 i = 0; i < count_;) {
        Range& piece = ranges_[i];
        const Range above{range.end > piece.base ? range.end : piece.base, piece.end};
        if (range.base >= piece.end || range.end <= piece.base) {
            ++i;
            continue;
        }
        if (range.base > piece.base) {
            piece.end = range.base;
            if (!insert(i + 1, above)) {
                return false;
            }
            ++i;
        } else if (above.base < above.end) {
            piece = above;
        } else {
            for (u32 j = i; j + 1 < count_; ++j) {
                ranges_[j] = ranges_[j + 1];
            }
            --count_;
        }
    }
    return true;
}

}  // namespace ravelin::riscv
