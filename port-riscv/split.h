// A 64-bit register that a 32-bit hart reads and writes by halves.
//
// Rule: a reader sees a value that the register had while it was read: high is read again until no carry
// fell between the halves. A compare register holds no halves but the old value's and the new one's, and never
// a value below both, at which an interrupt would fire that nobody armed: the half goes first that keeps it
// late. (Raising low to all ones meanwhile would do, too. But an emulator that a debugger stops there goes on
// at the timer it finds, up to 2^32 ticks later.) The accesses are functions, so that a test on any machine sees
// their order.
#pragma once

#include <cstdint>

namespace ravelin::riscv {

/// Reads through `low` and `high`, which each read one half of the register.
template <class Low, class High>
constexpr std::uint64_t read_halves(Low low, High high) noexcept {
    for (;;) {
        const std::uint32_t before = high();
        const std::uint32_t value = low();
        if (high() == before) return std::uint64_t{before} << 32 | value;
    }
}

/// Writes `value` through `low` and `high`, which each write one half of the register; its high half is `old`.
template <class Low, class High>
constexpr void write_compare(std::uint64_t value, std::uint32_t old, Low low, High high) noexcept {
    const auto next = static_cast<std::uint32_t>(value >> 32);
    if (next > old) high(next);
    low(static_cast<std::uint32_t>(value));
    if (next < old) high(next);
}

}  // namespace ravelin::riscv
