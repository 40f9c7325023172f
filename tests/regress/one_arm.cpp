// T8: the compare register is rewritten in a loop, or several times an interrupt, and time drifts. Here an
// entry arms at most once, and not at all if the hart's timer stays where it is.
#include "tests/unit/kernel/machine.h"

namespace ravelin::test {
namespace {

TEST(OneArm, AnEntryArmsAtMostOnce) {
    Machine machine;
    for (u64 account = 1; account <= 3; ++account)
        machine.spawn(abi::kBootUsers, 100, account);
    const u32& arms = machine.port.harts[0].arms;
    u32 before = arms;
    const auto expect_one = [&](const char* what) {
        EXPECT_LE(arms - before, 1U) << what;
        before = arms;
    };
    for (u32 round = 0; round < 200; ++round) {
        machine.fire_timer();
        expect_one("a slice's end");
        machine.port.clock += Ticks{50};
        machine.call(abi::Call::time_now);
        EXPECT_EQ(arms, before) << "a call that moves no timer arms none";
        before = arms;
        machine.trap({.kind = TrapKind::timer});
        expect_one("a timer interrupt that came early");
        // Many ticks late: one arming catches up.
        machine.port.clock += Ticks{1'000'000};
        machine.fire_timer();
        expect_one("a late one");
    }
}

}  // namespace
}  // namespace ravelin::test
