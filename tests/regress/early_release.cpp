// F19: what was put off is treated as due before it is. Here no timeout ends early, at any rate of
// the timebase and any length, and none later than the tick after.
#include <random>

#include "core/time/timers.h"
#include "tests/unit/kernel/machine.h"

namespace ravelin::test {
namespace {

constexpr u64 kRates[] = {10'000'000, 1'000'000, 3'579'545, 32'768, 1};

TEST(EarlyRelease, ALengthIsRoundedUpToTheNextTick) {
    Machine machine;
    std::mt19937_64 random(19);
    for (const u64 rate : kRates) {
        machine.kernel.ticks_per_second = rate;
        for (int round = 0; round < 20'000; ++round) {
            const u64 length = random() >> (24 + random() % 40);
            const unsigned __int128 ticks = timers::ticks_of(machine.kernel, Micros{length}).value;
            const unsigned __int128 wanted = static_cast<unsigned __int128>(length) * rate;
            ASSERT_TRUE(ticks * 1'000'000 >= wanted) << rate << " " << length;
            ASSERT_TRUE(ticks * 1'000'000 < wanted + 1'000'000) << rate << " " << length;
        }
    }
}

TEST(EarlyRelease, NoSleeperIsWokenBeforeItsTime) {
    std::mt19937_64 random(20);
    for (const u64 rate : kRates) {
        if (rate < 1000) continue;  // a slice is less than a tick
        Machine machine;
        machine.kernel.ticks_per_second = rate;
        for (int round = 0; round < 200; ++round) {
            const u64 before = machine.port.clock.value;
            const u64 length = 1 + random() % 100'000;
            machine.call(abi::Call::receive, {0, length, 0});
            if (machine.running[0] == nullptr) {
                // A tick early the interrupt finds nothing and the sleeper sleeps on.
                machine.port.clock = {machine.port.harts[0].armed.value - 1};
                machine.trap({.kind = TrapKind::timer});
                ASSERT_EQ(machine.running[0], nullptr);
                machine.fire_timer();
            }
            ASSERT_NE(machine.running[0], nullptr);
            ASSERT_EQ(static_cast<abi::Status>(machine.result(0)), abi::Status::timeout);
            ASSERT_GE((machine.port.clock.value - before) * 1'000'000, length * rate);
        }
    }
}

}  // namespace
}  // namespace ravelin::test
