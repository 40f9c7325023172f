// A server of weight 1000 among eight users of 100, all spinning.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using workload::Launcher;

constexpr rt::u64 kUsers = 8;

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget server = launcher.budget(launcher.system(), 1'000, 1);
    launcher.start<workload::spin>(server, {launcher.piece()});
    rt::Budget users[kUsers];
    rt::u64 account = 2;
    for (rt::Budget& user : users) {
        user = launcher.budget(launcher.users(), 100, account++);
        launcher.start<workload::spin>(user, {launcher.piece()});
    }
    launcher.run({.judged = rt::milliseconds(900)});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
