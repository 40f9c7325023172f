// A slice end in one step leaves what its steps one by one leave: the fast way and the long way are
// the same rule.
#include <gtest/gtest.h>

#include "tests/unit/stride/support.h"

namespace ravelin::stride {
namespace {

struct Pair {
    Queue queue;
    Crowd crowd;
};

struct Budget {
    u32 weight;
    u32 threads;
    Wide pass;
};

void fill(Pair& pair, const std::vector<Budget>& budgets) {
    for (const Budget& budget : budgets)
        wake_with(pair.queue, pair.crowd.add(budget.weight, budget.pass), budget.threads);
    pair.queue.raise_if_changed();
}

Entity& long_way(Queue& queue, Entity& runner, Ticks ticks) {
    deschedule(queue, runner, ticks, true);
    queue.raise_if_changed();
    return *pick_and_run(queue);
}

void expect_same(Pair& a, Pair& b) {
    ASSERT_EQ(a.queue.floor(), b.queue.floor());
    ASSERT_EQ(a.queue.front(), b.queue.front());
    ASSERT_EQ(a.queue.back(), b.queue.back());
    ASSERT_EQ(a.queue.size(), b.queue.size());
    for (std::size_t place = 0; place < a.crowd.size(); ++place) {
        const Entity& x = a.crowd[place];
        const Entity& y = b.crowd[place];
        ASSERT_EQ(x.pass, y.pass);
        ASSERT_EQ(x.remainder, y.remainder);
        ASSERT_EQ(x.tie, y.tie);
        ASSERT_EQ(x.waiting, y.waiting);
        ASSERT_EQ(x.running, y.running);
        ASSERT_EQ(x.place, y.place);
    }
    ASSERT_TRUE(a.queue.consistent());
    ASSERT_TRUE(b.queue.consistent());
}

std::vector<Budget> any_budgets(Random& random, u32 most) {
    std::vector<Budget> budgets(1 + below(random, most));
    const u32 kinds = 1 + static_cast<u32>(below(random, 3));
    const Wide start = below(random, 4) == 0 ? (Wide{1} << 127) - 5 : 0;
    for (Budget& budget : budgets) {
        budget.weight = 1 + static_cast<u32>(below(random, kinds));
        budget.threads = 1 + static_cast<u32>(below(random, 3) == 0);
        budget.pass = start + below(random, 4) * kStride;
    }
    return budgets;
}

// Slice ends through both ways until the runner has another thread waiting, where the kernel takes
// the long way.
void slice_ends(Random& random, u32 most, int steps) {
    Pair slow;
    Pair fast;
    const std::vector<Budget> budgets = any_budgets(random, most);
    fill(slow, budgets);
    fill(fast, budgets);
    Entity* slow_runner = pick_and_run(slow.queue);
    Entity* fast_runner = pick_and_run(fast.queue);
    for (int step = 0; step < steps; ++step) {
        ASSERT_EQ(slow_runner->id, fast_runner->id);
        const Ticks ticks{below(random, 3) == 0 ? any_length(random) : below(random, 4)};
        slow_runner = &long_way(slow.queue, *slow_runner, ticks);
        if (fast_runner->waiting == 0) {
            fast_runner = &fast.queue.turn(*fast_runner, ticks);
        } else {
            fast_runner = &long_way(fast.queue, *fast_runner, ticks);
        }
        ASSERT_NO_FATAL_FAILURE(expect_same(slow, fast));
    }
}

TEST(Turn, LeavesWhatTheStepsLeaveInSmallQueues) {
    Random random(10);
    for (int round = 0; round < 3000; ++round)
        ASSERT_NO_FATAL_FAILURE(slice_ends(random, 6, 12)) << round;
}

TEST(Turn, LeavesWhatTheStepsLeaveInLargeQueues) {
    Random random(11);
    for (int round = 0; round < 30; ++round)
        ASSERT_NO_FATAL_FAILURE(slice_ends(random, 500, 40)) << round;
}

TEST(Turn, PaysAtLeastOneTick) {
    Queue queue;
    Crowd crowd;
    Entity& alone = crowd.add(4);
    wake_with(queue, alone);
    pick_and_run(queue);
    queue.turn(alone, Ticks{0});
    EXPECT_EQ(alone.pass, U128{kMinCharge * kStride / 4});
    queue.turn(alone, Ticks{2});
    EXPECT_EQ(alone.pass, U128{3 * kStride / 4});
}

TEST(Turn, ALoneRunnerRunsOn) {
    Queue queue;
    Crowd crowd;
    Entity& alone = crowd.add(3);
    wake_with(queue, alone);
    pick_and_run(queue);
    EXPECT_EQ(&queue.turn(alone, Ticks{30}), &alone);
    EXPECT_EQ(alone.running, 1U);
    EXPECT_EQ(queue.floor(), alone.pass);
}

}  // namespace
}  // namespace ravelin::stride
