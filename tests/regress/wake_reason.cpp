// W7: a spurious wake reaches the user as a timeout. Here a sleeper whose hart is kicked, or whose timer comes
// early, sleeps on, and its time is exact.
#include "tests/unit/kernel/machine.h"

namespace ravelin::test {
namespace {

TEST(WakeReason, AKickedSleeperSleepsOn) {
    Machine machine;
    const Ticks start = machine.port.clock;
    Port::Context* sleeper = machine.running[0];
    machine.call(abi::Call::receive, {0, 1'000, 0});  // sleeps 1,000 us
    ASSERT_EQ(machine.running[0], nullptr);
    const Ticks due = machine.port.harts[0].armed;
    EXPECT_GE(due, start + Ticks{10'000});
    for (u64 ticks : {1u, 10u, 100u, 5'000u, 9'999u}) {
        for (TrapKind kind : {TrapKind::kick, TrapKind::timer, TrapKind::external}) {
            machine.port.clock = start + Ticks{ticks};
            machine.trap({.kind = kind});
            ASSERT_EQ(machine.running[0], nullptr) << ticks;
            ASSERT_EQ(machine.port.harts[0].armed, due) << ticks;
        }
    }
    machine.port.clock = due;
    machine.trap({.kind = TrapKind::timer});
    EXPECT_EQ(machine.running[0], sleeper);
}

}  // namespace
}  // namespace ravelin::test
