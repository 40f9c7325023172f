// Two spinners of weight 1 beside a budget that has nearly all the weight there is and sleeps most of the
// time: what little they get they get alike, and the heavy one's returns push neither back.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using workload::Launcher;

constexpr rt::u64 kMost = 740'000;

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget victim = launcher.budget(launcher.users(), 1, 1);
    rt::Budget twin = launcher.budget(launcher.users(), 1, 2);
    rt::Budget heavy = launcher.budget(launcher.users(), kMost, 3);
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<workload::spin>(twin, {launcher.piece()});
    launcher.start<workload::game>(heavy, {launcher.ticks({200}).value, 3'000});
    launcher.run({});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
