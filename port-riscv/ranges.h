// Memory as a list of ranges: what boot takes the kernel's, the firmware's and the ramdisk's off.
//
// Invariant: the ranges are disjoint, none is empty, and their bases rise.
#pragma once

#include <span>

#include "core/types.h"

namespace ravelin::riscv {

/// Physical memory from `base` to `end`, both on page boundaries.
struct Range {
    u64 base = 0;
    u64 end = 0;
};

/// A list of disjoint ranges in rising order.
class Ranges {
  public:
    static constexpr u32 kMost = 32;

    /// Adds a range that overlaps none that is there. False if the list is full.
    bool add(Range range) noexcept;
    /// Takes a range off whatever it overlaps. False if that needs more room than there is.
    bool subtract(Range range) noexcept;

    std::span<Range> view() noexcept { return {ranges_, count_}; }

  private:
    bool insert(u32 place, Range range) noexcept;

    Range ranges_[kMost];
    u32 count_ = 0;
};

}  // namespace ravelin::riscv
