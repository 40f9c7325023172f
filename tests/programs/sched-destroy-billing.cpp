// A budget of weight 1000 carves 990 away into a child, fills the child with empty budgets, and destroys
// it, beside a spinner of equal weight: what the destruction costs is billed at the weight the parent has
// when the carve is back, so it is back on the CPU soon.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u64 kWeight = 1'000;
constexpr u64 kCarved = 990;
constexpr u64 kInside = 40;

/// Carves, fills, destroys; below its own budget, the role handle 0. What it owes at the sliver it kept
/// is a matter of its own: it sleeps that off before it destroys.
void destroy_over_and_over(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    rt::Records& records = child.env().records();
    child.begin();
    u64 count = 0;
    for (; child.in_window(); ++count) {
        rt::Budget carved =
            child.must(rt::budget_create(records, own, {.pages = kInside + 1, .weight = kCarved}));
        for (u64 i = 0; i < kInside; ++i) {
            rt::Budget inside = child.must(rt::budget_create(records, carved, {}));
            inside.forget();
        }
        rt::sleep(rt::milliseconds(2));
        child.must(rt::budget_destroy(carved));
        carved.forget();
        const rt::Ticks until = rt::clock() + child.rate().ticks_of(rt::milliseconds(3));
        while (rt::clock() < until) {
            rt::work({child.parameter(0)});
        }
    }
    child.report(count);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget peer = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget parent = launcher.budget(launcher.users(), kWeight, 2, 1, kInside + 8);
    launcher.start<workload::spin>(peer, {launcher.piece()});
    launcher.start<destroy_over_and_over>(parent, {launcher.piece()}, {parent.index()});
    launcher.run({});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
