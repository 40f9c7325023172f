// F12: sleepers shed what they owe by many short sleeps. Here a nap of any length from one tick to
// a thousand, after a run of any length, gains nothing over spinning.
#include <gtest/gtest.h>

#include <random>

#include "tests/regress/race.h"

namespace ravelin::regress {
namespace {

TEST(MicroSleeps, NapsOfOneToAThousandTicksGainNothing) {
    for (const u64 nap : {1U, 2U, 3U, 10U, 50U, 100U, 400U, 999U, 1000U}) {
        Race race;
        const u64 victim = race.add(100, spin);
        std::mt19937_64 random(nap);
        const u64 gamer = race.add(100, [&, nap] {
            return Turn{.run = 1 + random() % kSlice, .sleep = 1 + random() % nap};
        });
        race.go(50 * kSlice);
        race.forget();
        race.go(4000 * kSlice);
        EXPECT_LE(race.share(gamer), 501U) << "naps up to " << nap;
        EXPECT_GE(race.share(victim), 499U) << "naps up to " << nap;
    }
}

}  // namespace
}  // namespace ravelin::regress
