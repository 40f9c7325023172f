// F8: the least clock of the queue is not advanced, or by the wrong element. Here the floor never
// falls, and at one hart it is the lowest queued pass at the end of every entry that raised it.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "tests/regress/race.h"

namespace ravelin::regress {
namespace {

std::optional<U128> lowest_of(const Wiring& wiring) {
    std::optional<U128> lowest;
    wiring.queue().each([&](const stride::Entity& entity) {
        if (!lowest || entity.pass < *lowest) lowest = entity.pass;
    });
    return lowest;
}

void drive(u32 harts, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Wiring wiring(harts);
    const u64 budgets = 2 + random() % 8;
    for (u64 id = 1; id <= budgets; ++id) {
        wiring.create_root(id, static_cast<u32>(1 + random() % 5), U128{random() % 4 << 20});
    }
    U128 floor = wiring.queue().floor();
    for (int entry = 0; entry < 300; ++entry) {
        const u32 hart = static_cast<u32>(random() % harts);
        Wiring::Budget& some = wiring.budget(1 + random() % budgets);
        if (random() % 2 == 0 && some.entity.threads() < 3) wiring.ready(some);
        if (random() % 8 == 0 && some.entity.waiting != 0) wiring.unready(some);
        if (wiring.harts()[hart].runner != nullptr) {
            wiring.run(hart, Ticks{random() % 4});
            wiring.deschedule(hart, random() % 3 != 0);
        }
        wiring.reconcile();
        ASSERT_GE(wiring.queue().floor(), floor);
        floor = wiring.queue().floor();
        if (harts == 1) {
            const std::optional<U128> lowest = lowest_of(wiring);
            if (lowest) {
                ASSERT_EQ(floor, *lowest);
            }
        }
        if (wiring.harts()[hart].runner == nullptr) wiring.pick(hart);
    }
}

TEST(FloorNeverFalls, AndIsTheLowestQueuedPassAtOneHart) {
    for (std::uint64_t seed = 0; seed < 200; ++seed)
        ASSERT_NO_FATAL_FAILURE(drive(1, seed));
}

TEST(FloorNeverFalls, AtSeveralHarts) {
    for (u32 harts = 2; harts <= 4; ++harts) {
        for (std::uint64_t seed = 0; seed < 100; ++seed)
            ASSERT_NO_FATAL_FAILURE(drive(harts, seed));
    }
}

}  // namespace
}  // namespace ravelin::regress
