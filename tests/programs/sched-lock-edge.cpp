// A caller that holds the kernel lock about when a victim's slice ends on the other hart: it maps and
// unmaps many pages, in phases that go through the slice, and works in between.

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
constexpr rt::Word kPages = 64;

/// Parameter 0: a slice in ticks.
void hold_the_lock(Child& child) {
    child.begin();
    u64 count = 0;
    for (; child.in_window(); ++count) {
        const rt::Word address =
            child.must(rt::map_anon(kPages * rt::kPageSize, abi::kRead | abi::kWrite));
        child.must(rt::unmap(address, kPages * rt::kPageSize));
        rt::work({child.parameter(0) * (count % 9) / 10});
    }
    child.report(count);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1, 1, 16);
    rt::Budget holder = launcher.budget(launcher.users(), kWeight, 2, 1, kPages + 16);
    launcher.start<workload::spin>(victim, {launcher.piece(), 2});
    launcher.start<hold_the_lock>(holder, {launcher.ticks(kSlice).value});
    launcher.run({});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
