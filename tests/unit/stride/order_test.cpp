// The run queue against a sorted set of the same budgets: every size, every order of removal,
// passes past both ends of the keys' range.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/unit/stride/support.h"

namespace ravelin::stride {
namespace {

/// As many as can be queued beside one that runs and one that is being woken.
constexpr u32 kMostQueued = kSlots - 2;

struct ByRank {
    bool operator()(const Entity* a, const Entity* b) const { return ranks_before(*a, *b); }
};

/// A queue and the plain sorted set that it must agree with.
class Twin {
  public:
    Queue queue;

    Entity& add(u32 weight, Wide pass) {
        Entity& entity = crowd.add(weight, pass);
        wake_with(queue, entity);
        sorted.insert(&entity);
        return entity;
    }
    void remove(Entity& entity) {
        sorted.erase(&entity);
        queue.drop_waiting(entity);
        queue.leave(entity);
    }
    /// The rank of a sorted entity may not change inside the set.
    template <class Change>
    void change(Entity& entity, Change made) {
        sorted.erase(&entity);
        made();
        sorted.insert(&entity);
    }
    Entity* best() const { return sorted.empty() ? nullptr : *sorted.begin(); }

    Crowd crowd;
    std::set<Entity*, ByRank> sorted;
};

enum class Removal { best_first, worst_first, oldest_first, newest_first, inside_out, random };

std::vector<Entity*> order_of(Twin& twin, Removal removal, Random& random) {
    std::vector<Entity*> order;
    order.reserve(twin.crowd.size());
    for (std::size_t place = 0; place < twin.crowd.size(); ++place)
        order.push_back(&twin.crowd[place]);
    switch (removal) {
    case Removal::best_first: order.assign(twin.sorted.begin(), twin.sorted.end()); break;
    case Removal::worst_first: order.assign(twin.sorted.rbegin(), twin.sorted.rend()); break;
    case Removal::oldest_first: break;
    case Removal::newest_first: std::reverse(order.begin(), order.end()); break;
    case Removal::inside_out:
        std::rotate(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(order.size() / 2),
                    order.end());
        break;
    case Removal::random: std::shuffle(order.begin(), order.end(), random); break;
    }
    return order;
}

class Sizes : public testing::TestWithParam<Removal> {};

TEST_P(Sizes, EveryPickIsTheLowestRankWhileBudgetsComeAndGo) {
    Random random(static_cast<u64>(GetParam()) + 6);
    for (u32 size = 1; size <= kMostQueued; ++size) {
        Twin twin;
        for (u32 place = 0; place < size; ++place) {
            twin.add(any_weight(random), below(random, size));
            ASSERT_EQ(twin.queue.pick(), twin.best());
        }
        ASSERT_EQ(twin.queue.size(), size);
        ASSERT_TRUE(twin.queue.consistent()) << size;
        for (Entity* entity : order_of(twin, GetParam(), random)) {
            ASSERT_EQ(twin.queue.pick(), twin.best()) << size;
            twin.remove(*entity);
        }
        ASSERT_EQ(twin.queue.pick(), nullptr);
        ASSERT_TRUE(twin.queue.empty());
        ASSERT_TRUE(twin.queue.consistent()) << size;
    }
}

INSTANTIATE_TEST_SUITE_P(Order, Sizes,
                         testing::Values(Removal::best_first, Removal::worst_first,
                                         Removal::oldest_first, Removal::newest_first,
                                         Removal::inside_out, Removal::random));

TEST(Order, AFullQueueHoldsEveryProcess) {
    Twin twin;
    for (u32 place = 0; place < kSlots; ++place)
        twin.add(1, kSlots - place);
    EXPECT_EQ(twin.queue.size(), kSlots);
    EXPECT_EQ(twin.queue.pick(), twin.best());
    EXPECT_TRUE(twin.queue.consistent());
}

TEST(Order, HoldsThroughChargesWeightChangesAndTurns) {
    Random random(7);
    for (int round = 0; round < 40; ++round) {
        Twin twin;
        const u32 size = 1 + static_cast<u32>(below(random, kMostQueued));
        for (u32 place = 0; place < size; ++place)
            twin.add(1 + static_cast<u32>(below(random, 4)), below(random, 8));
        twin.queue.raise();
        for (int step = 0; step < 500; ++step) {
            Entity& entity = twin.crowd[below(random, size)];
            switch (below(random, 4)) {
            case 0:
                if (entity.queued()) twin.remove(entity);
                break;
            case 1:
                if (!entity.queued()) {
                    wake_with(twin.queue, entity);
                    twin.sorted.insert(&entity);
                }
                break;
            case 2:
                if (entity.queued()) {
                    twin.change(entity, [&] {
                        twin.queue.reweigh(entity, 1 + static_cast<u32>(below(random, 9)));
                    });
                }
                break;
            default:
                if (Entity* best = pick_and_run(twin.queue)) {
                    ASSERT_EQ(best, twin.best());
                    twin.change(*best, [&] {
                        deschedule(twin.queue, *best, Ticks{below(random, 3)}, true);
                    });
                }
                break;
            }
            ASSERT_EQ(twin.queue.pick(), twin.best());
            ASSERT_EQ(twin.queue.size(), twin.sorted.size());
        }
        ASSERT_TRUE(twin.queue.consistent());
    }
}

/// Where a pass stands beside the floor: before and past both ends of what a 64-bit key can say.
Wide spread_pass(Random& random, Wide floor) {
    const Wide far = Wide{1} << 66;
    const Wide distance = any_wide(random) >> 61;
    if (below(random, 3) == 0) return floor + far + below(random, 3);
    return below(random, 2) == 0 ? floor + distance : floor - std::min(floor, distance);
}

TEST(Keys, SaturatedOnesAreOrderedByTheWholeRank) {
    Random random(8);
    for (int round = 0; round < 400; ++round) {
        Twin twin;
        twin.queue.set_harts(2);
        const Wide floor = any_wide(random);
        // A budget at the floor that leaves again: the floor and with it the base stand there.
        Entity& mark = twin.add(1, floor);
        twin.queue.raise();
        ASSERT_EQ(wide(twin.queue.floor()), floor);
        twin.remove(mark);
        for (u32 place = 0; place < 60; ++place) {
            Entity& entity = twin.add(1, 0);
            twin.change(entity, [&] {
                // Below the floor a queued budget can be at several harts only: set there, and its
                // key by a fold of nothing.
                entity.pass = narrow(spread_pass(random, floor));
                twin.queue.fold(entity, Ticks{0});
            });
            ASSERT_EQ(twin.queue.pick(), twin.best());
        }
        ASSERT_TRUE(twin.queue.consistent());
        while (Entity* best = twin.best()) {
            ASSERT_EQ(twin.queue.pick(), best);
            twin.remove(*best);
        }
    }
}

TEST(Keys, ALongLeadCountsAsSoonAsTheFloorIsNear) {
    Twin twin;
    const Wide far = (Wide{1} << 127) - (Wide{1} << 80);
    for (u32 place = 0; place < 9; ++place)
        twin.add(1, far + 9 - place);
    Entity& low = twin.add(1, 5);
    EXPECT_EQ(twin.queue.pick(), &low);
    twin.queue.raise();
    EXPECT_EQ(twin.queue.floor(), U128{5});
    twin.remove(low);
    EXPECT_EQ(twin.queue.pick(), twin.best());
    EXPECT_TRUE(twin.queue.consistent());
    twin.queue.raise();
    EXPECT_EQ(wide(twin.queue.floor()), far + 1);
    EXPECT_EQ(twin.queue.pick(), twin.best());
    EXPECT_TRUE(twin.queue.consistent());
}

TEST(Keys, TheBaseFollowsAtTheLightestWeight) {
    Random random(9);
    for (u32 size : {1U, 2U, 3U, 64U, 65U, kMostQueued}) {
        Twin twin;
        // 2^60 a fold at weight 1: the floor leaves the base behind every few rounds of the queue.
        for (u32 place = 0; place < size; ++place)
            twin.add(1, (Wide{1} << 127) + below(random, 1000));
        twin.queue.raise();
        const u32 steps = 40 * std::min(size, u32{65});
        for (u32 step = 0; step < steps; ++step) {
            Entity* best = pick_and_run(twin.queue);
            ASSERT_EQ(best, twin.best());
            twin.change(*best, [&] {
                deschedule(twin.queue, *best, Ticks{kRuntimeCap - below(random, 5)}, true);
            });
            ASSERT_EQ(twin.queue.floor(), twin.best()->pass);
            ASSERT_TRUE(size > 100 || twin.queue.consistent());
        }
        ASSERT_TRUE(twin.queue.consistent()) << size;
    }
}

TEST(Keys, AtTheTopOfTheRangeTiesDecide) {
    Twin twin;
    for (u32 place = 0; place < 5; ++place)
        twin.add(1, ~Wide{0} - 1);
    twin.queue.raise();
    for (int step = 0; step < 20; ++step) {
        Entity* best = pick_and_run(twin.queue);
        ASSERT_EQ(best, twin.best());
        twin.change(*best, [&] { deschedule(twin.queue, *best, Ticks{kRuntimeCap}, true); });
    }
    EXPECT_EQ(twin.queue.floor(), U128::max());
    EXPECT_TRUE(twin.queue.consistent());
}

}  // namespace
}  // namespace ravelin::stride
