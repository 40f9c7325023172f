// T18, X7: an interrupt line is still up behind a compare update, or an entry comes without a cause: a
// timer or software interrupt that finds nothing. Here it costs the interrupted budget nothing, ends no
// slice, picks nobody, and the timer is armed for what it was.
#include "tests/unit/kernel/machine.h"

namespace ravelin::test {
namespace {

class WithoutCause : public testing::TestWithParam<TrapKind> {};

TEST_P(WithoutCause, TheRunnerGoesOnAndPaysNothing) {
    Machine machine;
    machine.spawn(abi::kBootUsers, 100, 1);
    machine.port.cost[static_cast<unsigned>(Work::leave)] = Ticks{7};  // an entry takes time
    machine.fire_timer();
    const Hart& hart = machine.kernel.harts[0];
    Budget* runner = hart.runner;
    Port::Context* context = machine.running[0];
    const Ticks slice_end = hart.slice_end;
    const Ticks armed = machine.port.harts[0].armed;
    const Ticks pending = hart.pending;
    for (u32 i = 1; i <= 50; ++i) {
        machine.port.clock += Ticks{3};
        machine.trap({.kind = GetParam()});
        ASSERT_EQ(machine.running[0], context);
        ASSERT_EQ(hart.runner, runner);
        ASSERT_EQ(hart.slice_end, slice_end);
        ASSERT_EQ(machine.port.harts[0].armed, armed);
        // Its own three ticks, and nothing of the entry's seven.
        ASSERT_EQ(hart.pending, pending + Ticks{3 * i});
    }
}

INSTANTIATE_TEST_SUITE_P(Kinds, WithoutCause,
                         testing::Values(TrapKind::timer, TrapKind::kick, TrapKind::external));

}  // namespace
}  // namespace ravelin::test
