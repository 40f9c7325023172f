// sched-large-weight's nine spinners on a release kernel. With slices of ten milliseconds they would do 1000 of 1000
// at most, so kLeast is more than that part of it.
#include "user/rt/program.h"
#include "user/workload/useful.h"

namespace {

using namespace ravelin;
using workload::Launcher;

constexpr rt::u32 kUsers = 8;
constexpr rt::u64 kLeast = 970;

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget server = launcher.budget(launcher.system(), 1'000, 1);
    launcher.start<workload::count_rounds>(server);
    rt::Budget users[kUsers];
    rt::u64 account = 2;
    for (rt::Budget& user : users) {
        user = launcher.budget(launcher.users(), 100, account++);
        launcher.start<workload::count_rounds>(user);
    }
    launcher.expect(workload::useful_work(launcher, kUsers + 1, rt::milliseconds(900)) >= kLeast);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
