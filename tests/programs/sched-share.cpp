// Three spinners of weight 100, 100 and 300: shares by weight, and on several harts by water-filling.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using workload::Launcher;

constexpr rt::Micros kPiece{20};

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::u64 piece = launcher.ticks(kPiece).value;
    rt::Budget light = launcher.budget(launcher.users(), 100, 1);
    rt::Budget equal = launcher.budget(launcher.users(), 100, 2);
    rt::Budget heavy = launcher.budget(launcher.users(), 300, 3);
    launcher.start<workload::spin>(light, {piece});
    launcher.start<workload::spin>(equal, {piece});
    launcher.start<workload::spin>(heavy, {piece});
    launcher.run({.judged = rt::milliseconds(400)});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
