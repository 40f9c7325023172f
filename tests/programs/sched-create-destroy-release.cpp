// sched-create-destroy on a release kernel: what a hundred thousand pairs beside it leave a spinner of the hart.
#include "user/rt/program.h"
#include "user/workload/pairs.h"
#include "user/workload/useful.h"

namespace {

using namespace ravelin;
using workload::Launcher;

constexpr rt::u64 kWeight = 100;
constexpr rt::u64 kPairs = 100'000;
constexpr rt::u64 kLeast = 480;

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget churner = launcher.budget(launcher.users(), kWeight, 2, 1, 4);
    launcher.start<workload::count_rounds>(victim);
    launcher.start<workload::make_pairs>(churner, {kPairs}, {churner.index()});
    launcher.expect(workload::useful_work(launcher, 2, rt::milliseconds(20'000)) >= kLeast);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
