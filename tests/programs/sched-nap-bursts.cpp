// Threads that work for 20 microseconds and nap, each time for another length from one to a hundred
// microseconds, beside a spinner of equal weight.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"
#include "user/workload/team.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u64 kWeight = 100;
constexpr u32 kThreads = 8;
constexpr u64 kLongest = 100;
constexpr u64 kStep = 37;  // coprime to kLongest: every length has its turn

struct Load {
    rt::Ticks end;
    rt::Ticks burst;
};

void nap_thread(Load& load, u32 index) {
    for (u64 i = index; rt::clock() < load.end; ++i) {
        rt::work(load.burst);
        rt::sleep({1 + i * kStep % kLongest});
    }
}

/// Parameter 0: a burst.
void nap_in_bursts(Child& child) {
    child.begin();
    workload::Team<Load, nap_thread> team{
        child, {.end = child.window().end, .burst = {child.parameter(0)}}, kThreads};
    team.join();
    child.report(kThreads);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget napper = launcher.budget(launcher.users(), kWeight, 2, 1, 64);
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<nap_in_bursts>(napper, {launcher.piece()});
    launcher.run({});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
