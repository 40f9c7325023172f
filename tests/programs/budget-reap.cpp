// budget_reap empties a budget from the front, child by child with all below them, and keeps the budget itself: its
// process beats on, the count that it gives falls to 0, and one more changes nothing.

#include <bit>

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u32 kChildren = 5;

// Sends its parameter through role handle 0 every millisecond.
void beat(Child& child) {
    const rt::Endpoint server = child.handle<rt::Endpoint>(0);
    for (;;) {
        child.must(rt::send(server, {{child.parameter(0)}}));
        rt::sleep(rt::milliseconds(1));
    }
}

// Who beats now, a bit each.
u64 beating(Launcher& launcher, const rt::Endpoint& server) {
    const rt::Micros end = rt::time_now() + rt::milliseconds(25);
    u64 heard = 0;
    while (rt::time_now() < end) {
        rt::Result<rt::Message> message = rt::receive(server, rt::milliseconds(5));
        // What waited since before counts for nothing.
        if (message.ok() && rt::time_now() + rt::milliseconds(15) >= end) {
            heard |= u64{1} << message.value().words.at[0];
        }
    }
    static_cast<void>(launcher);
    return heard;
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint server = launcher.must(rt::endpoint_create());
    const rt::Endpoint sends = launcher.must(rt::mint(server, 1));
    constexpr u64 kProcesses = kChildren + 1;
    const rt::Budget top = launcher.budget(launcher.users(), 600, 1, kProcesses, 40);
    launcher.start<beat>(top, {0}, {sends.index()});
    const abi::BudgetUsage alone = launcher.usage(top);
    rt::Budget children[kChildren];
    rt::Budget below[kChildren];
    for (u32 i = 0; i < kChildren; ++i) {
        children[i] = launcher.budget(top, 50, 0, 1, 2);
        below[i] =
            launcher.must(rt::budget_create(env.records(), children[i], {.pages = 1, .weight = 5}));
        launcher.start<beat>(children[i], {i + 1}, {sends.index()});
    }
    launcher.expect(beating(launcher, server) == (u64{1} << kProcesses) - 1);
    u64 left = (u64{1} << kProcesses) - 1;
    for (u32 i = 0; i < kChildren; ++i) {
        launcher.expect(launcher.must(rt::budget_reap(top)) == kChildren - 1 - i);
        const u64 now = beating(launcher, server);
        // One of the children is silent now, and its handles and what was below are gone.
        launcher.expect((now & ~left) == 0 && (now & 1) == 1 && std::popcount(left & ~now) == 1);
        const u32 gone = static_cast<u32>(std::countr_zero(left & ~now)) - 1;
        for (rt::Budget* budget : {&children[gone], &below[gone]}) {
            launcher.expect(rt::budget_destroy(*budget).status() == abi::Status::bad_handle);
            budget->forget();
        }
        left = now;
    }
    for (u32 i = 0; i < 3; ++i) {
        launcher.expect(launcher.must(rt::budget_reap(top)) == 0);
    }
    const abi::BudgetUsage now = launcher.usage(top);
    launcher.expect(now.pages_used == alone.pages_used && now.weight_carved == 0 &&
                    now.processes_used == alone.processes_used);
    launcher.expect(beating(launcher, server) == 1);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
