// B10: the destruction that a deadline makes is billed to nobody, and a flood of cheap deadlines
// takes the machine. Here its creator pays all of it, however many there are.
#include "tests/regress/books.h"

namespace ravelin::test {
namespace {

TEST(DeadlineFlood, ItsCreatorPaysAndTheVictimKeepsItsHalf) {
    Machine machine;
    const u64 flooder = machine.spawn(abi::kBootUsers, 100, 1, abi::kForever, 1000, 4);
    machine.spawn(abi::kBootUsers, 100, 2);
    const Budget* creator = nullptr;
    const Budget* victim = nullptr;
    for (Process* process : machine.kernel.processes) {
        if (process == nullptr) continue;
        if (process->budget->account == 1) creator = process->budget;
        if (process->budget->account == 2) victim = process->budget;
    }
    ASSERT_NE(creator, nullptr);
    ASSERT_NE(victim, nullptr);
    // A flood: empty budgets of the flooder's, all due within the next 100 ms.
    for (u64 due = 1; due <= 200; ++due) {
        machine.spawn(flooder, 0, 0, 10'000 + due * 500, 0, 0);
    }
    machine.call(abi::Call::receive, {0, ~u64{0}, ~u64{0}});
    make_work_cost(machine);
    machine.port.cost[static_cast<unsigned>(Work::destroy_step)] = Ticks{3000};
    const u64 from = machine.kernel.trace.count();
    const u64 end = machine.port.clock.value + 1'300'000;
    while (machine.port.clock.value < end)
        machine.fire_timer();
    Books books = books_of(machine, from);
    EXPECT_GE(books.reason[abi::TraceCharge::destruction], 200U * 3000U);
    EXPECT_EQ(books.paid[0], 0U) << "some of it was nobody's";
    const u64 all = books.paid[creator->head.id] + books.paid[victim->head.id];
    EXPECT_GE(books.paid[victim->head.id] * 1000 / all, 480U);
    EXPECT_GE(books.paid[creator->head.id], 200U * 3000U);
    EXPECT_EQ(machine.kernel.trace.dropped(), 0U);
}

}  // namespace
}  // namespace ravelin::test
