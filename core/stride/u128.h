// A 128-bit unsigned number for passes: added to, subtracted from and compared, never wrapping.
// rv32 has no __int128, and a pass needs no more than this. Every operation that could leave the
// range saturates (arithmetic cannot stop the kernel).
#pragma once

#include <compare>

#include "core/types.h"

namespace ravelin {

struct U128 {
    u64 high = 0;
    u64 low = 0;

    constexpr U128() = default;
    constexpr explicit U128(u64 value) : low(value) {}
    constexpr U128(u64 high_half, u64 low_half) : high(high_half), low(low_half) {}

    static constexpr U128 max() { return {~u64{0}, ~u64{0}}; }

    constexpr auto operator<=>(const U128&) const = default;

    /// The sum, or max() if it does not fit.
    constexpr U128 plus(U128 other) const {
        U128 sum{high + other.high, low + other.low};
        bool carry = sum.low < low;
        bool over = sum.high < high;
        sum.high += carry;
        over |= carry && sum.high == 0;
        return over ? max() : sum;
    }
    constexpr U128 plus(u64 other) const {
        U128 sum{high, low + other};
        sum.high += sum.low < low;
        return sum.high < high ? max() : sum;
    }

    /// The difference, or 0 if `other` is larger.
    constexpr U128 minus(U128 other) const {
        if (*this <= other) return U128{};
        return {high - other.high - (low < other.low), low - other.low};
    }

    /// The product with a 32-bit number, or max() if it does not fit.
    constexpr U128 times(u32 factor) const {
        const u64 mask = 0xffffffff;
        u64 a = (low & mask) * factor;
        u64 b = (low >> 32) * factor + (a >> 32);
        u64 c = (high & mask) * factor + (b >> 32);
        u64 d = (high >> 32) * factor + (c >> 32);
        if (d >> 32 != 0) return max();
        return {(d << 32) | (c & mask), (b << 32) | (a & mask)};
    }

    struct Divided;
    /// Quotient and remainder by a 32-bit number, which is not 0: long division by 32-bit digits.
    constexpr Divided divided(u32 divisor) const;
};

struct U128::Divided {
    U128 quotient;
    u32 remainder = 0;
};

constexpr U128::Divided U128::divided(u32 divisor) const {
    const u64 mask = 0xffffffff;
    Divided out;
    u64 rest = high >> 32;
    u64 digit3 = rest / divisor;
    rest = (rest % divisor << 32) | (high & mask);
    u64 digit2 = rest / divisor;
    rest = (rest % divisor << 32) | (low >> 32);
    u64 digit1 = rest / divisor;
    rest = (rest % divisor << 32) | (low & mask);
    u64 digit0 = rest / divisor;
    out.quotient = {(digit3 << 32) | digit2, (digit1 << 32) | digit0};
    out.remainder = static_cast<u32>(rest % divisor);
    return out;
}

}  // namespace ravelin
