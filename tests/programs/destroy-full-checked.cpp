// The largest lease there is, destroyed, twice: see destroy-full. Here the kernel audits itself, and its own trace says
// how long the destruction's section was.

#include "user/rt/program.h"
#include "user/workload/filler.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using workload::Launcher;

void main(rt::Env& env) {
    Launcher launcher{env};
    static_cast<void>(workload::destroy_full_lease(launcher));
    launcher.reset_children();
    static_cast<void>(workload::destroy_full_lease(launcher));
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
