// Charging, weight changes and lifts: exact against the compiler's 128-bit numbers, whole against
// pieces.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "tests/unit/stride/support.h"

namespace ravelin::stride {
namespace {

/// The ends of the range and the weights about STRIDE, where one tick stops moving the pass.
constexpr std::array<u32, 12> kWeights = {1,          2,           3,
                                          1000,       999'983,     kStride - 1,
                                          kStride,    kStride + 1, 1'000'000'007,
                                          0x7fffffff, 0xfffffffe,  0xffffffff};

Entity entity_of(u32 weight, Wide pass = 0, u64 remainder = 0) {
    Entity entity;
    entity.weight = weight;
    entity.pass = narrow(pass);
    entity.remainder = remainder;
    return entity;
}

/// What an entity owes since pass 0, in ticks * kStride: what a fold must add to and nothing else.
Wide work(const Entity& entity) {
    return wide(entity.pass) * entity.weight + entity.remainder;
}

TEST(Fold, CostsTicksTimesStrideExactly) {
    Random random(1);
    for (u32 weight : kWeights) {
        Entity entity = entity_of(weight);
        Wide ran = 0;
        for (int run = 0; run < 2000; ++run) {
            const u64 ticks = any_length(random) >> 24;
            fold(entity, Ticks{ticks});
            ran += ticks;
            ASSERT_EQ(work(entity), ran * kStride) << "weight " << weight;
            ASSERT_LT(entity.remainder, weight);
        }
    }
}

TEST(Fold, PiecesCostWhatTheWholeCosts) {
    Random random(2);
    for (u32 weight : kWeights) {
        for (int round = 0; round < 300; ++round) {
            const u64 left_over = below(random, weight);
            Entity whole = entity_of(weight, any_wide(random) >> 1, left_over);
            Entity split = whole;
            const u64 ticks = any_length(random) >> 24;
            fold(whole, Ticks{ticks});
            u64 left = ticks;
            while (left != 0) {
                const u64 piece = std::min(left, any_length(random) >> 24);
                fold(split, Ticks{piece});
                left -= piece;
                if (below(random, 20) == 0) {
                    fold(split, Ticks{left});
                    left = 0;
                }
            }
            ASSERT_EQ(split.pass, whole.pass) << "weight " << weight << ", ticks " << ticks;
            ASSERT_EQ(split.remainder, whole.remainder);
        }
    }
}

TEST(Fold, CountsAtMostTheCap) {
    for (u32 weight : kWeights) {
        Entity most = entity_of(weight, 0, weight - 1);
        Entity more = most;
        fold(most, Ticks{kRuntimeCap});
        fold(more, Ticks{~u64{0}});
        EXPECT_EQ(most.pass, more.pass);
        EXPECT_EQ(most.remainder, more.remainder);
        EXPECT_EQ(work(most), Wide{kRuntimeCap} * kStride + weight - 1);
    }
}

TEST(Fold, ChargesNothingAtWeightZero) {
    Entity entity = entity_of(0, 17, 5);
    fold(entity, Ticks{1000});
    EXPECT_EQ(entity.pass, U128{17});
    EXPECT_EQ(entity.remainder, 5U);
}

TEST(Fold, StopsAtTheTop) {
    Entity entity = entity_of(1, ~Wide{0} - 3);
    fold(entity, Ticks{1});
    EXPECT_EQ(entity.pass, U128::max());
}

/// The rule as it is written, in numbers that cannot overflow where it is used.
void expect_reweighed(const Entity& before, const Entity& after, u32 weight, Wide floor) {
    const Wide from = std::max<Wide>(before.weight, 1);
    const Wide to = std::max<Wide>(weight, 1);
    const Wide lead = wide(before.pass) > floor ? wide(before.pass) - floor : 0;
    const Wide owed = lead * from + before.remainder;
    ASSERT_EQ(wide(after.pass), floor + owed / to);
    ASSERT_EQ(after.remainder, owed % to);
    ASSERT_EQ(after.weight, weight);
}

TEST(Reweigh, StatesTheDebtAtTheNewWeight) {
    Random random(3);
    for (u32 from : kWeights) {
        for (u32 to : kWeights) {
            for (int round = 0; round < 50; ++round) {
                const Wide floor = any_wide(random) >> 40;
                Entity entity = entity_of(from, any_wide(random) >> 40, below(random, from));
                const Entity before = entity;
                reweigh(entity, to, narrow(floor));
                expect_reweighed(before, entity, to, floor);
            }
        }
    }
}

TEST(Reweigh, ThereAndBackIsTheIdentityAtOrAboveTheFloor) {
    Random random(4);
    std::vector<u32> stops(kWeights.begin(), kWeights.end());
    stops.push_back(0);
    for (u32 weight : kWeights) {
        for (u32 stop : stops) {
            const Wide floor = any_wide(random) >> 40;
            Entity entity =
                entity_of(weight, floor + (any_wide(random) >> 44), below(random, weight));
            const Entity before = entity;
            reweigh(entity, stop, narrow(floor));
            reweigh(entity, weight, narrow(floor));
            ASSERT_EQ(entity.pass, before.pass) << weight << " by way of " << stop;
            ASSERT_EQ(entity.remainder, before.remainder);
        }
    }
}

TEST(Reweigh, ZeroIsAStepLikeAnother) {
    Entity through = entity_of(1000, 12'345, 678);
    Entity straight = through;
    reweigh(through, 0, U128{45});
    reweigh(through, 300, U128{45});
    reweigh(straight, 300, U128{45});
    EXPECT_EQ(through.pass, straight.pass);
    EXPECT_EQ(through.remainder, straight.remainder);
}

TEST(Reweigh, SaturatesAtTheTop) {
    Entity entity = entity_of(0xffffffff, ~Wide{0});
    reweigh(entity, 1, U128{});
    EXPECT_EQ(entity.pass, U128::max());
}

TEST(Lift, MovesTheWorkSinceEntryAndNoMore) {
    Random random(5);
    for (int round = 0; round < 20'000; ++round) {
        const Wide floor = any_wide(random) >> 48;
        Entity child = entity_of(any_weight(random), any_wide(random) >> 48);
        child.entry = narrow(any_wide(random) >> 48);
        child.remainder = below(random, child.weight);
        Entity parent = entity_of(any_weight(random), any_wide(random) >> 48);
        parent.remainder = below(random, parent.weight);

        const Wide from = std::max(wide(child.entry), floor);
        const Wide ran = wide(child.pass) > from ? wide(child.pass) - from : 0;
        const Wide moved = ran * child.weight + child.remainder;
        const bool below_floor = wide(parent.pass) < floor;
        const Wide base = below_floor ? floor : wide(parent.pass);
        const Wide total = moved + (below_floor ? 0 : parent.remainder);

        Entity got = parent;
        ASSERT_EQ(wide(lift(child, got, narrow(floor))), moved);
        ASSERT_EQ(wide(got.pass), base + total / parent.weight);
        ASSERT_EQ(got.remainder, total % parent.weight);
    }
}

TEST(Lift, OfAChildThatNeverRanMovesNothing) {
    Entity child = entity_of(7, 500);
    child.entry = U128{500};
    Entity ahead = entity_of(11, 600, 10);
    EXPECT_EQ(lift(child, ahead, U128{400}), U128{});
    EXPECT_EQ(ahead.pass, U128{600});
    EXPECT_EQ(ahead.remainder, 10U);
    Entity behind = entity_of(11, 300, 10);
    lift(child, behind, U128{400});
    EXPECT_EQ(behind.pass, U128{400});
    EXPECT_EQ(behind.remainder, 0U);
}

TEST(Lift, ToAParentWithoutWeightMovesNothing) {
    Entity child = entity_of(7, 500, 3);
    Entity parent = entity_of(0, 10, 2);
    EXPECT_EQ(lift(child, parent, U128{100}), U128{400 * 7 + 3});
    EXPECT_EQ(parent.pass, U128{10});
    EXPECT_EQ(parent.remainder, 2U);
}

TEST(Lift, SaturatesAtTheTop) {
    Entity child = entity_of(0xffffffff, ~Wide{0});
    Entity parent = entity_of(1, 5);
    EXPECT_EQ(lift(child, parent, U128{}), U128::max());
    EXPECT_EQ(parent.pass, U128::max());
}

}  // namespace
}  // namespace ravelin::stride
