// A shell that gives a child half its weight and takes it back with no run between, five times a slice,
// beside a spinner of equal weight: creating and destroying moves nothing.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u64 kWeight = 100;
constexpr u64 kPairs = 5;

/// Carves half of this process's own budget, the role handle 0, away and back.
///   0 work between two rounds of pairs
void shell(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    child.begin();
    u64 count = 0;
    while (child.in_window()) {
        for (u64 i = 0; i < kPairs; ++i, ++count) {
            rt::Budget half =
                child.must(rt::budget_create(child.env().records(), own, {.weight = kWeight / 2}));
            child.must(rt::budget_destroy(half));
        }
        rt::work({child.parameter(0)});
    }
    child.report(count);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget churner = launcher.budget(launcher.users(), kWeight, 2);
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<shell>(churner, {launcher.ticks(workload::kSlice).value * 9 / 10},
                          {churner.index()});
    launcher.run({});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
