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
        ASSERT_EQ(x.capped, y.capped);
        if (x.capped) {
            ASSERT_EQ(x.lag, y.lag);
        }
    }
    ASSERT_TRUE(a.queue.consistent());
    ASSERT_TRUE(b.queue.consistent());
}

std::vector<Budget> any_budgets(Random& random, u32 most) {
    std::vector<Budget> budgets(1 + below(random, most));
    const u32 kinds = 1 + static_cast<u32>(below(random, 3));
    const Wide start = below(random, 4) == 0 ? (Wide{1} << 127) - 5 : 0;
    // Some lead by more than a key shows.
    const Wide far = below(random, 4) == 0 ? Wide{1} << 70 : 0;
    for (Budget& budget : budgets) {
        budget.weight = 1 + static_cast<u32>(below(random, kinds));
        budget.threads = 1 + static_cast<u32>(below(random, 3) == 0);
        budget.pass = start + below(random, 4) * kStride + below(random, 2) * far;
    }
    return budgets;
}

/// How often the fast way was open, and how often while a budget was capped.
struct Met {
    u64 turns = 0;
    u64 capped = 0;
};

// Slice ends of harts in any order, through the long way alone and through the fast one where it is
// open. Now and then a thread comes, or another hart pays a bill to somebody.
void slice_ends(Random& random, u32 most, u32 harts, int steps, Met& met) {
    Pair slow;
    Pair fast;
    const std::vector<Budget> budgets = any_budgets(random, most);
    slow.queue.set_harts(harts);
    fast.queue.set_harts(harts);
    fill(slow, budgets);
    fill(fast, budgets);
    std::vector<std::pair<Entity*, Entity*>> runners;
    runners.reserve(harts);
    for (u32 hart = 0; hart < harts; ++hart)
        runners.emplace_back(pick_and_run(slow.queue), pick_and_run(fast.queue));
    for (int step = 0; step < steps; ++step) {
        auto& [slow_runner, fast_runner] = runners[below(random, harts)];
        if (slow_runner == nullptr) {
            ASSERT_EQ(fast_runner, nullptr);
            continue;
        }
        ASSERT_EQ(slow_runner->id, fast_runner->id);
        if (below(random, 8) == 0) {
            const std::size_t some = below(random, slow.crowd.size());
            const Ticks ticks{below(random, 9)};
            charge(slow.queue, slow.crowd[some], ticks);
            charge(fast.queue, fast.crowd[some], ticks);
        }
        if (below(random, 16) == 0) {
            const std::size_t some = below(random, slow.crowd.size());
            slow.queue.add_waiting(slow.crowd[some]);
            fast.queue.add_waiting(fast.crowd[some]);
            if (below(random, 2) == 0) {
                slow.queue.raise_if_changed();
                fast.queue.raise_if_changed();
            }
        }
        const Ticks ticks{below(random, 3) == 0 ? any_length(random) : below(random, 4)};
        slow_runner = &long_way(slow.queue, *slow_runner, ticks);
        if (fast.queue.can_turn(*fast_runner)) {
            fast_runner = &fast.queue.turn(*fast_runner, ticks);
            met.turns += 1;
            fast.queue.each([&](const Entity& entity) { met.capped += entity.capped; });
        } else {
            fast_runner = &long_way(fast.queue, *fast_runner, ticks);
        }
        ASSERT_EQ(slow_runner->id, fast_runner->id);
        ASSERT_NO_FATAL_FAILURE(expect_same(slow, fast));
    }
}

TEST(Turn, LeavesWhatTheStepsLeaveInSmallQueues) {
    Random random(10);
    Met met;
    for (int round = 0; round < 6000; ++round) {
        const u32 harts = 1 + static_cast<u32>(below(random, 5));
        ASSERT_NO_FATAL_FAILURE(slice_ends(random, 8, harts, 16, met)) << round;
    }
    EXPECT_GT(met.turns, 10'000U);
    EXPECT_GT(met.capped, 1'000U);
}

TEST(Turn, LeavesWhatTheStepsLeaveInLargeQueues) {
    Random random(11);
    Met met;
    for (int round = 0; round < 30; ++round)
        ASSERT_NO_FATAL_FAILURE(slice_ends(random, 500, round % 2 == 0 ? 1 : 4, 40, met)) << round;
    EXPECT_GT(met.turns, 500U);
}

TEST(Turn, PaysAtLeastOneTick) {
    Queue queue;
    Crowd crowd;
    Entity& alone = crowd.add(4);
    wake_with(queue, alone);
    queue.raise_if_changed();
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
    queue.raise_if_changed();
    pick_and_run(queue);
    EXPECT_EQ(&queue.turn(alone, Ticks{30}), &alone);
    EXPECT_EQ(alone.running, 1U);
    EXPECT_EQ(queue.floor(), alone.pass);
}

}  // namespace
}  // namespace ravelin::stride
