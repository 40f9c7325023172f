// F14: the key of a queued element changes where it stands and the order is lost. Here a carve from
// a budget that waits in the queue, and its return, leave every rank what its budget says.
#include "tests/unit/kernel/machine.h"

namespace ravelin::test {
namespace {

Budget& budget_with_account(Machine& machine, u64 account) {
    for (Process* process : machine.kernel.processes) {
        if (process != nullptr && process->budget->account == account) return *process->budget;
    }
    return *machine.kernel.root;
}

TEST(KeyMutation, ACarveFromAWaitingBudgetMovesItInTheQueue) {
    Machine machine;
    std::vector<u64> handles;
    for (u64 account = 1; account <= 5; ++account) {
        handles.push_back(machine.spawn(abi::kBootUsers, 100, account, abi::kForever, 200, 4));
    }
    // Everybody gets a lead: init sleeps a while and comes back.
    machine.call(abi::Call::receive, {0, 20'000, 0});
    for (int slice = 0; slice < 200 && &*machine.thread().process->budget != machine.kernel.root;
         ++slice) {
        machine.fire_timer();
    }
    ASSERT_EQ(machine.thread().process->budget, machine.kernel.root);
    for (u64 account = 1; account <= 5; ++account) {
        const stride::Entity& entity = budget_with_account(machine, account).entity;
        ASSERT_TRUE(entity.queued());
        const U128 before = entity.pass;
        const u64 child = machine.spawn(handles[account - 1], 99, 0, abi::kForever, 20, 1);
        EXPECT_EQ(entity.weight, 1U);
        EXPECT_TRUE(machine.kernel.queue.consistent());
        EXPECT_GE(entity.pass, before);
        ASSERT_EQ(machine.call(abi::Call::budget_destroy, {child}), abi::Status::ok);
        EXPECT_EQ(entity.weight, 100U);
        EXPECT_EQ(entity.pass, before);
        EXPECT_TRUE(machine.kernel.queue.consistent());
    }
}

}  // namespace
}  // namespace ravelin::test
