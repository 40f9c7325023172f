// Units and widths of a guest program, as types, so that ticks and microseconds cannot be mixed up.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace ravelin::rt {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/// A number that fills one register: a user address, a length, a handle.
using Word = std::uintptr_t;

/// A count or a point of the timebase clock, whose rate a program measures (see workload).
struct Ticks {
    u64 value = 0;

    constexpr auto operator<=>(const Ticks&) const = default;
    constexpr Ticks operator+(Ticks other) const { return {value + other.value}; }
    constexpr Ticks operator-(Ticks other) const { return {value - other.value}; }
};

/// Microseconds since the kernel's boot, or a length of time.
struct Micros {
    u64 value = 0;

    constexpr auto operator<=>(const Micros&) const = default;
    constexpr Micros operator+(Micros other) const { return {value + other.value}; }
    constexpr Micros operator-(Micros other) const { return {value - other.value}; }
};

/// A timeout or deadline that never passes.
inline constexpr Micros kForever{~u64{0}};

/// A length of time in milliseconds.
constexpr Micros milliseconds(u64 count) {
    return {count * 1'000};
}

inline constexpr Word kPageSize = 4096;

/// `length` rounded up to whole pages.
constexpr Word whole_pages(Word length) {
    return (length + kPageSize - 1) & ~(kPageSize - 1);
}

}  // namespace ravelin::rt
