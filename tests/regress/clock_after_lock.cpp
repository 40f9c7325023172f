// B2: the clock is read after the wait for the kernel's lock, or not at all for an interrupt from
// another hart, and the wait is lost. Here a wait is its own interval, and what the hart ran pays.
#include "tests/regress/books.h"

namespace ravelin::test {
namespace {

constexpr u64 kWait = 500;

class ClockAfterLock : public testing::TestWithParam<TrapKind> {
  protected:
    ClockAfterLock() : machine(2) {
        machine.running[1] = hart_online(machine.kernel, HartIndex{1});
        runner = machine.thread().process->budget->head.id;
    }

    // Hart 1 holds the lock; it lets go kWait ticks into hart 0's wait.
    void hold() {
        machine.kernel.lock.acquire(machine.port, HartIndex{1}, [] {});
        machine.port.on_wait_data = &machine.kernel;
        machine.port.on_wait = [](Port& port, HartIndex) {
            port.clock += Ticks{kWait};
            static_cast<Kernel*>(port.on_wait_data)->lock.release(port, HartIndex{1});
            port.on_wait = nullptr;
        };
    }

    Machine machine;
    u64 runner = 0;
};

TEST_P(ClockAfterLock, TheWaitIsPaidByWhatTheHartRan) {
    const u64 from = machine.kernel.trace.count();
    const u64 before = machine.port.clock.value;
    hold();
    if (GetParam() == TrapKind::call) {
        machine.call(abi::Call::time_now);
    } else {
        machine.trap({.kind = GetParam()});
    }
    EXPECT_EQ(machine.port.clock.value, before + kWait);
    Books books = books_of(machine, from);
    EXPECT_EQ(books.reason[abi::TraceCharge::lock_wait], kWait);
    EXPECT_EQ(books.paid[runner], kWait);
    EXPECT_EQ(books.paid[0], 0U);
}

INSTANTIATE_TEST_SUITE_P(Entries, ClockAfterLock,
                         testing::Values(TrapKind::call, TrapKind::timer, TrapKind::kick,
                                         TrapKind::external));

TEST_F(ClockAfterLock, AWaitFromIdleIsNobodys) {
    ASSERT_EQ(machine.running[1], nullptr);
    const u64 from = machine.kernel.trace.count();
    machine.kernel.lock.acquire(machine.port, HartIndex{0}, [] {});
    machine.port.on_wait_data = &machine.kernel;
    machine.port.on_wait = [](Port& port, HartIndex) {
        port.clock += Ticks{kWait};
        static_cast<Kernel*>(port.on_wait_data)->lock.release(port, HartIndex{0});
        port.on_wait = nullptr;
    };
    machine.trap({.kind = TrapKind::kick}, 1);
    Books books = books_of(machine, from);
    EXPECT_EQ(books.paid[0], kWait);
    EXPECT_EQ(books.paid.size(), 1U);
}

}  // namespace
}  // namespace ravelin::test
