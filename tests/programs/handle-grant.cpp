// Grants and their end (R9): a handle granted in a message works until its stamp is destroyed, then in no
// process, in no message and for no call on its way. The launcher grants, revokes and is the server; it
// counts what still reaches it.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u64 kBadge = 40;
constexpr u64 kGoes = 1;

// Receives a handle at role handle 0, passes a copy on through role handle 1 if it has one, and sends
// through it for as long as that works. Reports how often it worked.
//   0 passes it on
void holder(Child& child) {
    const rt::Endpoint mine = child.handle<rt::Endpoint>(0);
    rt::Delivery grant = child.must(rt::receive(child.env().records(), mine, 0));
    rt::Endpoint granted{grant.handles.at[0].forget()};
    if (child.parameter(0) != 0) {
        const rt::Endpoint next = child.handle<rt::Endpoint>(1);
        const u32 handles[] = {granted.index()};
        child.must(rt::send(child.env().records(), next, {}, {.handles = handles}));
    }
    u64 sent = 0;
    while (rt::send(granted, {{kGoes, sent}}).ok()) {
        ++sent;
        rt::sleep(rt::milliseconds(1));
    }
    // Its place is empty now: nothing works through it.
    u64 worked = 0;
    for (u32 i = 0; i < 20; ++i) {
        worked += rt::send(granted, {{kGoes, i}}, {0}).status() == abi::Status::bad_handle ? 0 : 1;
        worked += rt::mint(granted, 7).ok() ? 1 : 0;
    }
    granted.forget();
    child.report(sent, worked);
}

// Sends a copy of role handle 0 through role handle 1, where nobody receives yet.
void forwarder(Child& child) {
    const u32 handles[] = {workload::kFirstRoleHandle};
    const rt::Endpoint late = child.handle<rt::Endpoint>(1);
    child.must(rt::send(child.env().records(), late, {}, {.handles = handles}));
    child.report(0);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget scope = launcher.scope(launcher.root());
    const rt::Endpoint server = launcher.must(rt::endpoint_create());
    rt::Endpoint grant = launcher.must(rt::mint(server, kBadge, &scope));
    const rt::Endpoint first = launcher.must(rt::endpoint_create());
    const rt::Endpoint second = launcher.must(rt::endpoint_create());
    const rt::Endpoint to_first = launcher.must(rt::mint(first, 1));
    const rt::Endpoint to_second = launcher.must(rt::mint(second, 1));
    const rt::Endpoint late = launcher.must(rt::endpoint_create());
    const rt::Endpoint to_late = launcher.must(rt::mint(late, 1));
    const rt::Budget one = launcher.budget(launcher.users(), 100, 1);
    const rt::Budget two = launcher.budget(launcher.users(), 100, 2);
    const rt::Budget three = launcher.budget(launcher.users(), 100, 3);
    launcher.start<holder>(one, {1}, {first.index(), to_second.index()});
    launcher.start<holder>(two, {0}, {second.index()});
    launcher.start<forwarder>(three, {}, {grant.index(), to_late.index()});
    const u32 handles[] = {grant.index()};
    launcher.must(rt::send(env.records(), to_first, {}, {.handles = handles}));
    for (u32 i = 0; i < 20; ++i) {
        const rt::Message message = launcher.must(rt::receive(server, rt::milliseconds(500)));
        launcher.expect(message.badge == kBadge && message.words.at[0] == kGoes);
        launcher.expect(message.account == 1 || message.account == 2);
    }
    launcher.destroy(scope);
    launcher.expect(rt::send(grant, {}).status() == abi::Status::bad_handle);
    grant.forget();
    // Nothing comes through any copy from here on, and the one in a message is empty.
    launcher.expect(rt::receive(server, rt::milliseconds(30)).status() == abi::Status::timeout);
    const rt::Delivery empty = launcher.must(rt::receive(env.records(), late, 0, {0}));
    launcher.expect(empty.handles.count == 1 && !empty.handles.at[0]);
    for (u32 i = 0; i < 3; ++i) {
        launcher.expect(launcher.next_report().values[1] == 0);
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
