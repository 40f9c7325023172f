// Two spinners and nothing else: every timer interrupt ends a slice, and how long each holds the kernel is
// read from the trace.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using workload::Launcher;

void main(rt::Env& env) {
    Launcher launcher{env};
    for (const rt::u64 account : {rt::u64{1}, rt::u64{2}}) {
        rt::Budget budget = launcher.budget(launcher.users(), 100, account);
        launcher.start<workload::spin>(budget, {launcher.piece()});
        budget.forget();
    }
    launcher.run({.judged = rt::milliseconds(400)});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
