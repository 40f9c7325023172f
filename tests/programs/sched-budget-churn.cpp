// A churner that makes child budgets of weight 1, lets a process in each run about a slice and destroys
// them, over and over, beside a spinner of equal weight: what a child ran is the churner's debt,
// whoever destroys it and from how deep. One window for each way.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::Micros;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::kSlice;
using workload::Launcher;

constexpr u64 kWeight = 100;
constexpr u64 kChildWeight = 1;

/// How a round goes. Parameter 0 of churn.
enum class Way : u64 {
    blocking,      ///< three children run while the churner sleeps, and then it destroys them
    intermediate,  ///< likewise, but it destroys fresh budgets between itself and them
    spinning,      ///< one child, which the churner destroys at about its own slice's end
    deadline,      ///< likewise, but the child's deadline destroys it
};
constexpr Way kWays[] = {Way::blocking, Way::intermediate, Way::spinning, Way::deadline};

constexpr u64 kMostChildren = 3;

// About the time in which all children beside a victim get their slice.
constexpr Micros kRound{kSlice.value * (kMostChildren + 1)};

// A deadline comes when its child has had the time to start and to run.
constexpr Micros kLife{kSlice.value * 2};

/// One child budget and, for Way::intermediate, the one between it and the churner.
struct Lineage {
    rt::Budget between;
    rt::Budget child;
};

// Makes a child budget of `parent` and starts a process in it. False: it could not be had.
bool make(Child& child, const rt::Budget& parent, Lineage& lineage, Way way) {
    rt::Records& records = child.env().records();
    rt::BudgetLimits limits{.pages = rt::copy_pages(), .processes = 1, .weight = kChildWeight};
    if (way == Way::intermediate) {
        // A page and some weight more, because it holds the other and keeps what is not carved.
        lineage.between = child.must(rt::budget_create(
            records, parent,
            {.pages = limits.pages + 2, .processes = 1, .weight = kChildWeight + 1}));
    }
    if (way == Way::deadline) {
        limits.deadline = rt::time_now() + kLife;
    }
    rt::Result<rt::Budget> made =
        rt::budget_create(records, way == Way::intermediate ? lineage.between : parent, limits);
    if (!made.ok()) {
        return false;
    }
    lineage.child = std::move(made.value());
    return rt::start_copy<workload::busy>(records, lineage.child,
                                          static_cast<Word>(child.parameter(1)), {})
        .ok();
}

/// Churns below this process's own budget, the role handle 0.
///   0 Way   1 length of a child's piece   2 the churner's spin
void churn(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    const Way way{child.parameter(0)};
    const bool sleeps = way == Way::blocking || way == Way::intermediate;
    const u64 children = sleeps ? kMostChildren : 1;
    child.begin();
    u64 count = 0;
    while (child.in_window()) {
        Lineage lineages[kMostChildren];
        for (u64 i = 0; i < children; ++i, ++count) {
            // Only where the children before it are still to be destroyed may there be no room.
            if (!make(child, own, lineages[i], way) && way != Way::deadline) {
                child.fail(__builtin_LINE());
            }
        }
        if (sleeps) {
            rt::sleep(kRound);
        } else {
            rt::work({child.parameter(2)});
        }
        for (Lineage& lineage : lineages) {
            if (way == Way::intermediate) {
                child.must(rt::budget_destroy(lineage.between));
            } else if (way != Way::deadline && lineage.child) {
                child.must(rt::budget_destroy(lineage.child));
            }
            // It is gone, or its deadline takes it, and its handle with it.
            lineage.child.forget();
        }
    }
    child.report(count);
}

void play(Launcher& launcher, Way way) {
    constexpr u64 kProcesses = kMostChildren + 1;
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget churner =
        launcher.budget(launcher.users(), kWeight, 2, kProcesses, rt::copy_pages());
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<churn>(
        churner, {static_cast<u64>(way), launcher.piece(), launcher.ticks(kSlice).value * 95 / 100},
        {churner.index()});
    launcher.run({});
    launcher.collect();
    launcher.destroy(victim);
    launcher.destroy(churner);
    launcher.reset_children();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    for (Way way : kWays) {
        play(launcher, way);
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
