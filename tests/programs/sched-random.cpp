// Three budgets whose programs do at random what can be done to the scheduler, beside a spinner: the run
// follows from its seed. What is judged is every decision of the kernel, and that the spinner gets its
// share.

#include "user/rt/program.h"
#include "user/workload/hostile.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u64;
using workload::Launcher;

constexpr u64 kVictimWeight = 300;
constexpr u64 kHostileWeights[] = {100, 200, 50};

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget victim = launcher.budget(launcher.users(), kVictimWeight, 1);
    launcher.start<workload::spin>(victim, {launcher.piece()});
    rt::Budget hostile[std::size(kHostileWeights)];
    for (u64 i = 0; i < std::size(kHostileWeights); ++i) {
        hostile[i] =
            launcher.budget(i == 1 ? launcher.system() : launcher.users(), kHostileWeights[i],
                            2 + i, 1 + 2 * workload::kHostileBudgets, workload::hostile_pages());
        launcher.start<workload::hostile>(hostile[i], {launcher.ticks(workload::kSlice).value},
                                          {hostile[i].index()});
    }
    launcher.run({});
    for (rt::Budget& budget : hostile) {
        launcher.destroy(budget);
    }
    launcher.destroy(victim);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
