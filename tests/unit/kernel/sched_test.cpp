// The scheduler's rarer turns in a whole kernel: payers that die, budgets that lose their last thread to
// another's end, and the end of root itself.
#include <utility>

#include "core/object/shootdown.h"
#include "core/sched/sched.h"
#include "core/sched/zeroing.h"
#include "tests/unit/kernel/machine.h"

namespace ravelin::test {
namespace {

constexpr u64 kForEver = ~u64{0};

// What the other harts do while one waits for their answers.
void answer_shootdowns(Machine& machine) {
    machine.port.on_wait = [](Port& port, HartIndex self) {
        auto& kernel = *static_cast<Kernel*>(port.on_wait_data);
        for (u32 index = 0; index < kernel.hart_count; ++index)
            if (index != self.value) serve_shootdown(kernel, kernel.harts[index]);
    };
    machine.port.on_wait_data = &machine.kernel;
}

TEST(Scheduling, RootCanEnd) {
    Machine machine;
    machine.spawn(abi::kBootUsers, 100);
    machine.call(abi::Call::budget_destroy, {abi::kBootRoot});
    EXPECT_EQ(machine.running[0], nullptr);
    EXPECT_EQ(machine.kernel.root, nullptr);
    EXPECT_TRUE(machine.kernel.queue.empty());
}

// A budget maps a page, gives it back and sleeps: the hart that idles has its frame to zero.
void free_a_frame_and_idle(Machine& machine) {
    machine.call(abi::Call::receive, {0, kForEver, kForEver});
    const u64 page = machine.record_page();
    machine.call(abi::Call::unmap, {page, kPageSize});
    machine.call(abi::Call::receive, {0, kForEver, kForEver});
    ASSERT_EQ(machine.running[0], nullptr);
    ASSERT_NE(machine.kernel.harts[0].zeroing.value, 0u);
}

TEST(Zeroing, IsPaidByWhoFreedTheFrame) {
    Machine machine;
    machine.spawn(abi::kBootUsers, 100);
    machine.port.cost[static_cast<unsigned>(Work::frame)] = Ticks{500};
    free_a_frame_and_idle(machine);
    const FrameNumber frame = machine.kernel.harts[0].zeroing;
    Budget& payer = *machine.kernel.harts[0].payer;
    EXPECT_EQ(payer.weight_limit, 100u);
    const U128 before = payer.entity.pass;
    machine.fire_timer();
    EXPECT_GE((payer.entity.pass.minus(before)).low, 500u * stride::kStride / 100);
    EXPECT_EQ(machine.kernel.frames.take(machine.port).value, frame.value) << "it is clean";
}

TEST(Zeroing, OfAPayerThatADeadlineDestroysIsItsParents) {
    Machine machine;
    machine.spawn(abi::kBootUsers, 100, 0, 5'000);
    free_a_frame_and_idle(machine);
    const U128 before = machine.kernel.users->entity.pass;
    machine.port.clock = Ticks{1'000'000};
    machine.fire_timer();
    EXPECT_GT(machine.kernel.users->entity.pass, before);
    EXPECT_EQ(machine.kernel.harts[0].zeroed_for, nullptr);
}

// A budget whose process has ended owes a frame; while a hart zeroes it, all of its weight goes to a child.
TEST(Zeroing, OfAPayerThatGivesItsWeightAwayIsItsParents) {
    Machine machine(2);
    machine.running[1] = hart_online(machine.kernel, HartIndex{1});
    const u64 scope = machine.spawn(abi::kBootUsers, 100, 0, abi::kForever, 64, 2);
    machine.port.cost[static_cast<unsigned>(Work::frame)] = Ticks{500};
    machine.trap({.kind = TrapKind::kick}, 1);
    ASSERT_NE(machine.running[1], nullptr) << "the other hart has the child";
    machine.call(abi::Call::process_exit, {0}, 1);
    ASSERT_EQ(machine.running[1], nullptr);
    Hart& zeroes = machine.kernel.harts[1];
    ASSERT_NE(zeroes.zeroing.value, 0u);
    Budget& payer = *zeroes.payer;
    ASSERT_EQ(payer.weight_limit, 100u);
    machine.spawn(scope, 100, 0, abi::kForever, 16, 1);
    EXPECT_EQ(payer.free_weight(), 0u);
    EXPECT_EQ(zeroes.payer, machine.kernel.users);
    machine.port.clock += Ticks{1'000};
    machine.trap({.kind = TrapKind::timer}, 1);
}

TEST(Zeroing, IsNobodysWhileNoWeightIsLeft) {
    Machine machine;
    Kernel& kernel = machine.kernel;
    kernel.frames.give(kernel.frames.take(machine.port));
    kernel.frames.owe(&kernel.root->unclean);
    const u32 carved = std::exchange(kernel.root->weight_carved, kernel.root->weight_limit);
    EXPECT_EQ(sched::begin_zeroing(kernel, kernel.harts[0]), nullptr);
    EXPECT_EQ(kernel.frames.owing(), nullptr);
    kernel.root->weight_carved = carved;
}

TEST(Scheduling, ADeadlineBelowAWeightlessParentIsPaidAbove) {
    Machine machine;
    const u64 scope = machine.spawn(abi::kBootUsers, 0);
    machine.spawn(scope, 0, 0, 5'000, 0, 0);
    const U128 before = machine.kernel.users->entity.pass;
    machine.port.cost.fill(Ticks{2});
    machine.call(abi::Call::receive, {0, kForEver, kForEver});
    machine.fire_timer();
    EXPECT_GT(machine.kernel.users->entity.pass, before);
}

// The hart that ran the child runs on until it notices; who pays for that dies too.
TEST(Scheduling, APayerForADeadRunnerIsChargedWhenItDiesToo) {
    Machine machine(2);
    answer_shootdowns(machine);
    const u64 parent = machine.spawn(abi::kBootUsers, 100, 0, abi::kForever, 200, 4);
    const u64 child = machine.spawn(parent, 50);
    machine.running[1] = hart_online(machine.kernel, HartIndex{1});
    Budget* of_child = nullptr;
    for (int slice = 0; slice < 4; ++slice) {
        Budget* runner = machine.kernel.harts[1].runner;
        if (runner != nullptr && runner->parent != machine.kernel.users) of_child = runner;
        if (of_child != nullptr) break;
        machine.fire_timer(1);
    }
    ASSERT_NE(of_child, nullptr);
    const u64 users = machine.kernel.users->head.id;
    ASSERT_EQ(machine.call(abi::Call::budget_destroy, {child}), abi::Status::ok);
    ASSERT_EQ(machine.kernel.harts[1].runner, nullptr);
    ASSERT_EQ(machine.kernel.harts[1].payer->parent->head.id, users);
    machine.port.clock += Ticks{700};
    ASSERT_EQ(machine.call(abi::Call::budget_destroy, {parent}), abi::Status::ok);
    EXPECT_EQ(machine.kernel.harts[1].payer->head.id, users);
    machine.trap({.kind = TrapKind::kick}, 1);
    EXPECT_TRUE(machine.kernel.queue.consistent());
}

// A process runs in one budget and is paid for by another: when that dies, the first loses its last
// thread in an entry that is none of its own.
TEST(Scheduling, ABudgetLosesItsLastWaitingThreadToAnothersEnd) {
    Machine machine;
    const u64 page = machine.record_page();
    abi::BudgetSpec spec{};
    spec.pages = 64;
    spec.processes = 2;
    spec.weight = 100;
    spec.deadline = abi::kForever;
    machine.poke(page, spec);
    ASSERT_EQ(machine.call(abi::Call::budget_create, {abi::kBootUsers, page}), abi::Status::ok);
    const u64 where = machine.result();
    ASSERT_EQ(machine.call(abi::Call::budget_create, {abi::kBootUsers, page}), abi::Status::ok);
    const u64 who = machine.result();
    ASSERT_EQ(machine.call(abi::Call::process_create, {who, 0}), abi::Status::ok);
    const u64 process = machine.result();
    machine.poke(page, where);
    ASSERT_EQ(machine.call(abi::Call::process_start, {process, 0x2000, 0, 0, page, 1}),
              abi::Status::ok);
    // The launcher naps; the creator makes a process in the other budget, which waits when the
    // launcher runs again.
    machine.call(abi::Call::receive, {0, 100, 0});
    ASSERT_NE(machine.running[0], nullptr);
    ASSERT_EQ(machine.call(abi::Call::process_create, {1, 0}), abi::Status::ok);
    const u64 made = machine.result();
    ASSERT_EQ(machine.call(abi::Call::process_start, {made, 0x2000, 0, 0, 0, 0}), abi::Status::ok);
    machine.port.clock += Ticks{2'000};
    machine.call(abi::Call::receive, {0, kForEver, kForEver});
    for (int slice = 0; machine.thread().process->budget != machine.kernel.root; ++slice) {
        ASSERT_LT(slice, 1'000);
        machine.fire_timer();
    }
    ASSERT_EQ(machine.kernel.queue.size(), 2u);
    ASSERT_EQ(machine.call(abi::Call::budget_destroy, {who}), abi::Status::ok);
    EXPECT_EQ(machine.kernel.queue.size(), 1u);
    EXPECT_FALSE(machine.kernel.queue.has_dormant());
}

}  // namespace
}  // namespace ravelin::test
