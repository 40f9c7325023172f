// F6: a task that sleeps sheds the debt it owes. Here it keeps its pass: nine tenths of a slice and
// a nap of a tick, over and over, gets no more than its weight's share.
#include <gtest/gtest.h>

#include "tests/regress/race.h"

namespace ravelin::regress {
namespace {

TEST(SleepGaming, NineTenthsOfASliceAndATickOfSleepGetNoMoreThanTheWeightsShare) {
    for (const u32 weight : {100U, 300U}) {
        Race race;
        const u64 victim = race.add(100, spin);
        const u64 gamer = race.add(weight, [] { return Turn{.run = kSlice * 9 / 10, .sleep = 1}; });
        race.go(100 * kSlice);
        race.forget();
        race.go(10'000 * kSlice);
        EXPECT_LE(race.share(gamer), weight * 1000 / (weight + 100) + 1);
        EXPECT_GT(race.share(victim), 200U);
        EXPECT_GT(race.share(gamer), 300U);
    }
}

}  // namespace
}  // namespace ravelin::regress
