// Two budgets of one user on two harts: one that leads by most of a slice carves its weight down to 1, so
// that its lead is a hundred thousand times as long and the other, whose one thread has a hart of its own,
// is capped and out of the floor; then the other gains a thread. Who wakes now enters at a floor far ahead of
// it, and must not wait until it has caught up.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u64;
using workload::Child;
using workload::kSlice;
using workload::Launcher;

constexpr u64 kWeight = 100'000;

// Microseconds from the window's start.
constexpr u64 kCarves = 30'000;
constexpr u64 kGains = 40'000;
constexpr u64 kWakes = 50'000;

/// Works most of a slice, carves and works on.
///   0 length of a piece   1 a slice, in ticks
void carve(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    child.begin();
    child.sleep_until(child.window().start + child.rate().ticks_of({kCarves}));
    rt::work({child.parameter(1) * 9 / 10});
    rt::Budget most =
        child.must(rt::budget_create(child.env().records(), own, {.weight = kWeight - 1}));
    while (child.in_window())
        rt::work({child.parameter(0)});
    child.report(1);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget carver = launcher.budget(launcher.users(), kWeight, 2);
    rt::Budget grows = launcher.budget(launcher.users(), kWeight, 3, 2);
    launcher.start<workload::spin_gap>(victim, {launcher.piece(), kWakes});
    launcher.start<carve>(carver, {launcher.piece(), launcher.ticks(kSlice).value},
                          {carver.index()});
    launcher.start<workload::spin>(grows, {launcher.piece()});
    launcher.start<workload::spin_gap>(grows, {launcher.piece(), kGains});
    launcher.run({});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
