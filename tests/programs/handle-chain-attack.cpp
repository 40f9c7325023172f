// Handles by the thousand to one object under one stamp: two processes fill their tables with copies, by
// messages to themselves, and keep some in messages on their way. The launcher destroys the stamp: every
// copy is gone, its own handles to the same object work on, and the tables' pages come back.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u64 kCopies = 1'200;
constexpr u64 kTablePages = 64;

// Sends copies of a handle to its own process, four at a time, until it has no room.
void copy_to_itself(rt::Env& env) {
    rt::Endpoint self{static_cast<u32>(env.argument())};
    const u32 granted = workload::kFirstRoleHandle;
    const u32 handles[] = {granted, granted, granted, granted};
    while (rt::send(env.records(), self, {}, {.handles = handles}).ok()) {
    }
    self.forget();
}

// Fills its table with copies of role handle 0; reports how many came, and once woken, what works still.
void hoarder(Child& child) {
    const rt::Endpoint box = child.must(rt::endpoint_create());
    const rt::Endpoint to_box = child.must(rt::mint(box, 3));
    rt::Stack stack = child.must(rt::Stack::make());
    static_cast<void>(child.must(rt::start_thread<copy_to_itself>(stack, to_box.index())));
    stack.forget();
    u64 count = 0;
    u32 highest = 0;
    while (count < kCopies) {
        rt::Delivery copies = child.must(rt::receive(child.env().records(), box, 0));
        for (rt::Handle& copy : copies.handles.at) {
            highest = copy.index() > highest ? copy.index() : highest;
            count += copy.forget() != 0 ? 1 : 0;
        }
    }
    child.report(count, highest);
    child.await_window();
    u64 works = 0;
    for (u32 index = to_box.index() + 1; index <= highest; ++index) {
        rt::Endpoint copy{index};
        works += rt::send(copy, {{index}}, {0}).status() != abi::Status::bad_handle ? 1 : 0;
        copy.forget();
    }
    child.report(works);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint server = launcher.must(rt::endpoint_create());
    const rt::Endpoint own = launcher.must(rt::mint(server, 8));
    rt::Budget scope = launcher.scope(launcher.root());
    rt::Endpoint grant = launcher.must(rt::mint(server, 7, &scope));
    rt::Budget budgets[2];
    u64 before[2];
    for (u32 i = 0; i < 2; ++i) {
        budgets[i] = launcher.budget(launcher.users(), 100, i + 1, 1, kTablePages + 16);
        before[i] = launcher.usage(budgets[i]).pages_used;
        launcher.start<hoarder>(budgets[i], {}, {grant.index()});
    }
    for (u32 i = 0; i < 2; ++i) {
        launcher.expect(launcher.next_report().values[0] >= kCopies);
    }
    u64 full[2];
    for (u32 i = 0; i < 2; ++i) {
        full[i] = launcher.usage(budgets[i]).pages_used;
    }
    launcher.destroy(scope);
    grant.forget();
    for (u32 i = 0; i < 2; ++i) {
        launcher.expect(launcher.usage(budgets[i]).pages_used + kCopies / 64 - 2 <= full[i]);
        launcher.expect(before[i] < full[i]);
    }
    static_cast<void>(launcher.open({.warm_up = {0}, .judged = rt::milliseconds(10)}));
    launcher.collect();
    // Nothing came through any of them, and the launcher's own handle to the same object works.
    launcher.expect(rt::receive(server, {0}).status() == abi::Status::timeout);
    launcher.expect(rt::send(own, {}, {0}).status() == abi::Status::timeout);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
