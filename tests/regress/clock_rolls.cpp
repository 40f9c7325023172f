// T2: a clock of 64 bits is read by halves, the low half rolls over between the reads, and time jumps by
// 2^32 ticks, forward or back. Here the high half is read again until it stood still around the low one.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "port-riscv/split.h"

namespace ravelin::test {
namespace {

/// A clock that goes on by a stated amount after each read.
struct Clock {
    std::uint64_t now;
    std::vector<std::uint64_t> steps;  ///< after the first reads; none after the others
    std::size_t reads = 0;

    std::uint64_t tick() {
        const std::uint64_t was = now;
        now += reads < steps.size() ? steps[reads] : 0;
        ++reads;
        return was;
    }
    std::uint64_t read() {
        return riscv::read_halves([this] { return static_cast<std::uint32_t>(tick()); },
                                  [this] { return static_cast<std::uint32_t>(tick() >> 32); });
    }
};

TEST(ClockRolls, AtAnyOfTheReads) {
    constexpr std::uint64_t kHigh[] = {0, 1, 0x7fff'ffff, 0xffff'fffe};
    constexpr std::uint64_t kBefore = 3;  // ticks before the roll
    for (const std::uint64_t high : kHigh) {
        const std::uint64_t start = (high << 32 | 0xffff'ffff) - kBefore;
        for (std::size_t rolls_after = 0; rolls_after < 6; ++rolls_after) {
            Clock clock{.now = start, .steps = std::vector<std::uint64_t>(6, 0)};
            clock.steps[rolls_after] = kBefore + 1;
            const std::uint64_t read = clock.read();
            EXPECT_TRUE(read == start || read == start + kBefore + 1)
                << std::hex << read << " between " << start << " and " << clock.now;
        }
    }
}

TEST(ClockRolls, ItNeverGoesBack) {
    // Fast enough that the high half moves at every seventh read or so.
    Clock clock{.now = 0xffff'ff00, .steps = std::vector<std::uint64_t>(4'000, 0x2492'4925)};
    std::uint64_t last = 0;
    while (clock.reads + 8 < clock.steps.size()) {
        const std::uint64_t before = clock.now;
        const std::uint64_t read = clock.read();
        EXPECT_GE(read, before);
        EXPECT_LE(read, clock.now);
        EXPECT_GT(read, last);
        last = read;
    }
}

}  // namespace
}  // namespace ravelin::test
