// A server that tries everything to keep or pass on a page it has borrowed: unmap it, change it, map over
// it, lend and give it on, move it into a process, put a record in it. The launcher is the lender: its page
// comes back whole, at the reply and no sooner, and the server's budget pays for nothing afterwards.

#include "user/rt/program.h"
#include "user/rt/trap.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr u64 kMark = 0x6d6f'7665;
constexpr u64 kAnswer = 0x616e'7377;
constexpr u64 kRights = abi::kRead | abi::kWrite;

// Role handles: the endpoint it serves, one it sends to, its own budget. Its replies say how many of its
// attempts were refused.
void server(Child& child) {
    const rt::Endpoint endpoint = child.handle<rt::Endpoint>(0);
    const rt::Endpoint other = child.handle<rt::Endpoint>(1);
    const rt::Budget own = child.handle<rt::Budget>(2);
    const rt::Process process = child.must(rt::process_create(own));
    for (;;) {
        const rt::Delivery call = child.must(rt::receive(child.env().records(), endpoint, 0));
        const Word page = call.address;
        u64 refused = 0;
        const auto attempt = [&](rt::Outcome outcome) { refused += outcome.ok() ? 0 : 1; };
        attempt(rt::unmap(page, rt::kPageSize));
        attempt(rt::set_flags(page, rt::kPageSize, abi::kRead | abi::kExecute));
        attempt(rt::map_fixed(page, rt::kPageSize, kRights));
        attempt(rt::send(child.env().records(), other, {}, {.address = page, .pages = 1}, {0}));
        attempt(
            rt::call(child.env().records(), other, {}, {.address = page, .pages = 1}, {0}).status);
        attempt(rt::process_map(process, page, 0x10000, rt::kPageSize, kRights));
        rt::Registers registers;
        registers.at[0] = abi::kCallBase + static_cast<Word>(abi::Call::budget_usage);
        registers.at[1] = own.index();
        registers.at[2] = page;
        rt::trap(registers);
        attempt(static_cast<abi::Status>(registers.at[0]));
        *rt::user_object<u64>(page) = kAnswer;
        static_cast<void>(child.must(rt::reply(call.message.id, {{refused}})));
    }
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint endpoint = launcher.must(rt::endpoint_create());
    const rt::Endpoint other = launcher.must(rt::endpoint_create());
    const rt::Endpoint sends = launcher.must(rt::mint(other, 1));
    rt::Budget budget = launcher.budget(launcher.users(), 100, 1, 2, 64);
    launcher.start<server>(budget, {}, {endpoint.index(), sends.index(), budget.index()});
    const Word page = launcher.page();
    u64 used = 0;
    for (u32 round = 0; round < 4; ++round) {
        *rt::user_object<u64>(page) = kMark;
        const rt::CallEnd end =
            rt::call(env.records(), endpoint, {}, {.address = page, .pages = 1});
        launcher.expect(end.ok() && end.lend == abi::Lend::returned);
        launcher.expect(*rt::user_object<u64>(page) == kAnswer);
        launcher.expect(end.words.at[0] == 7);
        // The page is the launcher's again: it may do with it what the server could not.
        launcher.must(rt::set_flags(page, rt::kPageSize, abi::kRead));
        launcher.must(rt::set_flags(page, rt::kPageSize, kRights));
        const u64 now = launcher.usage(budget).pages_used;
        launcher.expect(round == 0 || now <= used);
        used = now;
    }
    launcher.expect(rt::receive(other, {0}).status() == abi::Status::timeout);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
