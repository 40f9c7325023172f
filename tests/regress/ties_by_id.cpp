// F23: equal keys are ordered by address or by insertion into some structure. Here ids and the
// order of events decide: the same steps with budgets at shuffled addresses run the same budgets.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "core/stride/queue.h"

namespace ravelin::stride {
namespace {

constexpr std::size_t kBudgets = 40;

// The ids run, with budget i standing at place order[i] of one array.
std::vector<u64> trace_of(const std::vector<std::size_t>& order) {
    std::vector<Entity> room(kBudgets);
    Queue queue;
    std::mt19937_64 steps(23);
    for (std::size_t budget = 0; budget < kBudgets; ++budget) {
        Entity& entity = room[order[budget]];
        entity.id = budget + 1;
        entity.weight = 1;
    }
    std::vector<u64> ran;
    for (int step = 0; step < 4000; ++step) {
        Entity& some = room[order[steps() % kBudgets]];
        if (!some.queued()) {
            queue.add_waiting(some);
            queue.wake(some);
            queue.raise_if_changed();
        }
        Entity* best = queue.pick();
        queue.run(*best);
        ran.push_back(best->id);
        queue.fold(*best, Ticks{1});
        queue.raise();
        queue.stop(*best, steps() % 5 != 0);
    }
    return ran;
}

TEST(TiesById, TheSameStepsAtOtherAddressesRunTheSameBudgets) {
    std::vector<std::size_t> order(kBudgets);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::vector<u64> expected = trace_of(order);
    std::mt19937_64 random(1);
    for (int round = 0; round < 20; ++round) {
        std::shuffle(order.begin(), order.end(), random);
        ASSERT_EQ(trace_of(order), expected);
    }
}

}  // namespace
}  // namespace ravelin::stride
