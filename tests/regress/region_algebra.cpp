// D10: regions of a device tree come unsorted or overlap, and what is reserved stays in the kernel's memory.
// Here sums and differences of ranges are compared with a set of cells, in any order.
#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <random>
#include <vector>

#include "port-riscv/ranges.h"

namespace ravelin::riscv {
namespace {

constexpr u32 kCells = 96;
using Cells = std::bitset<kCells>;

class RegionAlgebra : public testing::TestWithParam<u64> {
  protected:
    Range some() {
        const u64 base = random() % kCells;
        const u64 most = random() % 8 == 0 ? kCells : 12;
        return {base, std::min(base + random() % most, u64{kCells})};
    }
    static Cells cells_of(Range range) {
        Cells cells;
        for (u64 cell = range.base; cell < range.end; ++cell)
            cells.set(static_cast<std::size_t>(cell));
        return cells;
    }
    void expect_same() {
        Cells found;
        u64 last = 0;
        for (const Range& range : ranges.view()) {
            EXPECT_LT(range.base, range.end);
            EXPECT_GE(range.base, last) << "out of order";
            EXPECT_EQ(found & cells_of(range), Cells{}) << "a cell twice";
            found |= cells_of(range);
            last = range.end;
        }
        EXPECT_EQ(found, cells);
    }

    std::mt19937_64 random{GetParam()};
    Ranges ranges;
    Cells cells;
};

TEST_P(RegionAlgebra, IsThatOfSets) {
    for (u32 step = 0; step < 200; ++step) {
        const Range range = some();
        if (random() % 2 == 0 && (cells & cells_of(range)).none()) {
            ASSERT_TRUE(ranges.add(range));
            cells |= cells_of(range);
        } else {
            ASSERT_TRUE(ranges.subtract(range));
            cells &= ~cells_of(range);
        }
        expect_same();
    }
}

// What is left does not hang on the order in which banks and reserved regions are named.
TEST_P(RegionAlgebra, TheOrderDoesNotShow) {
    std::vector<Range> reserved;
    for (u32 count = 0; count < 10; ++count)
        reserved.push_back(some());
    std::vector<Range> banks = {{0, 20}, {20, 48}, {56, 80}, {80, kCells}};
    Cells last;
    for (u32 round = 0; round < 4; ++round) {
        ranges = {};
        cells = {};
        for (const Range& bank : banks) {
            ASSERT_TRUE(ranges.add(bank));
            cells |= cells_of(bank);
        }
        for (const Range& range : reserved) {
            ASSERT_TRUE(ranges.subtract(range));
            cells &= ~cells_of(range);
        }
        expect_same();
        EXPECT_TRUE(round == 0 || cells == last);
        last = cells;
        std::shuffle(banks.begin(), banks.end(), random);
        std::shuffle(reserved.begin(), reserved.end(), random);
    }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RegionAlgebra, testing::Range(u64{1}, u64{201}));

TEST(RegionAlgebraBounds, AFullListIsTold) {
    Ranges ranges;
    ASSERT_TRUE(ranges.add({0, 4 * Ranges::kMost}));
    for (u64 hole = 1; hole < Ranges::kMost; ++hole)
        ASSERT_TRUE(ranges.subtract({4 * hole, 4 * hole + 1}));
    EXPECT_EQ(ranges.view().size(), Ranges::kMost);
    EXPECT_FALSE(ranges.subtract({2, 3}));
    EXPECT_FALSE(ranges.add({4 * Ranges::kMost, 4 * Ranges::kMost + 1}));
}

}  // namespace
}  // namespace ravelin::riscv
