// Budgets whose processes run on every hart are destroyed by another budget's call: what ran there is gone
// when the call returns. The oracle sees any record of it that stands behind its end.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u64;
using workload::Launcher;

constexpr u64 kRounds = 40;
constexpr u64 kBudgets = 4;

void main(rt::Env& env) {
    Launcher launcher{env};
    launcher.mark(workload::kWindowStart);
    for (u64 round = 0; round < kRounds; ++round) {
        rt::Budget scope =
            launcher.must(rt::budget_create(env.records(), launcher.users(),
                                            {.pages = kBudgets * (rt::copy_pages() + 1),
                                             .processes = kBudgets,
                                             .weight = kBudgets}));
        for (u64 i = 0; i < kBudgets; ++i) {
            rt::Budget budget = launcher.must(rt::budget_create(
                env.records(), scope, {.pages = rt::copy_pages(), .processes = 1, .weight = 1}));
            launcher.must(rt::start_copy<workload::busy>(
                env.records(), budget, static_cast<rt::Word>(launcher.piece()), {}));
            budget.forget();
        }
        rt::sleep({1'500 + 53 * round});
        launcher.destroy(scope);
        scope.forget();
    }
    launcher.mark(workload::kWindowEnd);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
