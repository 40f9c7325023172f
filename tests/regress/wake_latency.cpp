// F18: a thread that blocks briefly loses its place and is treated worse than one that spins. Here
// a waker that owes nothing is ahead of every requeued budget at the floor: it waits for no more
// than the slice that runs.
#include <gtest/gtest.h>

#include "tests/regress/race.h"

namespace ravelin::regress {
namespace {

TEST(WakeLatency, AWakerAtTheFloorIsAheadOfTheRequeuedThere) {
    Wiring wiring(1);
    for (u64 id = 1; id <= 4; ++id)
        wiring.ready(wiring.create_root(id, 1, U128{}));
    wiring.reconcile();
    // Each runs a tick: all are requeued at one pass, and that is the floor.
    for (u64 id = 1; id <= 4; ++id) {
        wiring.pick(0);
        wiring.run(0, Ticks{1});
        wiring.deschedule(0, true);
        wiring.reconcile();
    }
    Wiring::Budget& waker = wiring.create_root(9, 1, U128{});
    wiring.ready(waker);
    wiring.reconcile();
    EXPECT_EQ(waker.entity.pass, wiring.budget(1).entity.pass);
    EXPECT_EQ(wiring.pick(0), &waker);
}

TEST(WakeLatency, AShortBlockerRunsWithinASliceOfEachWake) {
    Race race;
    for (int spinner = 0; spinner < 8; ++spinner)
        race.add(100, spin);
    u64 last_start = 0;
    u64 longest = 0;
    // It runs 50 ticks every ten slices: far less than its share, so it owes nothing when it wakes.
    race.add(100, [&] {
        const u64 woke = last_start == 0 ? race.now() : last_start + 50 + 10 * kSlice;
        longest = std::max(longest, race.now() - std::min(race.now(), woke));
        last_start = race.now();
        return Turn{.run = 50, .sleep = 10 * kSlice};
    });
    race.go(20'000 * kSlice);
    EXPECT_GT(last_start, 19'900 * kSlice);
    EXPECT_LE(longest, kSlice);
}

}  // namespace
}  // namespace ravelin::regress
