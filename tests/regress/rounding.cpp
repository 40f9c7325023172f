// T13: a timeout in microseconds ends a tick early, or later and later, where the clock's rate is no multiple
// of a million. Here a timeout is never early and less than a tick late, at any timebase.
#include "tests/unit/kernel/machine.h"

namespace ravelin::test {
namespace {

class Rounding : public testing::TestWithParam<u64> {};

TEST_P(Rounding, ATimeoutIsNeverEarlyAndAtMostATickLate) {
    const u64 rate = GetParam();
    for (u64 micros : {1ULL, 2ULL, 3ULL, 7ULL, 99ULL, 1'000ULL, 1'001ULL, 33'333ULL, 999'999ULL}) {
        Port port;
        port.board.timebase = rate;
        port.clock = {12'345};
        Kernel kernel(port);
        Port::Context* running = boot(kernel, BootProgram{.entry = 0x1000, .segments = {}});
        ASSERT_NE(running, nullptr);
        running->set_reg(0, abi::kCallBase + static_cast<Word>(abi::Call::receive));
        running->set_reg(1, 0);
        running->set_reg(2, static_cast<Word>(micros));
        running->set_reg(3, 0);
        const u64 start = port.clock.value;
        ASSERT_EQ(enter(kernel, HartIndex{0}, {.kind = TrapKind::call}), nullptr) << "it sleeps";
        const u64 length = port.harts[0].armed.value - start;
        EXPECT_GE(length * 1'000'000, micros * rate) << micros << " us at " << rate;
        EXPECT_LT((length - 1) * 1'000'000, micros * rate) << micros << " us at " << rate;
        port.clock = {start + length - 1};
        EXPECT_EQ(enter(kernel, HartIndex{0}, {.kind = TrapKind::timer}), nullptr)
            << "a tick early it sleeps on";
        port.clock = {start + length};
        EXPECT_NE(enter(kernel, HartIndex{0}, {.kind = TrapKind::timer}), nullptr);
    }
}

INSTANTIATE_TEST_SUITE_P(Timebases, Rounding,
                         testing::Values(10'000'000, 1'000'000, 3'570'000, 32'768, 4'000'000));

}  // namespace
}  // namespace ravelin::test
