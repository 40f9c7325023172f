// A process whose creator's budget is destroyed ends with it, wherever it runs, and nobody is told: its
// object was charged there. One that somebody else created in the same budget runs on. The launcher watches
// what beats.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Child;
using workload::Launcher;

// Sends a beat through start handle 1 every millisecond.
void beat(rt::Env& env) {
    rt::Endpoint server = env.start_handle<rt::Endpoint>(1);
    for (;;) {
        static_cast<void>(rt::send(server, {}, rt::milliseconds(10)));
        rt::sleep(rt::milliseconds(1));
    }
}

// Starts a beating process in the budget of role handle 0, which beats through role handle 1 and whose
// notice would come to role handle 2.
void creator(Child& child) {
    const rt::Budget where = child.handle<rt::Budget>(0);
    const rt::Endpoint beats = child.handle<rt::Endpoint>(1);
    const rt::Endpoint exits = child.handle<rt::Endpoint>(2);
    const u32 handles[] = {beats.index()};
    rt::Process made =
        child.must(rt::start_copy<beat>(child.env().records(), where, 0, handles, &exits));
    child.report(1);
    rt::sleep(rt::kForever);
    made.forget();
}

u32 beats_within(Launcher& launcher, const rt::Endpoint& server, u64 badge) {
    u32 count = 0;
    const rt::Micros end = rt::time_now() + rt::milliseconds(30);
    while (rt::time_now() < end) {
        rt::Result<rt::Message> message = rt::receive(server, rt::milliseconds(5));
        count += message.ok() && message.value().badge == badge ? 1 : 0;
    }
    static_cast<void>(launcher);
    return count;
}

void main(rt::Env& env) {
    Launcher launcher{env};
    constexpr u64 kOrphan = 1;
    constexpr u64 kOther = 2;
    const rt::Endpoint server = launcher.must(rt::endpoint_create());
    const rt::Endpoint exits = launcher.must(rt::endpoint_create());
    const rt::Endpoint by_orphan = launcher.must(rt::mint(server, kOrphan));
    const rt::Endpoint by_other = launcher.must(rt::mint(server, kOther));
    const rt::Budget home = launcher.budget(launcher.users(), 100, 1, 2);
    rt::Budget parent = launcher.budget(launcher.users(), 100, 2, 1, 32 + rt::copy_pages());
    const u32 handles[] = {by_other.index()};
    const rt::Process other =
        launcher.must(rt::start_copy<beat>(env.records(), home, 0, handles, &exits));
    launcher.start<creator>(parent, {}, {home.index(), by_orphan.index(), exits.index()});
    launcher.collect();
    launcher.expect(beats_within(launcher, server, kOrphan) > 5);
    const abi::BudgetUsage before = launcher.usage(home);
    launcher.expect(before.processes_used == 2);
    launcher.destroy(parent);
    // What it had sent may wait still; then it is silent.
    static_cast<void>(beats_within(launcher, server, kOrphan));
    launcher.expect(beats_within(launcher, server, kOrphan) == 0);
    launcher.expect(beats_within(launcher, server, kOther) > 5);
    const abi::BudgetUsage after = launcher.usage(home);
    launcher.expect(after.processes_used == 1 && after.pages_used < before.pages_used);
    launcher.expect(rt::receive(exits, {0}).status() == abi::Status::timeout);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
