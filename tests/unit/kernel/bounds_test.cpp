// The fixed bounds of a process and of the tree are refusals at exactly their figure, and what ends makes
// room again.
#include "core/object/handle.h"
#include "tests/unit/kernel/machine.h"

namespace ravelin::test {
namespace {

using abi::Call;
using abi::Status;

TEST(Bounds, Threads) {
    Machine machine;
    for (u32 count = 1; count < abi::kMaxThreads; ++count)
        ASSERT_EQ(machine.call(Call::thread_create, {0x3000, 0, 0}), Status::ok) << count;
    EXPECT_EQ(machine.call(Call::thread_create, {0x3000, 0, 0}), Status::too_many_threads);
    EXPECT_EQ(machine.thread().process->thread_count, abi::kMaxThreads);
    machine.call(Call::thread_exit);
    EXPECT_EQ(machine.call(Call::thread_create, {0x3000, 0, 0}), Status::ok);
}

TEST(Bounds, Handles) {
    Machine machine;
    ASSERT_EQ(machine.call(Call::endpoint_create), Status::ok);
    const u64 endpoint = machine.result();
    const std::vector<u64> mint{static_cast<u64>(abi::MintSource::handle), endpoint, 0, 1};
    for (u64 handle = endpoint + 1; handle < abi::kMaxHandles; ++handle) {
        ASSERT_EQ(machine.call(Call::mint, mint), Status::ok) << handle;
        ASSERT_EQ(machine.result(), handle);
    }
    const u32 used = machine.kernel.root->pages_used;
    EXPECT_EQ(machine.call(Call::mint, mint), Status::too_large);
    EXPECT_EQ(machine.call(Call::endpoint_create), Status::too_large);
    EXPECT_EQ(machine.call(Call::process_create, {abi::kBootUsers, 0}), Status::too_large);
    EXPECT_EQ(machine.kernel.root->pages_used, used);
    EXPECT_EQ(machine.kernel.process_count, 1u);
    EXPECT_EQ(machine.call(Call::handle_close, {1000}), Status::ok);
    EXPECT_EQ(machine.call(Call::mint, mint), Status::ok);
    EXPECT_EQ(machine.result(), 1000u);
}

TEST(Bounds, Processes) {
    Machine machine;
    u32 made = 1;
    for (u64 budget : {abi::kBootUsers, abi::kBootSystem}) {
        while (machine.call(Call::process_create, {budget, 0}) == Status::ok)
            ++made;
        EXPECT_EQ(static_cast<Status>(machine.running[0]->reg(0)), Status::out_of_processes);
    }
    EXPECT_EQ(made, abi::kMaxProcesses);
    EXPECT_EQ(machine.call(Call::process_create, {abi::kBootRoot, 0}), Status::out_of_processes);
}

TEST(Bounds, Depth) {
    Machine machine;
    u64 parent = abi::kBootUsers;
    for (u32 depth = 2; depth <= abi::kMaxDepth; ++depth)
        parent = machine.spawn(parent, 0, 0, abi::kForever, 40 - depth, 0);
    const u64 page = machine.record_page();
    abi::BudgetSpec spec{};
    spec.deadline = abi::kForever;
    machine.poke(page, spec);
    EXPECT_EQ(machine.call(Call::budget_create, {parent, page}), Status::too_large);
}

TEST(Bounds, Labels) {
    Machine machine;
    const u64 page = machine.record_page();
    abi::BudgetSpec spec{};
    spec.deadline = abi::kForever;
    spec.label_count = abi::kMaxLabels;
    for (u32 place = 0; place < abi::kMaxLabels; ++place)
        spec.labels[place] = 100 - place;
    machine.poke(page, spec);
    EXPECT_EQ(machine.call(Call::budget_create, {abi::kBootUsers, page}), Status::ok);
    spec.label_count += 1;
    machine.poke(page, spec);
    EXPECT_EQ(machine.call(Call::budget_create, {abi::kBootUsers, page}), Status::too_large);
}

}  // namespace
}  // namespace ravelin::test
