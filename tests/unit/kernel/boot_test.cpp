// A kernel boots on the null port, runs three budgets by their weights and gives everything back.
#include <map>

#include "core/object/handle.h"
#include "tests/unit/kernel/machine.h"

namespace ravelin::test {
namespace {

TEST(Kernel, BootsWithTheTreeOfTheRules) {
    Machine machine;
    ASSERT_NE(machine.running[0], nullptr);
    const Budget& root = *machine.kernel.root;
    EXPECT_EQ(root.free_weight(), abi::kInitWeight);
    EXPECT_EQ(machine.kernel.system->weight_limit, 250'000u);
    EXPECT_EQ(machine.kernel.users->weight_limit, 749'000u);
    EXPECT_GE(root.free_pages() + 64, abi::kInitPages);
    EXPECT_EQ(machine.thread().process->budget, &root);
}

TEST(Kernel, AChildHasItsParentsClass) {
    Machine machine;
    EXPECT_EQ(machine.kernel.system->budget_class, BudgetClass::system);
    EXPECT_EQ(machine.kernel.users->budget_class, BudgetClass::user);
    for (u64 parent : {abi::kBootRoot, abi::kBootSystem, abi::kBootUsers}) {
        const u64 handle = machine.spawn(parent, 0, 0, abi::kForever, 1, 0);
        const HandleSlot* slot = find_handle(*machine.thread().process, static_cast<Word>(handle));
        const Budget& made = *reinterpret_cast<Budget*>(slot->object);
        EXPECT_EQ(made.budget_class, made.parent->budget_class);
    }
}

TEST(Kernel, GoesOnWithOneHartAndSaysSo) {
    Machine machine(4, 1024, {}, HartMask{0b1110});
    ASSERT_NE(machine.running[0], nullptr);
    EXPECT_EQ(machine.kernel.online, 1u);
    EXPECT_EQ(machine.port.written, "ravelin: no other hart started: going on with one\n");
}

TEST(Kernel, SaysNothingOfTheHartsThatStart) {
    for (const HartMask refused : {HartMask{}, HartMask{0b0110}}) {
        Machine machine(4, 1024, {}, refused);
        EXPECT_EQ(machine.port.written, "");
    }
    EXPECT_EQ(Machine(1).port.written, "");
}

TEST(Kernel, SharesFollowWeights) {
    Machine machine;
    std::map<u64, u64> got;
    for (u32 weight : {100u, 100u, 300u})
        machine.spawn(abi::kBootUsers, weight, weight);
    machine.call(abi::Call::receive, {0, ~u64{0}, ~u64{0}});
    u64 total = 0;
    for (int slice = 0; slice < 1000; ++slice) {
        Budget* runner = machine.kernel.harts[0].runner;
        ASSERT_NE(runner, nullptr);
        u64 before = machine.port.clock.value;
        machine.fire_timer();
        got[runner->head.id] += machine.port.clock.value - before;
        total += machine.port.clock.value - before;
        ASSERT_TRUE(machine.kernel.queue.consistent());
    }
    ASSERT_EQ(got.size(), 3u);
    std::vector<u64> shares;
    for (auto [id, ticks] : got)
        shares.push_back(ticks * 1000 / total);
    EXPECT_NEAR(static_cast<double>(shares[0]), 200, 5);
    EXPECT_NEAR(static_cast<double>(shares[1]), 200, 5);
    EXPECT_NEAR(static_cast<double>(shares[2]), 600, 5);
}

TEST(Kernel, ADestroyedTreeGivesEverythingBack) {
    Machine machine;
    u64 warm = machine.spawn(abi::kBootUsers, 100);
    ASSERT_EQ(machine.call(abi::Call::budget_destroy, {warm}), abi::Status::ok);
    u32 free = machine.kernel.frames.free();
    u32 used = machine.kernel.users->pages_used;
    u64 budget = machine.spawn(abi::kBootUsers, 100, 0, abi::kForever, 200, 4);
    u64 child = machine.spawn(budget, 40, 0, abi::kForever, 100, 2);
    machine.spawn(child, 10);
    machine.spawn(budget, 0, 0, abi::kForever, 0, 0);
    ASSERT_EQ(machine.call(abi::Call::budget_destroy, {budget}), abi::Status::ok);
    EXPECT_EQ(machine.kernel.frames.free(), free);
    EXPECT_EQ(machine.kernel.users->pages_used, used);
    EXPECT_EQ(machine.kernel.users->weight_carved, 0u);
    EXPECT_EQ(machine.kernel.process_count, 1u);
    EXPECT_EQ(machine.call(abi::Call::budget_usage, {child, 0}), abi::Status::bad_handle);
}

TEST(Kernel, ADeadlineEndsABudgetAndPreempts) {
    Machine machine;
    machine.spawn(abi::kBootUsers, 100, 0, 5'000);
    machine.spawn(abi::kBootUsers, 100);
    ASSERT_EQ(machine.kernel.process_count, 3u);
    machine.call(abi::Call::receive, {0, ~u64{0}, ~u64{0}});
    for (int slice = 0; slice < 20 && machine.kernel.process_count == 3; ++slice)
        machine.fire_timer();
    EXPECT_EQ(machine.kernel.process_count, 2u);
    EXPECT_NEAR(static_cast<double>(machine.port.clock.value), 50'000, 20);
}

TEST(Kernel, ASleepEndsAtItsTimeoutAndNotBefore) {
    Machine machine;
    Ticks before = machine.port.clock;
    machine.call(abi::Call::receive, {0, 1'234, 0});
    EXPECT_EQ(machine.running[0], nullptr);
    machine.fire_timer();
    ASSERT_NE(machine.running[0], nullptr);
    EXPECT_EQ(static_cast<abi::Status>(machine.result(0)), abi::Status::timeout);
    EXPECT_EQ((machine.port.clock - before).value, 12'340u);
}

}  // namespace
}  // namespace ravelin::test
