// F20: fork and exit reset what a group has used. Here a dying child's work moves onto its parent:
// children that run and die in a loop leave an equal-weight victim its half.
#include <gtest/gtest.h>

#include <array>

#include "tests/regress/race.h"

namespace ravelin::regress {
namespace {

struct Result {
    u64 victim = 0;
    u64 churner = 0;
};

// The churner's only work is done by children of the given weight that run `run` ticks and die; by
// their own hart's slice end or while they run.
Result churn(u32 child_weight, u64 run, bool dies_running) {
    Wiring wiring(1);
    Wiring::Budget& root = wiring.create_root(1, 1'000'000, U128{});
    Wiring::Budget& victim = wiring.create(2, root, 100);
    Wiring::Budget& churner = wiring.create(3, root, 100);
    wiring.ready(victim);
    wiring.reconcile();
    Result got;
    u64 next_id = 4;
    Wiring::Budget* child = nullptr;
    for (int slice = 0; slice < 20'000; ++slice) {
        if (child == nullptr) {
            child = &wiring.create(next_id++, churner, child_weight);
            wiring.ready(*child);
            wiring.reconcile();
        }
        const Wiring::Budget* runner = wiring.harts()[0].runner;
        if (runner == nullptr) runner = wiring.pick(0);
        if (runner == &victim) {
            wiring.run(0, Ticks{kSlice});
            got.victim += kSlice;
            wiring.deschedule(0, true);
        } else {
            wiring.run(0, Ticks{run});
            got.churner += run;
            if (!dies_running) wiring.deschedule(0, false);
            wiring.destroy(*child);
            child = nullptr;
        }
        wiring.reconcile();
        if (wiring.harts()[0].runner == nullptr) wiring.pick(0);
    }
    return got;
}

TEST(ForkExitGaming, ChildrenThatRunAndDieLeaveTheVictimItsHalf) {
    for (const u32 weight : {1U, 50U, 100U}) {
        for (const u64 run : {kSlice * 9 / 10, kSlice, kSlice / 100}) {
            for (const bool dies_running : {false, true}) {
                const Result got = churn(weight, run, dies_running);
                EXPECT_GE(got.victim + 2 * kSlice, got.churner)
                    << "weight " << weight << ", run " << run << ", dies running " << dies_running;
                EXPECT_GT(got.churner, 0U);
            }
        }
    }
}

}  // namespace
}  // namespace ravelin::regress
