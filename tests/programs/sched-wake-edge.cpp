// A sleeper that blocks as a spinner's slice begins and wakes just before, at, or just after that slice's
// end, works a burst and sleeps again: it is never the one whose slice is charged as a whole.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u64;
using workload::Child;
using workload::kSlice;
using workload::Launcher;

constexpr u64 kWeight = 100;
constexpr u64 kThreads = 2;  // of the spinner: it leaves none of two harts idle
constexpr u64 kAround = 7;   // microseconds, each way

/// Parameter 0: a burst.
void wake_at_edges(Child& child) {
    child.begin();
    u64 count = 0;
    for (; child.in_window(); ++count) {
        rt::work({child.parameter(0)});
        rt::sleep({kSlice.value - kAround + count % (2 * kAround + 1)});
    }
    child.report(count);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget waker = launcher.budget(launcher.users(), kWeight, 2);
    launcher.start<workload::spin>(victim, {launcher.piece(), kThreads});
    launcher.start<wake_at_edges>(waker, {launcher.ticks(kSlice).value * 9 / 10});
    launcher.run({});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
