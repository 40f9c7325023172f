// A sleeper beside two spinners on two harts, which are never idle: each of its naps ends in the middle of
// a slice, in another phase of it, and whatever entry finds it due, no hart is taken from its runner.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::Micros;
using workload::Launcher;

constexpr rt::u64 kNaps = 120;
constexpr Micros kFirstNap{1'200};
constexpr Micros kLonger{7};
constexpr Micros kWork{50};

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget sleeper = launcher.budget(launcher.users(), 100, 1);
    rt::Budget spinner = launcher.budget(launcher.users(), 100, 2);
    launcher.start<workload::nap>(
        sleeper, {kNaps, kFirstNap.value, kLonger.value, launcher.ticks(kWork).value});
    launcher.start<workload::spin>(spinner, {launcher.piece(), 3});
    launcher.run({.warm_up = {0}, .judged = rt::milliseconds(400)});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
