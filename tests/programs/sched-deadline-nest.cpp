// A budget that makes lines of budgets, one inside the other, whose deadlines are a microsecond apart: the
// innermost first, the outermost first, or all at once, so that the next is due while one is being
// destroyed. Beside a spinner of equal weight.

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
constexpr u64 kDeep = 10;
constexpr Micros kAhead{1'500};

/// Below its own budget, the role handle 0. Parameter 0: work between two lines.
void nest(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    rt::Records& records = child.env().records();
    child.begin();
    u64 count = 0;
    for (; child.in_window(); ++count) {
        rt::Budget line[kDeep];
        const Micros due = rt::time_now() + kAhead;
        for (u64 i = 0; i < kDeep; ++i) {
            const u64 later = count % 3 == 0 ? kDeep - i : count % 3 == 1 ? i : 0;
            rt::Result<rt::Budget> made =
                rt::budget_create(records, i == 0 ? own : line[i - 1],
                                  {.pages = 2 * (kDeep - i), .deadline = {due.value + later}});
            // A line that took longer to make than its first deadline is cut short.
            if (!made.ok()) {
                break;
            }
            line[i] = std::move(made.value());
        }
        for (rt::Budget& budget : line) {
            budget.forget();
        }
        rt::work({child.parameter(0)});
        rt::sleep(rt::milliseconds(2));
    }
    child.report(count);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget nester = launcher.budget(launcher.users(), kWeight, 2, 1, 4 * kDeep * 2 + 8);
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<nest>(nester, {launcher.piece()}, {nester.index()});
    launcher.run({});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
