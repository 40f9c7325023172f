// B3: the budget check at an entry requeues a thread that then blocks: it is in the queue and
// blocked. Here the slice's end, a due timeout and a due deadline meet inside every call, and every
// thread is in one state, counted once.
#include "tests/regress/books.h"

namespace ravelin::test {
namespace {

void expect_one_state_each(Machine& machine) {
    std::map<const Budget*, std::pair<u32, u32>> counted;  // waiting, running
    std::map<const Thread*, u32> on_harts;
    for (u32 hart = 0; hart < machine.kernel.hart_count; ++hart) {
        const Hart& on = machine.kernel.harts[hart];
        if (on.runner != nullptr) counted[on.runner].second += 1;
        if (on.thread == nullptr) continue;
        on_harts[on.thread] += 1;
        ASSERT_EQ(on.thread->state, ThreadState::running);
        ASSERT_EQ(on.thread->process->budget, on.runner);
    }
    for (Process* process : machine.kernel.processes) {
        if (process == nullptr) continue;
        u32 ready = 0;
        for (u32 tid = 1; tid <= abi::kMaxThreads; ++tid) {
            const Thread* thread = process->threads[tid];
            if (thread == nullptr) continue;
            const bool is_ready = thread->state == ThreadState::ready;
            ready += is_ready ? 1 : 0;
            ASSERT_EQ(process->ready_tids.test(tid), is_ready);
            ASSERT_EQ(on_harts[thread], thread->state == ThreadState::running ? 1U : 0U);
            ASSERT_EQ(thread->wait.kind != WaitKind::none, thread->state == ThreadState::waiting);
        }
        ASSERT_EQ(process->ready_count, ready);
        counted[process->budget].first += ready;
    }
    for (const auto& [budget, counts] : counted) {
        ASSERT_EQ(budget->entity.waiting, counts.first);
        ASSERT_EQ(budget->entity.running, counts.second);
        ASSERT_EQ(budget->entity.queued(), counts.first + counts.second != 0);
    }
    ASSERT_TRUE(machine.kernel.queue.consistent());
}

class EntryOrder : public testing::TestWithParam<u32> {};

TEST_P(EntryOrder, EverythingDueInsideACallLeavesEachThreadInOneState) {
    const auto number = static_cast<abi::Call>(GetParam());
    for (const u64 argument : {u64{0}, u64{1}, u64{3}, ~u64{0}}) {
        Machine machine;
        machine.spawn(abi::kBootUsers, 100, 1, 3000);  // dies 3 ms from boot
        machine.spawn(abi::kBootUsers, 100, 2);
        // Account 2 sleeps; account 1 spins; init is the one that calls.
        for (int slice = 0; slice < 6 && machine.thread().process->budget->account != 2; ++slice) {
            machine.fire_timer();
        }
        ASSERT_EQ(machine.thread().process->budget->account, 2U);
        machine.call(abi::Call::receive, {0, 2500, 0});
        for (int slice = 0; slice < 6; ++slice) {
            if (machine.thread().process->budget == machine.kernel.root) break;
            machine.fire_timer();
        }
        ASSERT_EQ(machine.thread().process->budget, machine.kernel.root);
        ASSERT_NO_FATAL_FAILURE(expect_one_state_each(machine));
        machine.port.clock += Ticks{1'000'000};
        if (number == abi::Call::system_reset && argument == abi::kBootReset) continue;
        machine.call(number, {argument, argument, argument, 0, 0, 0});
        ASSERT_NO_FATAL_FAILURE(expect_one_state_each(machine));
        for (int slice = 0; slice < 5 && machine.running[0] != nullptr; ++slice) {
            machine.fire_timer();
            ASSERT_NO_FATAL_FAILURE(expect_one_state_each(machine));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Calls, EntryOrder, testing::Range(1U, abi::kCallCount + 1));

}  // namespace
}  // namespace ravelin::test
