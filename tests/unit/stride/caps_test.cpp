// The cap set and the floor that leaves it out, against water-filling: every small case.
//
// The reference knows no order of testing. The level of the water is the least at which the demands
// fill the harts; a budget that may be capped takes at most its threads, every other as much as its
// weight draws. A budget is capped if the level stands above its threads over its weight, which is
// so if the demands at that very level do not fill the harts.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "tests/unit/stride/support.h"

namespace ravelin::stride {
namespace {

struct Claim {
    u64 weight;
    u64 threads;
    bool tested;
    Wide pass;
};

/// Place i is true if budget i is capped.
std::vector<bool> water_filling(const std::vector<Claim>& claims, u64 harts) {
    std::vector<bool> capped;
    for (const Claim& one : claims) {
        // Everything times one.weight, so that the level one.threads / one.weight is a whole
        // number.
        u64 drawn = 0;
        for (const Claim& claim : claims) {
            const u64 by_weight = claim.weight * one.threads;
            drawn += claim.tested ? std::min(by_weight, claim.threads * one.weight) : by_weight;
        }
        capped.push_back(harts > 1 && one.tested && drawn < harts * one.weight);
    }
    return capped;
}

Wide floor_of(const std::vector<Claim>& claims, const std::vector<bool>& capped) {
    std::optional<Wide> lowest;
    Wide highest = 0;
    for (std::size_t place = 0; place < claims.size(); ++place) {
        if (capped[place]) {
            highest = std::max(highest, claims[place].pass);
        } else if (!lowest || claims[place].pass < *lowest) {
            lowest = claims[place].pass;
        }
    }
    return lowest.value_or(highest);
}

/// What one budget of a case is made of.
struct Kind {
    u32 weight;
    u32 running;
    u32 waiting;
};

std::vector<Kind> kinds() {
    std::vector<Kind> all;
    for (u32 weight : {1U, 2U, 3U, 7U}) {
        for (u32 running = 0; running <= 2; ++running) {
            for (u32 waiting = running == 0 ? 1 : 0; waiting <= 1; ++waiting)
                all.push_back({weight, running, waiting});
        }
    }
    return all;
}

class Cases {
  public:
    explicit Cases(u32 harts) : harts_(harts) {}

    /// Every multiset of kinds of up to `most` budgets whose running threads the harts hold.
    void run(std::size_t most, std::size_t from = 0, u32 used = 0) {
        if (!chosen_.empty()) {
            ASSERT_NO_FATAL_FAILURE(check());
        }
        if (chosen_.size() == most) return;
        for (std::size_t kind = from; kind < kinds_.size(); ++kind) {
            if (used + kinds_[kind].running > harts_) continue;
            chosen_.push_back(kinds_[kind]);
            run(most, kind, used + kinds_[kind].running);
            chosen_.pop_back();
            if (testing::Test::HasFatalFailure()) return;
        }
    }
    u64 checked() const { return checked_; }

  private:
    void check() {
        ++checked_;
        Queue& queue = *queue_;
        Crowd crowd;
        const Wide base = wide(queue.floor());
        queue.set_harts(harts_);
        for (std::size_t place = 0; place < chosen_.size(); ++place) {
            const Kind& kind = chosen_[place];
            // Not in the order of the weights: the lowest pass is of any of them.
            Entity& entity = crowd.add(kind.weight, base + 1 + (place * 7 + checked_) % 5);
            wake_with(queue, entity, kind.running + kind.waiting);
            for (u32 thread = 0; thread < kind.running; ++thread)
                queue.run(entity);
        }
        ASSERT_NO_FATAL_FAILURE(judge(queue, crowd, base));
        // A thread more for one of them: it stays tested if it was capped.
        Entity& grown = crowd[checked_ % crowd.size()];
        queue.add_waiting(grown);
        ASSERT_NO_FATAL_FAILURE(judge(queue, crowd, wide(queue.floor())));
        for (std::size_t place = 0; place < crowd.size(); ++place) {
            while (crowd[place].waiting != 0)
                queue.drop_waiting(crowd[place]);
            while (crowd[place].running != 0)
                queue.stop(crowd[place], false);
            if (crowd[place].queued()) queue.leave(crowd[place]);
        }
        ASSERT_TRUE(queue.empty());
    }

    void judge(Queue& queue, Crowd& crowd, Wide before) {
        std::vector<Claim> claims;
        std::vector<bool> was;
        for (std::size_t place = 0; place < crowd.size(); ++place) {
            const Entity& entity = crowd[place];
            claims.push_back({entity.weight, entity.threads(), entity.capped || entity.waiting == 0,
                              wide(entity.pass)});
            was.push_back(entity.capped);
        }
        const std::vector<bool> capped = water_filling(claims, harts_);
        u64 threads = 0;
        for (std::size_t place = 0; place < claims.size(); ++place) {
            if (was[place] && !capped[place]) {
                const Wide target = before - wide(crowd[place].lag);
                claims[place].pass = std::max(claims[place].pass, target);
            }
            threads += capped[place] ? claims[place].threads : 0;
        }
        const Wide floor = std::max(before, floor_of(claims, capped));
        queue.raise();
        for (std::size_t place = 0; place < claims.size(); ++place) {
            const Entity& entity = crowd[place];
            ASSERT_EQ(entity.capped, capped[place]) << describe(place);
            ASSERT_EQ(wide(entity.pass), claims[place].pass) << describe(place);
            if (entity.capped && !was[place]) {
                ASSERT_EQ(wide(entity.lag), floor - std::min(floor, wide(entity.pass)))
                    << describe(place);
            }
        }
        ASSERT_EQ(wide(queue.floor()), floor) << describe(0);
        ASSERT_LT(threads, std::max(harts_, 2U)) << describe(0);
        ASSERT_TRUE(queue.consistent()) << describe(0);
    }

