// The conservation law holds at every entry of a busy kernel, each of its terms is what the trace
// tells, and a tick that is lost or charged twice ends the machine.
#include <random>

#include "core/object/shootdown.h"
#include "tests/unit/kernel/machine.h"

namespace ravelin::test {
namespace {

using abi::TraceCharge;
using abi::TraceKind;

// What the records so far say of each term.
struct Told {
    u64 paid = 0;
    u64 nobody[Ledger::kReasons] = {};
    u64 topped_up = 0;
    std::size_t read = 0;

    void read_on(const Kernel& kernel) {
        const auto records = kernel.trace.records();
        for (; read < records.size(); ++read) {
            const abi::TraceRecord& record = records[read];
            const auto kind = static_cast<TraceKind>(record.kind);
            if (kind == TraceKind::top_up) topped_up += record.x;
            if (kind != TraceKind::charge) continue;
            (record.id == 0 ? nobody[record.what] : paid) += record.x;
        }
    }
};

class Ledgers : public testing::TestWithParam<u32> {};

TEST_P(Ledgers, AgreeWithTheTraceTermByTerm) {
    const u32 harts = GetParam();
    Machine machine(harts, 2048);
    machine.port.on_wait = [](Port& port, HartIndex self) {
        auto& kernel = *static_cast<Kernel*>(port.on_wait_data);
        for (u32 index = 0; index < kernel.hart_count; ++index)
            if (index != self.value) serve_shootdown(kernel, kernel.harts[index]);
    };
    machine.port.on_wait_data = &machine.kernel;
    for (u32 hart = 1; hart < harts; ++hart)
        machine.running[hart] = hart_online(machine.kernel, HartIndex{hart});
    for (u32 weight : {100u, 7u, 300u, 1u})
        machine.spawn(abi::kBootUsers, weight, weight);
    machine.spawn(abi::kBootUsers, 50, 0, 30'000);
    u64 short_lived = machine.spawn(abi::kBootUsers, 20);

    std::mt19937_64 random(harts);
    Told told;
    const Ledger& ledger = machine.kernel.ledger;
    for (int step = 0; step < 4000; ++step) {
        const u32 hart = static_cast<u32>(random() % harts);
        machine.port.clock += Ticks{random() % 3 == 0 ? random() % 12'000 : random() % 3};
        machine.port.cost.fill(Ticks{random() % 3});
        const bool idle = machine.running[hart] == nullptr;
        if (step == 2000) {
            // Whoever holds the handle destroys the short-lived; the others are refused.
            if (!idle) machine.call(abi::Call::budget_destroy, {short_lived}, hart);
        } else if (idle || random() % 4 != 0) {
            machine.trap({.kind = random() % 8 == 0 ? TrapKind::kick : TrapKind::timer}, hart);
        } else {
            const u64 sleep = random() % 3 == 0 ? 0 : random() % 2'000;
            machine.call(abi::Call::receive, {0, sleep, 0}, hart);
        }
        told.read_on(machine.kernel);
        ASSERT_EQ(ledger.charged + ledger.pending, told.paid + told.topped_up);
        ASSERT_EQ(ledger.topped_up, told.topped_up);
        ASSERT_EQ(ledger.cut, 0u);
        for (u32 reason = 0; reason < Ledger::kReasons; ++reason)
            ASSERT_EQ(ledger.nobody[reason], told.nobody[reason]) << "reason " << reason;
    }
    EXPECT_EQ(machine.kernel.trace.dropped(), 0u);
    EXPECT_GT(ledger.charged, 0u);
    EXPECT_GT(ledger.topped_up, 0u);
    EXPECT_GT(ledger.nobody[static_cast<u32>(TraceCharge::kick)], 0u);
    EXPECT_GT(ledger.nobody[static_cast<u32>(TraceCharge::nothing)], 0u);
    EXPECT_GT(ledger.nobody[static_cast<u32>(TraceCharge::no_pick)], 0u);
    EXPECT_GT(ledger.nobody[static_cast<u32>(TraceCharge::idle)], 0u);
}

INSTANTIATE_TEST_SUITE_P(Harts, Ledgers, testing::Values(1u, 2u, 4u));

TEST(Ledger, CountsWhatOneFoldLeavesOut) {
    Machine machine;
    machine.spawn(abi::kBootUsers, 100);
    machine.port.clock += Ticks{stride::kRuntimeCap + 5};
    machine.fire_timer();
    EXPECT_EQ(machine.kernel.ledger.cut, 5u);
}

class LedgerDeathTest : public testing::Test {
  protected:
    LedgerDeathTest() {
        testing::FLAGS_gtest_death_test_style = "threadsafe";
        machine.spawn(abi::kBootUsers, 100);
        machine.port.clock += Ticks{100};
    }
    Hart& hart() { return machine.kernel.harts[0]; }
    void next_entry() { machine.trap({.kind = TrapKind::kick}); }

    Machine machine;
};

TEST_F(LedgerDeathTest, ATickThatIsNotBilled) {
    EXPECT_DEATH((hart().since += Ticks{1}, next_entry()), "ledger.accounted");
}
TEST_F(LedgerDeathTest, ATickThatIsBilledTwice) {
    EXPECT_DEATH((hart().since = hart().since - Ticks{1}, next_entry()), "ledger.accounted");
}
TEST_F(LedgerDeathTest, PendingTimeThatIsForgotten) {
    next_entry();
    ASSERT_NE(hart().pending, Ticks{});
    EXPECT_DEATH((hart().pending = {}, next_entry()), "ledger.pending");
}
TEST_F(LedgerDeathTest, ChargedTimeThatNoPassTook) {
    EXPECT_DEATH((machine.kernel.ledger.charged += 1, next_entry()), "ledger.accounted");
}

// What the assertion on arming rests on: a timer is armed once the lock is free (core/port.h).
TEST(LockHolder, IsTheHartThatTookIt) {
    Port port(2);
    Lock lock;
    EXPECT_FALSE(lock.held_by(HartIndex{0}));
    lock.acquire(port, HartIndex{0}, [] {});
    EXPECT_TRUE(lock.held_by(HartIndex{0}));
    EXPECT_FALSE(lock.held_by(HartIndex{1}));
    lock.release(port, HartIndex{0});
    EXPECT_FALSE(lock.held_by(HartIndex{0}));
}

}  // namespace
}  // namespace ravelin::test
