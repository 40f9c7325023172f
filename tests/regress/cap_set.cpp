// F24: a budget that cannot use its share lags, holds the floor down, and whoever wakes enters far
// behind the others and takes their harts. Here the capped are left out of the floor, and cannot
// bank what they had no thread to run. (Every small cap set: tests/unit/stride/caps_test.cpp.)
#include <gtest/gtest.h>

#include "tests/regress/race.h"

namespace ravelin::regress {
namespace {

TEST(CapSet, ALateJoinerSharesAHartBesideACappedBudget) {
    Race race(2);
    const u64 heavy = race.add(1000, spin);
    const u64 light = race.add(100, spin);
    const u64 late = race.add(100, spin, 5000 * kSlice);
    race.go(5001 * kSlice);
    race.forget();
    race.go(1000 * kSlice);
    EXPECT_NEAR(static_cast<double>(race.got(heavy)), 1000.0 * kSlice, 2.0 * kSlice);
    EXPECT_NEAR(static_cast<double>(race.got(light)), 500.0 * kSlice, 3.0 * kSlice);
    EXPECT_NEAR(static_cast<double>(race.got(late)), 500.0 * kSlice, 3.0 * kSlice);
}

TEST(CapSet, NoBudgetIsPaidBackForTimeNoOneElseWanted) {
    // Fewer threads than harts: all are capped, and none may bank the time.
    Race race(3);
    const u64 heavy = race.add(1000, spin);
    const u64 light = race.add(10, spin);
    for (int more = 0; more < 3; ++more)
        race.add(1000, spin, 4000 * kSlice);
    race.go(4001 * kSlice);
    race.forget();
    race.go(3000 * kSlice);
    // Four budgets of 1000 and one of 10 on three harts.
    EXPECT_NEAR(static_cast<double>(race.got(heavy)), 3000.0 * 3 * 1000 / 4010 * kSlice,
                5.0 * kSlice);
    EXPECT_NEAR(static_cast<double>(race.got(light)), 3000.0 * 3 * 10 / 4010 * kSlice,
                3.0 * kSlice);
}

}  // namespace
}  // namespace ravelin::regress
