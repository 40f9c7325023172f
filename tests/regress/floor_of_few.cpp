// F9: the least clock is taken from the wrong element when few are queued. Here: of one entry, of
// two in either order, and of none.
#include <gtest/gtest.h>

#include "tests/regress/race.h"

namespace ravelin::regress {
namespace {

TEST(FloorOfFew, OfOneItIsThatOnesPassWhetherItRunsOrWaits) {
    Wiring wiring(1);
    Wiring::Budget& one = wiring.create_root(1, 1, U128{700});
    wiring.ready(one);
    wiring.reconcile();
    EXPECT_EQ(wiring.queue().floor(), U128{700});
    wiring.pick(0);
    wiring.run(0, Ticks{3});
    wiring.deschedule(0, true);
    wiring.reconcile();
    EXPECT_EQ(wiring.queue().floor(), U128{700 + (u64{3} << 20)});
    wiring.pick(0);
    wiring.deschedule(0, false);
    wiring.reconcile();
    EXPECT_EQ(wiring.queue().floor(), U128{700 + (u64{4} << 20)});
    EXPECT_TRUE(wiring.queue().empty());
}

TEST(FloorOfFew, OfTwoItIsTheLowersWhicheverCameFirst) {
    for (const bool lower_first : {true, false}) {
        Wiring wiring(1);
        Wiring::Budget& low = wiring.create_root(1, 1, U128{100});
        Wiring::Budget& high = wiring.create_root(2, 1, U128{900});
        for (Wiring::Budget* next : {lower_first ? &low : &high, lower_first ? &high : &low}) {
            wiring.ready(*next);
        }
        wiring.reconcile();
        EXPECT_EQ(wiring.queue().floor(), U128{100});
        ASSERT_EQ(wiring.pick(0), &low);
        wiring.run(0, Ticks{1});
        wiring.deschedule(0, true);
        wiring.reconcile();
        EXPECT_EQ(wiring.queue().floor(), U128{900});
        ASSERT_EQ(wiring.pick(0), &high);
        wiring.deschedule(0, false);
        wiring.reconcile();
        EXPECT_EQ(wiring.queue().floor(), low.entity.pass);
    }
}

}  // namespace
}  // namespace ravelin::regress
