// A lease whose whole handle table is endpoints, destroyed while a thread waits at one: the kernel's longest section is judged.
// The launcher finds all that it carved back, and a bystander's message comes.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Child;
using workload::Launcher;

// The most endpoints that one table holds beside what a child starts with; three are its own.
constexpr u64 kLeast = abi::kMaxHandles - 8;
constexpr u64 kPages = abi::kMaxHandles + abi::kMaxHandles / 64 + 16;

void wait_at(rt::Env& env) {
    rt::Endpoint endpoint{static_cast<u32>(env.argument())};
    static_cast<void>(rt::receive(endpoint));
    endpoint.forget();
}

void hoard(Child& child) {
    u64 count = 0;
    u32 last = 0;
    for (;; ++count) {
        rt::Result<rt::Endpoint> made = rt::endpoint_create();
        if (!made.ok()) {
            break;
        }
        last = made.value().forget();
    }
    rt::Stack stack = child.must(rt::Stack::make());
    static_cast<void>(child.must(rt::start_thread<wait_at>(stack, last)));
    stack.forget();
    child.report(count);
    rt::sleep(rt::kForever);
}

// Sends through role handle 0, where it waits meanwhile.
void bystander(Child& child) {
    const rt::Endpoint server = child.handle<rt::Endpoint>(0);
    child.must(rt::send(server, {{77}}));
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint server = launcher.must(rt::endpoint_create());
    const rt::Endpoint sends = launcher.must(rt::mint(server, 1));
    const rt::Budget other = launcher.budget(launcher.users(), 100, 2);
    launcher.start<bystander>(other, {}, {sends.index()});
    const abi::BudgetUsage before = launcher.usage(launcher.users());
    rt::Budget lease = launcher.budget(launcher.users(), 100, 1, 1, kPages);
    launcher.start<hoard>(lease);
    launcher.expect(launcher.next_report().values[0] >= kLeast);
    rt::sleep(rt::milliseconds(5));
    launcher.destroy(lease);
    launcher.expect(launcher.usage(launcher.users()).pages_used == before.pages_used);
    const rt::Message message = launcher.must(rt::receive(server, rt::milliseconds(100)));
    launcher.expect(message.words.at[0] == 77 && message.account == 2);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
