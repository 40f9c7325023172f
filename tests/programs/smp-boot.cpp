// One budget with as many spinning threads as the most harts there can be: every hart that boot started
// runs one of them.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using workload::Launcher;

constexpr rt::u64 kThreads = 8;

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget spinner = launcher.budget(launcher.users(), 100, 1, 1, kThreads * rt::copy_pages());
    launcher.start<workload::spin>(spinner, {launcher.piece(), kThreads});
    launcher.run({.warm_up = {0}, .judged = rt::milliseconds(60)});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
