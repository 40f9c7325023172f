// Units and widths as types, so that ticks, microseconds, weights, harts and frames cannot be mixed
// up.
#pragma once

#include <compare>
#include <cstdint>

namespace ravelin {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

/// A number that fills one register of the machine the kernel runs on.
using Word = std::uintptr_t;

/// A count or a point of the timebase clock. Points start at the kernel's own boot or before it.
struct Ticks {
    u64 value = 0;

    constexpr auto operator<=>(const Ticks&) const = default;
    constexpr Ticks operator+(Ticks other) const { return {value + other.value}; }
    constexpr Ticks operator-(Ticks other) const { return {value - other.value}; }
    constexpr Ticks& operator+=(Ticks other) {
        value += other.value;
        return *this;
    }
};

/// The point that never comes: no timer is armed for it.
inline constexpr Ticks kNever{~u64{0}};

/// Microseconds since the kernel's boot, or a length of time.
struct Micros {
    u64 value = 0;

    constexpr auto operator<=>(const Micros&) const = default;
};

/// A timeout or deadline that never passes.
inline constexpr Micros kForever{~u64{0}};

/// A budget's weight: a share relative to other weights, 32 bits wide.
struct Weight {
    u32 value = 0;

    constexpr auto operator<=>(const Weight&) const = default;
    constexpr Weight operator+(Weight other) const { return {value + other.value}; }
    constexpr Weight operator-(Weight other) const { return {value - other.value}; }
};

/// A hart's place in the kernel's own dense table, the boot hart first. Never a hardware hart id.
struct HartIndex {
    u32 value = 0;

    constexpr auto operator<=>(const HartIndex&) const = default;
};

/// A set of harts, one bit an index.
struct HartMask {
    u32 bits = 0;

    static constexpr HartMask of(HartIndex hart) { return {u32{1} << hart.value}; }
    constexpr bool has(HartIndex hart) const { return (bits >> hart.value & 1) != 0; }
    constexpr bool empty() const { return bits == 0; }
    constexpr bool operator==(const HartMask&) const = default;
};

/// A 4 KiB frame of RAM by its number; 0 names no frame.
struct FrameNumber {
    u32 value = 0;

    constexpr auto operator<=>(const FrameNumber&) const = default;
};

/// Most harts one kernel runs.
inline constexpr u32 kMaxHarts = 8;

inline constexpr u32 kPageSize = 4096;

}  // namespace ravelin
