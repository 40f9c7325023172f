// The common window of a workload, and the rate of the clock that it is stated in.
#pragma once

#include "user/rt/types.h"

namespace ravelin::workload {

using rt::Micros;
using rt::Ticks;
using rt::u32;
using rt::u64;
using rt::Word;

/// The slice that attacks are timed by: the kernel's default.
inline constexpr Micros kSlice{1'000};

/// A spinner's work between two looks at the clock: a fiftieth of a slice.
inline constexpr Micros kPiece{20};

/// From `start` to before `end`, on the timebase clock that all programs read alike.
struct Window {
    Ticks start;
    Ticks end;
};

/// How many ticks passed in how many microseconds: no call tells the clock's rate, so it is measured.
struct Rate {
    u64 ticks = 1;
    u64 micros = 1;

    /// `length` in ticks, rounded down. Bound: lengths under an hour.
    Ticks ticks_of(Micros length) const { return {length.value * ticks / micros}; }

    /// `length` in microseconds, rounded up. Bound: lengths under an hour.
    Micros micros_of(Ticks length) const { return {(length.value * micros + ticks - 1) / ticks}; }
};

}  // namespace ravelin::workload
