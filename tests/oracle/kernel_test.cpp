// What the oracle says of a kernel that is driven by hand: turns that guests on a machine take rarely.

#include <gtest/gtest.h>

#include "tests/oracle/support.h"
#include "tests/unit/kernel/machine.h"

namespace ravelin::test {
namespace {

std::string findings_of_kernel(Machine& machine) {
    auto& written = machine.kernel.trace;
    written.write(HartIndex{0}, abi::TraceKind::end, 0, machine.port.clock.value, written.count());
    const auto records = written.records();
    oracle::Trace trace{.head = *written.head(), .records = {records.begin(), records.end()}};
    trace.head.records = records.size();
    return findings_of(oracle::replay(trace, {}), trace);
}

// A call comes in behind its own budget's deadline and another's timeout: the rest of the entry is paid by
// who pays for the item found last, as of every entry that found one.
TEST(OfAKernel, ACallOfABudgetThatItsEntryEndedIsTheLastItems) {
    Machine machine;
    const u64 scope = machine.spawn(abi::kBootUsers, 100, 0, abi::kForever, 200, 4);
    machine.spawn(scope, 50, 0, 500);
    machine.port.look = Ticks{1};
    machine.call(abi::Call::receive, {0, 600, abi::kForever});
    const Kernel& kernel = machine.kernel;
    const Budget* runner = kernel.harts[0].runner;
    ASSERT_NE(runner, nullptr);
    ASSERT_NE(runner->parent, kernel.users);
    const Ticks last = kernel.root->timed.first()->due;
    ASSERT_LT(kernel.payers.first()->due, last);
    ASSERT_LT(last, kernel.harts[0].slice_end);
    machine.port.clock = last;
    machine.call(abi::Call::time_now);
    EXPECT_EQ(findings_of_kernel(machine), "");
}

// A call ends its own budget behind another's timeout: the rest of the call is its budget's, whose parent takes
// it on.
TEST(OfAKernel, ACallThatEndsItsOwnBudgetBehindATimeoutIsItsParents) {
    Machine machine;
    const u64 own = machine.spawn(abi::kBootUsers, 100, 0, abi::kForever, 64, 2);
    const u64 page = machine.record_page();
    machine.poke(page, own);
    ASSERT_EQ(machine.call(abi::Call::process_create, {own, 0}), abi::Status::ok);
    ASSERT_EQ(machine.call(abi::Call::process_start, {machine.result(), 0x2000, 0, 0, page, 1}),
              abi::Status::ok);
    machine.port.look = Ticks{1};
    machine.call(abi::Call::receive, {0, 600, abi::kForever});
    const Kernel& kernel = machine.kernel;
    ASSERT_NE(kernel.harts[0].runner, nullptr);
    machine.port.clock = kernel.root->timed.first()->due;
    machine.call(abi::Call::budget_destroy, {1});
    EXPECT_EQ(kernel.harts[0].runner, kernel.root);
    EXPECT_EQ(findings_of_kernel(machine), "");
}

}  // namespace
}  // namespace ravelin::test
