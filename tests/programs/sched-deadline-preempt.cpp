// A budget that makes empty budgets due 1.3 slices ahead, one at a time, beside spinners on every hart:
// each deadline falls in the middle of a spinner's slice, each time in another phase of it, and the
// spinner gives up its hart to it.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::Micros;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u64 kWeight = 100;
constexpr Micros kAhead{1'300};
constexpr Micros kPause{2'000};
constexpr Micros kLonger{37};
constexpr u64 kPhases = 27;

/// Makes one empty budget below its own, the role handle 0, and sleeps until its deadline is past.
void make_due(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    child.begin();
    u64 count = 0;
    for (; child.in_window(); ++count) {
        rt::Budget empty = child.must(
            rt::budget_create(child.env().records(), own, {.deadline = rt::time_now() + kAhead}));
        empty.forget();
        rt::sleep({kPause.value + count % kPhases * kLonger.value});
    }
    child.report(count);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget maker = launcher.budget(launcher.users(), kWeight, 2, 1, 4);
    launcher.start<workload::spin>(victim, {launcher.piece(), 2});
    launcher.start<make_due>(maker, {}, {maker.index()});
    launcher.run({.judged = rt::milliseconds(500)});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
