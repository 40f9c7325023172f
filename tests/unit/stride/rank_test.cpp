// The order by name: pass, the four tie clauses, the wake rule, the floor and who stays queued.
#include <gtest/gtest.h>

#include "tests/unit/stride/support.h"

namespace ravelin::stride {
namespace {

/// The ids in the order one hart would run the waiting budgets, each once.
std::vector<u64> drain(Queue& queue) {
    std::vector<u64> order;
    while (Entity* best = queue.pick()) {
        order.push_back(best->id);
        queue.drop_waiting(*best);
        queue.leave(*best);
    }
    return order;
}

/// Runs `entity` for no more than the least charge that leaves the passes equal, and requeues it.
void requeue(Queue& queue, Entity& entity) {
    queue.run(entity);
    queue.stop(entity, true);
}

using Order = std::vector<u64>;

TEST(Rank, ThePassComesFirst) {
    Queue queue;
    Crowd crowd;
    for (Wide pass : {Wide{30}, Wide{10}, Wide{20}})
        wake_with(queue, crowd.add(1, pass));
    EXPECT_EQ(drain(queue), (Order{2, 3, 1}));
}

TEST(Rank, AWakerIsAheadOfARequeued) {
    Queue queue;
    Crowd crowd;
    Entity& first = crowd.add();
    wake_with(queue, first);
    requeue(queue, first);
    wake_with(queue, crowd.add());
    EXPECT_EQ(drain(queue), (Order{2, 1}));
}

TEST(Rank, TheLaterEntrysWakerIsAhead) {
    Queue queue;
    Crowd crowd;
    for (int entry = 0; entry < 3; ++entry) {
        wake_with(queue, crowd.add());
        queue.raise_if_changed();
    }
    EXPECT_EQ(drain(queue), (Order{3, 2, 1}));
}

TEST(Rank, WithinAnEntryTheLowerIdIsAhead) {
    Queue queue;
    Crowd crowd;
    for (int budget = 0; budget < 4; ++budget)
        crowd.add();
    for (std::size_t place = crowd.size(); place-- > 0;)
        wake_with(queue, crowd[place]);
    EXPECT_EQ(drain(queue), (Order{1, 2, 3, 4}));
}

TEST(Rank, RequeuedRunInTheOrderOfTheirRequeues) {
    Queue queue;
    Crowd crowd;
    for (int budget = 0; budget < 3; ++budget)
        wake_with(queue, crowd.add());
    for (std::size_t place : {1u, 2u, 0u})
        requeue(queue, crowd[place]);
    EXPECT_EQ(drain(queue), (Order{2, 3, 1}));
}

TEST(Rank, TheIdDecidesLast) {
    Entity a;
    Entity b;
    a.id = 1;
    b.id = 2;
    EXPECT_TRUE(ranks_before(a, b));
    EXPECT_FALSE(ranks_before(b, a));
    b.tie = -1;
    EXPECT_TRUE(ranks_before(b, a));
    a.pass = U128{0, 1};
    b.pass = U128{1, 0};
    EXPECT_TRUE(ranks_before(a, b));
}

TEST(Rank, TheTieCountersStartAgainWhenTheQueueEmpties) {
    Queue queue;
    Crowd crowd;
    Entity& one = crowd.add();
    Entity& two = crowd.add();
    wake_with(queue, one);
    wake_with(queue, two);
    requeue(queue, one);
    EXPECT_EQ(queue.front(), -2);
    EXPECT_EQ(queue.back(), 1);
    drain(queue);
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.front(), 0);
    EXPECT_EQ(queue.back(), 0);
}

TEST(Floor, IsTheLowestPassAndSurvivesAnEmptyQueue) {
    Queue queue;
    Crowd crowd;
    wake_with(queue, crowd.add(1, 100));
    wake_with(queue, crowd.add(1, 50));
    queue.raise_if_changed();
    EXPECT_EQ(queue.floor(), U128{50});
    queue.drop_waiting(crowd[1]);
    queue.leave(crowd[1]);
    queue.raise_if_changed();
    EXPECT_EQ(queue.floor(), U128{100});
    queue.drop_waiting(crowd[0]);
    queue.leave(crowd[0]);
    queue.raise_if_changed();
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.floor(), U128{100});
    Entity& sleeper = crowd.add(1, 7);
    wake_with(queue, sleeper);
    EXPECT_EQ(sleeper.pass, U128{100});
}

