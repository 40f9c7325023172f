// F15: a newborn's key is 0 and it runs ahead of all. Here it enters at its parent's pass or the
// floor, whichever is higher, and making children buys no turn.
#include <gtest/gtest.h>

#include "tests/regress/race.h"

namespace ravelin::regress {
namespace {

TEST(NewbornEntry, IsTheHigherOfTheParentsPassAndTheFloor) {
    Wiring wiring(1);
    Wiring::Budget& ahead = wiring.create_root(1, 100, U128{9000});
    Wiring::Budget& behind = wiring.create_root(2, 100, U128{10});
    Wiring::Budget& holder = wiring.create_root(3, 100, U128{500});
    wiring.ready(holder);
    wiring.reconcile();
    ASSERT_EQ(wiring.queue().floor(), U128{500});
    EXPECT_EQ(wiring.create(4, ahead, 0).entity.pass, U128{9000});
    EXPECT_EQ(wiring.create(5, behind, 0).entity.pass, U128{500});
    EXPECT_EQ(wiring.budget(5).entity.entry, U128{500});
}

TEST(NewbornEntry, CountsWhatItsParentRanUpToNow) {
    Wiring wiring(1);
    Wiring::Budget& parent = wiring.create_root(1, 4, U128{});
    wiring.ready(parent);
    wiring.reconcile();
    wiring.pick(0);
    wiring.run(0, Ticks{8});
    EXPECT_EQ(wiring.create(2, parent, 1).entity.pass, U128{u64{2} << 20});
}

TEST(NewbornEntry, IsNotAheadOfThoseWhoWait) {
    Wiring wiring(1);
    Wiring::Budget& parent = wiring.create_root(1, 100, U128{});
    Wiring::Budget& victim = wiring.create_root(2, 50, U128{});
    wiring.ready(parent);
    wiring.ready(victim);
    wiring.reconcile();
    ASSERT_EQ(wiring.pick(0), &parent);
    wiring.run(0, Ticks{kSlice});
    Wiring::Budget& child = wiring.create(3, parent, 50);
    wiring.ready(child);
    wiring.deschedule(0, true);
    wiring.reconcile();
    EXPECT_EQ(wiring.pick(0), &victim);
}

}  // namespace
}  // namespace ravelin::regress
