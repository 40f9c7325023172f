// F17: the slice is not reset, or reset at the wrong switch: a thread gets none or two. Here, for
// each way a thread leaves the CPU, the next one has one whole slice from its return to user mode.
#include "tests/unit/kernel/machine.h"

namespace ravelin::test {
namespace {

class SliceReset : public testing::Test {
  protected:
    SliceReset() {
        for (u64 account = 1; account <= 3; ++account) {
            handles.push_back(machine.spawn(abi::kBootUsers, 100, account));
        }
        machine.call(abi::Call::receive, {0, 1'000'000'000, 0});
        slice = machine.kernel.slice.value;
    }
    // The thread on the hart has that many ticks left.
    u64 left() const { return machine.kernel.harts[0].slice_end.value - machine.port.clock.value; }
    void pass(u64 ticks) { machine.port.clock += Ticks{ticks}; }

    Machine machine;
    std::vector<u64> handles;
    u64 slice = 0;
};

TEST_F(SliceReset, AfterASliceEnd) {
    for (int round = 0; round < 10; ++round) {
        EXPECT_EQ(left(), slice);
        EXPECT_EQ(machine.port.harts[0].armed.value, machine.kernel.harts[0].slice_end.value);
        machine.fire_timer();
    }
}

TEST_F(SliceReset, AfterALoneThreadsSliceEnd) {
    Machine lone;
    for (int round = 0; round < 5; ++round) {
        lone.fire_timer();
        EXPECT_EQ(lone.kernel.harts[0].slice_end.value - lone.port.clock.value, slice);
    }
}

TEST_F(SliceReset, AfterABlock) {
    pass(slice / 3);
    machine.call(abi::Call::receive, {0, ~u64{0}, ~u64{0}});
    EXPECT_EQ(left(), slice);
}

TEST_F(SliceReset, AfterAnExit) {
    pass(slice / 3);
    machine.call(abi::Call::process_exit, {0});
    EXPECT_EQ(left(), slice);
    pass(slice / 2);
    machine.call(abi::Call::thread_exit);
    EXPECT_EQ(left(), slice);
}

TEST_F(SliceReset, AfterAFault) {
    pass(slice / 3);
    machine.trap({.kind = TrapKind::fault, .fault = FaultKind::illegal});
    EXPECT_EQ(left(), slice);
}

TEST_F(SliceReset, ACallThatReturnsGoesOnInTheSliceItIsIn) {
    pass(slice / 3);
    machine.call(abi::Call::time_now);
    EXPECT_EQ(left(), slice - slice / 3);
    pass(slice / 3);
    machine.call(abi::Call::random);
    EXPECT_EQ(left(), slice - 2 * (slice / 3));
}

TEST_F(SliceReset, AnInterruptThatFindsNothingLeavesTheSliceAsItIs) {
    pass(slice / 3);
    machine.trap({.kind = TrapKind::timer});
    EXPECT_EQ(left(), slice - slice / 3);
    machine.trap({.kind = TrapKind::kick});
    EXPECT_EQ(left(), slice - slice / 3);
}

TEST(SliceStart, TheKernelsOwnTimeBehindThePickIsNotOfTheSlice) {
    Machine machine;
    machine.spawn(abi::kBootUsers, 100);
    machine.port.cost[static_cast<unsigned>(Work::pick)] = Ticks{70};
    machine.port.cost[static_cast<unsigned>(Work::switched)] = Ticks{50};
    machine.call(abi::Call::receive, {0, ~u64{0}, ~u64{0}});
    const Hart& hart = machine.kernel.harts[0];
    EXPECT_EQ(hart.slice_end.value - hart.since.value, machine.kernel.slice.value);
    EXPECT_EQ(hart.since.value, machine.port.clock.value);
}

}  // namespace
}  // namespace ravelin::test