TEST(Floor, AWakerKeepsAPassAboveIt) {
    Queue queue;
    Crowd crowd;
    wake_with(queue, crowd.add(1, 100));
    queue.raise_if_changed();
    Entity& ahead = crowd.add(1, 130);
    wake_with(queue, ahead);
    EXPECT_EQ(ahead.pass, U128{130});
}

TEST(Floor, CountsTheRunningBudgetAtItsLastCharge) {
    Queue queue;
    Crowd crowd;
    Entity& runner = crowd.add(1, 10);
    wake_with(queue, runner);
    wake_with(queue, crowd.add(1, u64{1} << 40));
    ASSERT_EQ(pick_and_run(queue), &runner);
    queue.raise_if_changed();
    EXPECT_EQ(queue.floor(), U128{10});
    charge(queue, runner, Ticks{5});
    EXPECT_EQ(queue.floor(), U128{10 + 5 * kStride});
}

TEST(Floor, ABillToABudgetThatSleepsMovesItsPassAlone) {
    Queue queue;
    Crowd crowd;
    wake_with(queue, crowd.add(1, 10));
    queue.raise_if_changed();
    Entity& sleeper = crowd.add(1, 3);
    charge(queue, sleeper, Ticks{1});
    EXPECT_EQ(sleeper.pass, U128{3 + kStride});
    EXPECT_EQ(queue.floor(), U128{10});
    EXPECT_FALSE(sleeper.queued());
}

TEST(Queued, ARunningBudgetStaysAndIsNotPicked) {
    Queue queue;
    Crowd crowd;
    wake_with(queue, crowd.add());
    Entity* runner = pick_and_run(queue);
    ASSERT_NE(runner, nullptr);
    EXPECT_TRUE(runner->queued());
    EXPECT_EQ(queue.size(), 1U);
    EXPECT_EQ(queue.pick(), nullptr);
    deschedule(queue, *runner, Ticks{10}, true);
    EXPECT_TRUE(runner->queued());
    EXPECT_EQ(queue.pick(), runner);
}

TEST(Queued, ABudgetWhoseThreadBlocksLeavesUnlessAnotherIsLeft) {
    Queue queue;
    Crowd crowd;
    Entity& pair = crowd.add();
    wake_with(queue, pair, 2);
    pick_and_run(queue);
    deschedule(queue, pair, Ticks{1}, false);
    EXPECT_TRUE(pair.queued());
    EXPECT_EQ(pair.threads(), 1U);
    pick_and_run(queue);
    deschedule(queue, pair, Ticks{1}, false);
    EXPECT_FALSE(pair.queued());
    EXPECT_TRUE(queue.empty());
}

TEST(Queued, ABudgetRunsOnAsManyHartsAsItHasThreadsAtOnePass) {
    Queue queue;
    queue.set_harts(2);
    Crowd crowd;
    Entity& pair = crowd.add(2);
    wake_with(queue, pair, 2);
    wake_with(queue, crowd.add(1, u64{1} << 50));
    EXPECT_EQ(pick_and_run(queue), &pair);
    EXPECT_EQ(pick_and_run(queue), &pair);
    EXPECT_EQ(queue.pick(), &crowd[1]);
    deschedule(queue, pair, Ticks{100}, true);
    deschedule(queue, pair, Ticks{100}, true);
    EXPECT_EQ(pair.pass, U128{100 * kStride});
}

TEST(Queued, ALastThreadThatEndsMidEntryLiesDormantUntilTheReconcile) {
    Queue queue;
    Crowd crowd;
    Entity& entity = crowd.add();
    wake_with(queue, entity);
    queue.drop_waiting(entity);
    EXPECT_TRUE(entity.queued());
    EXPECT_TRUE(queue.has_dormant());
    EXPECT_FALSE(queue.empty());
    EXPECT_EQ(queue.size(), 0U);
    EXPECT_EQ(queue.pick(), nullptr);
    queue.add_waiting(entity);
    EXPECT_FALSE(queue.has_dormant());
    EXPECT_EQ(queue.pick(), &entity);
}

}  // namespace
}  // namespace ravelin::stride
