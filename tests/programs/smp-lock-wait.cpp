// Two threads that make calls at once on two harts, every call contended, and then one that makes as many
// alone: waiting for the lock costs at most twice the calls themselves.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/team.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u64 kCalls = 4'000;
constexpr u32 kThreads = 2;
constexpr u64 kMost = 3;

struct Calls {
    u64 each = 0;
};

void call_thread(Calls& calls, u32) {
    for (u64 i = 0; i < calls.each; ++i) {
        static_cast<void>(rt::time_now());
    }
}

/// Reports how long `kThreads` threads took at once, and one alone, in ticks.
void contend(Child& child) {
    child.begin();
    const rt::Ticks began = rt::clock();
    workload::Team<Calls, call_thread> team{child, {.each = kCalls}, kThreads};
    team.join();
    const rt::Ticks between = rt::clock();
    workload::Team<Calls, call_thread> alone{child, {.each = kThreads * kCalls}, 1};
    alone.join();
    child.report((between - began).value, (rt::clock() - between).value);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget caller = launcher.budget(launcher.users(), 100, 1, 1, 64);
    launcher.start<contend>(caller);
    launcher.open({});
    launcher.mark(workload::kWindowStart);
    const workload::ChildReport report = launcher.next_report();
    launcher.mark(workload::kWindowEnd);
    if (report.values[0] > kMost * report.values[1]) {
        launcher.fail();
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
