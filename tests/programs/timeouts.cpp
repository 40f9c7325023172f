// Timeouts (I13): a sleep on an idle machine ends no sooner than it should and within a millisecond; a poll
// does not wait; and a reply that races with its call's timeout ends it one way for both sides, two hundred
// times, of which some go either way. The launcher sleeps and serves; the client reports how each call ended.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u32 kRaces = 200;
constexpr u64 kTimeout = 400;  // microseconds
constexpr u64 kLate = 1'000;

// Calls through role handle 0 with a short timeout, and reports what each gave with the sum of all.
void caller(Child& child) {
    const rt::Endpoint server = child.handle<rt::Endpoint>(0);
    u64 answered = 0;
    u64 late = 0;
    for (u32 i = 0; i < kRaces; ++i) {
        const rt::Result<rt::Words> reply = rt::call(server, {{i}}, {kTimeout});
        answered += reply.ok() ? 1 : 0;
        late += reply.status() == abi::Status::timeout ? 1 : 0;
    }
    child.report(answered, late);
}

void sleeps(Launcher& launcher) {
    for (u64 length : {u64{1}, u64{10}, u64{99}, u64{1'000}, u64{7'777}}) {
        const rt::Micros start = rt::time_now();
        rt::sleep({length});
        const u64 slept = (rt::time_now() - start).value;
        launcher.expect(slept >= length && slept <= length + kLate);
    }
    const rt::Endpoint nobody = launcher.must(rt::endpoint_create());
    const rt::Endpoint sends = launcher.must(rt::mint(nobody, 1));
    const rt::Micros start = rt::time_now();
    launcher.expect(rt::receive(nobody, {0}).status() == abi::Status::timeout);
    launcher.expect(rt::send(sends, {}, {0}).status() == abi::Status::timeout);
    launcher.expect(rt::call(sends, {}, {0}).status() == abi::Status::timeout);
    launcher.expect((rt::time_now() - start).value <= kLate);
    launcher.expect(rt::send(sends, {}, {500}).status() == abi::Status::timeout);
    launcher.expect(rt::call(sends, {}, {500}).status() == abi::Status::timeout);
    launcher.expect(rt::receive(nobody, {0}).status() == abi::Status::timeout);
}

void races(Launcher& launcher) {
    const rt::Endpoint server = launcher.must(rt::endpoint_create());
    const rt::Endpoint sends = launcher.must(rt::mint(server, 1));
    const rt::Budget budget = launcher.budget(launcher.users(), 100, 1);
    launcher.start<caller>(budget, {}, {sends.index()});
    u64 delivered = 0;
    u64 discarded = 0;
    u64 told = 0;
    // A call that times out before it is taken never comes here.
    for (;;) {
        rt::Result<rt::Message> got = rt::receive(server, rt::milliseconds(100));
        if (!got.ok()) {
            break;
        }
        const rt::Message& call = got.value();
        if (call.kind == abi::Received::abandoned) {
            ++told;
            continue;
        }
        // Around the timeout, sooner and later by turns.
        rt::sleep({kTimeout - 240 + 25 * (call.words.at[0] % 16)});
        const abi::Reply end = launcher.must(rt::reply(call.id, {}));
        delivered += end == abi::Reply::delivered ? 1 : 0;
        discarded += end == abi::Reply::discarded ? 1 : 0;
    }
    const workload::ChildReport report = launcher.next_report();
    // The reply said that the call was abandoned: no notice says so again.
    launcher.expect(told == 0);
    launcher.expect(report.values[0] + report.values[1] == kRaces);
    launcher.expect(report.values[0] == delivered && report.values[1] >= discarded);
    launcher.expect(delivered > kRaces / 10 && discarded > kRaces / 10);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    sleeps(launcher);
    races(launcher);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
