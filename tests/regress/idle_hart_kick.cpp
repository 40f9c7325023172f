// F22: a runnable task is stranded while a CPU idles without a tick. Here an entry that leaves work
// no hart runs kicks one idle hart, which takes it, and that one kicks the next.
#include "tests/unit/kernel/machine.h"

namespace ravelin::test {
namespace {

void come_online(Machine& machine, u32 harts) {
    for (u32 hart = 1; hart < harts; ++hart) {
        machine.running[hart] = hart_online(machine.kernel, HartIndex{hart});
        ASSERT_EQ(machine.running[hart], nullptr);
    }
}

TEST(IdleHartKick, AWakeReachesAnIdleHart) {
    Machine machine(2);
    come_online(machine, 2);
    machine.port.harts[1].kicked = false;
    machine.spawn(abi::kBootUsers, 100);
    ASSERT_TRUE(machine.port.harts[1].kicked) << "a thread became ready and hart 1 idles";
    machine.trap({.kind = TrapKind::kick}, 1);
    ASSERT_NE(machine.running[1], nullptr);
    EXPECT_NE(machine.thread(1).process->budget, machine.kernel.root);
}

TEST(IdleHartKick, EachHartWakesTheNextWhileWorkIsLeft) {
    Machine machine(4);
    come_online(machine, 4);
    for (u64 account = 1; account <= 3; ++account)
        machine.spawn(abi::kBootUsers, 100, account);
    for (u32 round = 0; round < 4; ++round) {
        for (u32 hart = 1; hart < 4; ++hart) {
            if (!machine.port.harts[hart].kicked || machine.running[hart] != nullptr) continue;
            machine.port.harts[hart].kicked = false;
            machine.trap({.kind = TrapKind::kick}, hart);
        }
    }
    for (u32 hart = 0; hart < 4; ++hart)
        EXPECT_NE(machine.running[hart], nullptr) << hart;
    EXPECT_EQ(machine.kernel.queue.pick(), nullptr);
    EXPECT_EQ(machine.kernel.idle, 0U);
}

TEST(IdleHartKick, AnExpiredTimeoutsWakeReachesAnIdleHartToo) {
    Machine machine(2);
    come_online(machine, 2);
    machine.spawn(abi::kBootUsers, 100, 1);
    machine.trap({.kind = TrapKind::kick}, 1);
    ASSERT_NE(machine.running[1], nullptr);
    // Both run; the one on hart 1 sleeps, hart 1 idles, and its timeout is found on hart 0.
    machine.call(abi::Call::receive, {0, 100, 0}, 1);
    ASSERT_EQ(machine.running[1], nullptr);
    machine.port.harts[1].kicked = false;
    machine.port.clock += Ticks{2000};
    machine.call(abi::Call::time_now, {}, 0);
    ASSERT_TRUE(machine.port.harts[1].kicked);
    machine.trap({.kind = TrapKind::kick}, 1);
    EXPECT_NE(machine.running[1], nullptr);
}

}  // namespace
}  // namespace ravelin::test
