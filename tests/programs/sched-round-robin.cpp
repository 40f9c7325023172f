// One budget, two processes of two threads each, all spinning: the budget's turns go round its threads
// in (pid, tid) order.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using workload::Launcher;

constexpr rt::u64 kProcesses = 2;
constexpr rt::u64 kThreads = 2;

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget four = launcher.budget(launcher.users(), 100, 1, kProcesses);
    for (rt::u64 i = 0; i < kProcesses; ++i) {
        launcher.start<workload::spin>(four, {launcher.piece(), kThreads});
    }
    launcher.run({.judged = rt::milliseconds(100)});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
