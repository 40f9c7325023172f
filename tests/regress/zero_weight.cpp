// F3: a weight of 0, or all weights invalid, makes picking loop without end. Here a budget without
// free weight holds no process, and no carve takes the last weight from one that does.
#include "tests/unit/kernel/machine.h"

namespace ravelin::test {
namespace {

TEST(ZeroWeight, ABudgetWithoutFreeWeightTakesNoProcess) {
    Machine machine;
    const u64 empty = machine.spawn(abi::kBootUsers, 0);
    EXPECT_EQ(machine.call(abi::Call::process_create, {empty, 0}), abi::Status::invalid_argument);
    EXPECT_EQ(machine.kernel.process_count, 1U);
}

TEST(ZeroWeight, ABudgetWhoseWeightIsAllCarvedTakesNoProcess) {
    Machine machine;
    const u64 page = machine.record_page();
    abi::BudgetSpec spec{.pages = 100,
                         .processes = 2,
                         .weight = 50,
                         .label_count = 0,
                         .labels = {},
                         .account = 0,
                         .deadline = abi::kForever};
    machine.poke(page, spec);
    ASSERT_EQ(machine.call(abi::Call::budget_create, {abi::kBootUsers, page}), abi::Status::ok);
    const u64 parent = machine.result();
    spec.pages = 10;
    spec.processes = 1;
    machine.poke(page, spec);
    ASSERT_EQ(machine.call(abi::Call::budget_create, {parent, page}), abi::Status::ok);
    EXPECT_EQ(machine.call(abi::Call::process_create, {parent, 0}), abi::Status::invalid_argument);
}

TEST(ZeroWeight, NoCarveTakesTheLastWeightFromABudgetWithAProcess) {
    Machine machine;
    const u64 budget = machine.spawn(abi::kBootUsers, 50, 0, abi::kForever, 100, 3);
    const u64 page = machine.record_page();
    abi::BudgetSpec spec{.pages = 10,
                         .processes = 1,
                         .weight = 50,
                         .label_count = 0,
                         .labels = {},
                         .account = 0,
                         .deadline = abi::kForever};
    machine.poke(page, spec);
    EXPECT_EQ(machine.call(abi::Call::budget_create, {budget, page}),
              abi::Status::invalid_argument);
    spec.weight = 49;
    machine.poke(page, spec);
    EXPECT_EQ(machine.call(abi::Call::budget_create, {budget, page}), abi::Status::ok);
}

}  // namespace
}  // namespace ravelin::test
