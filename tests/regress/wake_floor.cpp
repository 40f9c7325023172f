// F1: a client that comes back from a long sleep has an old pass and starves the rest; the part of
// a quantum it had used is forgotten. Here it enters at the floor, and keeps its remainder.
#include <gtest/gtest.h>

#include "tests/regress/race.h"

namespace ravelin::regress {
namespace {

TEST(WakeFloor, ASleeperOfTenSecondsGainsAtMostASlice) {
    for (const u32 weight : {1U, 100U, 30'000U}) {
        Race race;
        const u64 spinner = race.add(weight, spin);
        u64 left = 3;  // turns before its long sleep
        const u64 sleeper = race.add(weight, [&]() -> Turn {
            if (left > 0 && --left == 0) return {.run = kSlice / 2, .sleep = 100'000'000};
            return {};
        });
        race.go(100'000'000);
        race.forget();
        u64 most = 0;
        for (int step = 0; step < 2000; ++step) {
            race.go(kSlice / 4);
            const u64 ahead =
                race.got(sleeper) > race.got(spinner) ? race.got(sleeper) - race.got(spinner) : 0;
            most = std::max(most, ahead);
        }
        EXPECT_GT(race.got(sleeper), 100 * kSlice) << "it never came back";
        EXPECT_LE(most, kSlice) << "weight " << weight;
    }
}

TEST(WakeFloor, TheUsedPartOfAPassUnitIsKeptThroughASleep) {
    Wiring wiring(1);
    // Heavier than a tick's worth: what a tick costs is all remainder.
    Wiring::Budget& budget = wiring.create_root(1, 0xffffffff, U128{});
    for (u32 run = 1; run <= 4096; ++run) {
        wiring.ready(budget);
        wiring.reconcile();
        wiring.pick(0);
        wiring.run(0, Ticks{1});
        wiring.deschedule(0, false);
        wiring.reconcile();
        const u64 cost = u64{run} << 20;
        ASSERT_EQ(budget.entity.pass, U128{cost / 0xffffffff});
        ASSERT_EQ(budget.entity.remainder, cost % 0xffffffff);
    }
}

}  // namespace
}  // namespace ravelin::regress
