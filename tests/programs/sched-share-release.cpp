// sched-share's three spinners on a release kernel: what slice ends leave them of the hart.
#include "user/rt/program.h"
#include "user/workload/useful.h"

namespace {

using namespace ravelin;
using workload::Launcher;

constexpr rt::u64 kWeights[] = {100, 100, 300};
constexpr rt::u64 kLeast = 985;

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget budgets[3];
    for (rt::u32 at = 0; at < 3; ++at) {
        budgets[at] = launcher.budget(launcher.users(), kWeights[at], at + 1);
        launcher.start<workload::count_rounds>(budgets[at]);
    }
    launcher.expect(workload::useful_work(launcher, 3, rt::milliseconds(500)) >= kLeast);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
