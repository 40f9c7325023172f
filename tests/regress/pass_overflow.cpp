// F5: progress kept in 64 bits overflows. Here passes are 128 bits wide: a race that starts where a
// signed 128-bit number would turn over goes as one from 0, and the lightest budget may run for
// 10^12 years.
#include <gtest/gtest.h>

#include "tests/regress/race.h"

namespace ravelin::regress {
namespace {

TEST(PassOverflow, ARaceAcrossTheMiddleOfTheRangeGoesAsOneFromZero) {
    const U128 near{(u64{1} << 63) - (u64{1} << 16), 0};  // 2^127 - 2^80
    Race low(1);
    Race high(1, near);
    for (Race* race : {&low, &high}) {
        race->add(1, spin);
        race->add(3, spin);
        race->add(2, [] { return Turn{.run = 3000, .sleep = 20'000}; });
        race->go(3000 * kSlice);
    }
    for (u64 id = 2; id <= 4; ++id)
        EXPECT_EQ(low.got(id), high.got(id));
    EXPECT_NEAR(static_cast<double>(low.got(3)), 3.0 * static_cast<double>(low.got(2)),
                6.0 * kSlice);
}

TEST(PassOverflow, KeysThatSpanTheMiddleAreInOrder) {
    const U128 middle{u64{1} << 63, 0};
    Wiring wiring(1);
    Wiring::Budget& above = wiring.create_root(1, 1, middle.plus(5));
    Wiring::Budget& below = wiring.create_root(2, 1, middle.minus(U128{5}));
    wiring.ready(above);
    wiring.ready(below);
    wiring.reconcile();
    EXPECT_EQ(wiring.pick(0), &below);
}

TEST(PassOverflow, TheLightestBudgetRunsATrillionYears) {
    const u64 seconds_a_year = 31'557'600;
    const u64 ticks_a_second = 10'000'000;
    const U128 passes = U128{1'000'000'000'000}
                            .times(static_cast<u32>(seconds_a_year))
                            .times(static_cast<u32>(ticks_a_second))
                            .times(u32{1} << 20);
    EXPECT_LT(passes, U128::max());
    EXPECT_GT(passes.plus(U128{stride::kRuntimeCap}.times(u32{1} << 20)), passes);
}

}  // namespace
}  // namespace ravelin::regress
