// A 64-bit compare register that a 32-bit hart writes by halves.
//
// Rule: at no moment may the register hold a value below both the old and the new one, or an
// interrupt fires that nobody armed. Low is first raised to all ones, then high, then low. Takes
// the two writes as functions, so that a test on any machine sees their order.

#pragma once

#include <cstdint>

namespace ravelin::firmware {

/// Writes `value` through `low` and `high`, which each write one half of the register.
template <class Low, class High>
constexpr void write_compare(std::uint64_t value, Low low, High high) noexcept {
    low(std::uint32_t{0xFFFFFFFF});
    high(static_cast<std::uint32_t>(value >> 32));
    low(static_cast<std::uint32_t>(value));
}

}  // namespace ravelin::firmware
