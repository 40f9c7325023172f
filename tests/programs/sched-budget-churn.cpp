// A churner that makes a child budget of weight 1, lets a process in it run about a slice and destroys it,
// over and over, beside a spinner of equal weight: what the child ran is the churner's debt, whoever
// destroys it and from how deep. One window for each way.

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

/// How a round ends. Parameter 0 of churn.
enum class Way : u64 {
    blocking,      ///< the churner sleeps and then destroys
    spinning,      ///< the churner spins to about its own slice's end and then destroys
    deadline,      ///< the child's deadline passes
    intermediate,  ///< as blocking, but what is destroyed is a fresh budget between the two
};
constexpr Way kWays[] = {Way::blocking, Way::spinning, Way::deadline, Way::intermediate};

// About the time in which a child beside two others gets its slice.
constexpr Micros kRound{kSlice.value * 2};

rt::Budget make(Child& child, const rt::Budget& parent, u64 weight, u64 pages,
                Micros deadline = rt::kForever) {
    return child.must(rt::budget_create(
        child.env().records(), parent,
        {.pages = pages, .processes = 1, .weight = weight, .deadline = deadline}));
}

/// Churns below this process's own budget, the role handle 0.
///   0 Way   1 length of a child's piece   2 the churner's spin
void churn(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    const Way way{child.parameter(0)};
    const u64 pages = rt::copy_pages();
    child.begin();
    u64 count = 0;
    for (; child.in_window(); ++count) {
        rt::Budget between;
        if (way == Way::intermediate) {
            // One page more, for the budget below it.
            between = make(child, own, kChildWeight + 1, pages + 1);
        }
        const Micros deadline = way == Way::deadline ? rt::time_now() + kRound : rt::kForever;
        rt::Budget lineage = make(child, between ? between : own, kChildWeight, pages, deadline);
        const bool started =
            rt::start_copy<workload::busy>(child.env().records(), lineage,
                                           static_cast<Word>(child.parameter(1)), {})
                .ok();
        // Only a deadline may come before the child has started.
        if (!started && way != Way::deadline) {
            child.fail(__builtin_LINE());
        }
        switch (way) {
        case Way::blocking:
        case Way::intermediate: rt::sleep(kRound); break;
        case Way::spinning: rt::work({child.parameter(2)}); break;
        case Way::deadline: rt::sleep(kRound + kSlice); break;
        }
        if (way == Way::intermediate) {
            child.must(rt::budget_destroy(between));
        } else if (way != Way::deadline) {
            child.must(rt::budget_destroy(lineage));
        }
        // It is gone in every case, and its handle with it.
        lineage.forget();
    }
    child.report(count);
}

void play(Launcher& launcher, Way way) {
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget churner = launcher.budget(launcher.users(), kWeight, 2, 3, 2 * rt::copy_pages());
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