    std::string describe(std::size_t at) const {
        std::string text =
            "harts " + std::to_string(harts_) + ", budget " + std::to_string(at) + " of";
        for (const Kind& kind : chosen_) {
            text += " {w " + std::to_string(kind.weight) + ", running " +
                    std::to_string(kind.running) + ", waiting " + std::to_string(kind.waiting) +
                    "}";
        }
        return text;
    }

    u32 harts_;
    u64 checked_ = 0;
    std::vector<Kind> kinds_ = kinds();
    std::vector<Kind> chosen_;
    std::unique_ptr<Queue> queue_ = std::make_unique<Queue>();
};

class Caps : public testing::TestWithParam<u32> {};

TEST_P(Caps, AreWhatWaterFillingGivesInEverySmallCase) {
    Cases cases(GetParam());
    cases.run(5);
    EXPECT_GT(cases.checked(), 100U);
}

INSTANTIATE_TEST_SUITE_P(Harts, Caps, testing::Range(1U, kMaxHarts + 1));

TEST(Cap, HugeWeightsAreComparedExactly) {
    Queue queue;
    queue.set_harts(2);
    Crowd crowd;
    // w * H against k * W: 2 * 0xffffffff against 2 * 0xffffffff at equal weights, and one more on
    // one side.
    wake_with(queue, crowd.add(0xffffffff));
    wake_with(queue, crowd.add(0xffffffff));
    pick_and_run(queue);
    pick_and_run(queue);
    queue.raise();
    EXPECT_FALSE(crowd[0].capped);
    EXPECT_FALSE(crowd[1].capped);
    queue.reweigh(crowd[1], 0xfffffffe);
    queue.raise();
    EXPECT_TRUE(crowd[0].capped);
    EXPECT_FALSE(crowd[1].capped);
}

TEST(Cap, ABudgetThatLeavesTheQueueLosesTheMark) {
    Queue queue;
    queue.set_harts(2);
    Crowd crowd;
    Entity& heavy = crowd.add(9);
    wake_with(queue, heavy);
    wake_with(queue, crowd.add(1, 5), 2);
    pick_and_run(queue);
    pick_and_run(queue);
    queue.raise();
    ASSERT_TRUE(heavy.capped);
    deschedule(queue, heavy, Ticks{1}, false);
    EXPECT_FALSE(heavy.capped);
    EXPECT_FALSE(heavy.queued());
}

// The light one led by a pass or two, and its weight went: the lead is a million times as long.
TEST(Cap, TheLagKeptIsASliceOnEveryHart) {
    Queue queue;
    queue.set_harts(2);
    queue.set_slice(Ticks{50});
    Crowd crowd;
    Entity& heavy = crowd.add(9, 100);
    Entity& light = crowd.add(1, 1'000 * kStride);
    wake_with(queue, heavy);
    wake_with(queue, light, 2);
    pick_and_run(queue);
    pick_and_run(queue);
    queue.raise();
    ASSERT_TRUE(heavy.capped);
    queue.add_waiting(heavy);
    for (int thread = 0; thread < 20; ++thread)
        queue.add_waiting(heavy);
    queue.raise();
    EXPECT_FALSE(heavy.capped);
    EXPECT_EQ(heavy.pass, U128{1'000 * kStride - 2 * 50 * kStride / 9});
}

TEST(Cap, TheLiftKeepsTheLagAndForfeitsTheRest) {
    Queue queue;
    queue.set_harts(2);
    Crowd crowd;
    Entity& heavy = crowd.add(9, 100);
    Entity& light = crowd.add(1, 130);
    wake_with(queue, heavy);
    wake_with(queue, light, 2);
    pick_and_run(queue);
    pick_and_run(queue);
    queue.raise();
    ASSERT_TRUE(heavy.capped);
    // It is left out, so the floor is the other's, and it stood 30 below.
    EXPECT_EQ(queue.floor(), U128{130});
    EXPECT_EQ(heavy.lag, U128{30});
    charge(queue, light, Ticks{10});
    const U128 risen = U128{130 + 10 * kStride};
    EXPECT_EQ(queue.floor(), risen);
    queue.add_waiting(heavy);
    for (int thread = 0; thread < 20; ++thread)
        queue.add_waiting(heavy);
    queue.clear_lifted();
    queue.raise();
    EXPECT_FALSE(heavy.capped);
    EXPECT_EQ(heavy.pass, risen.minus(U128{30}));
    ASSERT_EQ(queue.lifted_count(), 1U);
    EXPECT_EQ(&queue.lifted(0), &heavy);
}

}  // namespace
}  // namespace ravelin::stride
