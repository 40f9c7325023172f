// Writing a 64-bit compare register by halves: the order, and that no value between is one at which
// an interrupt fires that nobody armed. A timer on the host stands for the register.

#include "port-riscv/firmware/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

using ravelin::firmware::write_compare;

/// A compare register whose halves are written apart; remembers every value it held.
struct Register {
    std::uint64_t value;
    std::vector<std::uint64_t> held;

    void write(std::uint64_t deadline) {
        write_compare(
            deadline,
            [this](std::uint32_t low) {
                value = (value >> 32 << 32) | low;
                held.push_back(value);
            },
            [this](std::uint32_t high) {
                value = std::uint64_t{high} << 32 | (value & 0xFFFFFFFF);
                held.push_back(value);
            });
    }
};

TEST(SplitCompare, WritesAllOnesThenHighThenLow) {
    Register reg{.value = 0x0000000500000010, .held = {}};
    reg.write(0x0000000700000003);
    const std::vector<std::uint64_t> want = {0x00000005FFFFFFFF, 0x00000007FFFFFFFF,
                                             0x0000000700000003};
    EXPECT_EQ(reg.held, want);
}

TEST(SplitCompare, NeverHoldsAnEarlierDeadlineThanBothOldAndNew) {
    constexpr std::uint64_t kValues[] = {0,           1,           0xFFFFFFFF,         0x100000000,
                                         0x100000001, 0x1FFFFFFFF, 0x7FFFFFFFFFFFFFFF, ~0ULL};
    for (const std::uint64_t before : kValues) {
        for (const std::uint64_t after : kValues) {
            Register reg{.value = before, .held = {}};
            reg.write(after);
            EXPECT_EQ(reg.value, after);
            for (const std::uint64_t held : reg.held) {
                EXPECT_GE(held, std::min(before, after)) << before << " -> " << after;
            }
        }
    }
}

}  // namespace
