// Three spinners of weight 100, 100 and 300: shares by weight, and on several harts by water-filling.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using workload::Launcher;

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget light = launcher.budget(launcher.users(), 100, 1);
    rt::Budget equal = launcher.budget(launcher.users(), 100, 2);
    rt::Budget heavy = launcher.budget(launcher.users(), 300, 3);
    launcher.start<workload::spin>(light, {launcher.piece()});
    launcher.start<workload::spin>(equal, {launcher.piece()});
    launcher.start<workload::spin>(heavy, {launcher.piece()});
    launcher.run({.judged = rt::milliseconds(400)});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
