// Every hart is halted but for one thread that sleeps through the window: the launcher itself.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::milliseconds;
using workload::Launcher;

void main(rt::Env& env) {
    Launcher launcher{env};
    launcher.run({.warm_up = milliseconds(100), .judged = milliseconds(10'000)});
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
