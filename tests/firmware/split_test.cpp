// Writing a 64-bit compare register by halves: the order, and that no value between is one at which
// an interrupt fires that nobody armed. A timer on the host stands for the register.

#include "port-riscv/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

using ravelin::riscv::read_halves;
using ravelin::riscv::write_compare;

/// A compare register whose halves are written apart; remembers every value it held.
struct Register {
    std::uint64_t value;
    std::vector<std::uint64_t> held;

    void write(std::uint64_t deadline) {
        write_compare(
            deadline, static_cast<std::uint32_t>(value >> 32),
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

TEST(SplitCompare, HoldsNoHalvesButTheOldAndTheNew) {
    constexpr std::uint64_t kValues[] = {0x0000000500000010, 0x0000000700000003,
                                         0x0000000500000003, 0x0000000700000010,
                                         0xFFFFFFFFFFFFFFFF, 0x00000000FFFFFFF0};
    for (const std::uint64_t before : kValues) {
        for (const std::uint64_t after : kValues) {
            Register reg{.value = before, .held = {}};
            reg.write(after);
            EXPECT_LE(reg.held.size(), 2U);
            for (const std::uint64_t held : reg.held) {
                EXPECT_TRUE(held >> 32 == before >> 32 || held >> 32 == after >> 32);
                const auto low = static_cast<std::uint32_t>(held);
                EXPECT_TRUE(low == static_cast<std::uint32_t>(before) ||
                            low == static_cast<std::uint32_t>(after));
            }
        }
    }
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
