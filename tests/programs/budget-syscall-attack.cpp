// Every call there is with registers at random and from a list of hostile ones, from processes that own a small
// budget, an endpoint and a sender to the victim. However each of them ends, the kernel goes on, the victim beats, and
// the destroyed lease leaves the books as they were (I14).

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

constexpr u32 kLeases = 24;
constexpr u64 kCalls = 400;
constexpr u64 kMorePages = 80;
constexpr Word kTop = Word{1} << (sizeof(Word) * 8 - 1);
constexpr Word kHostile[] = {0,
                             1,
                             2,
                             3,
                             4,
                             5,
                             7,
                             8,
                             63,
                             64,
                             255,
                             256,
                             4'095,
                             4'096,
                             4'097,
                             0x1000'0000,
                             kTop,
                             0x1000'0ff8,
                             kTop - 1,
                             0x0400'0000,
                             ~Word{7},
                             ~Word{4'095},
                             ~Word{0} - 1,
                             ~Word{0}};

void beat(Child& child) {
    const rt::Endpoint server = child.handle<rt::Endpoint>(0);
    for (;;) {
        child.must(rt::send(server, {}));
        rt::sleep(rt::milliseconds(1));
    }
}

// Calls that would end the attack at once.
bool ends_it(abi::Call call) {
    return call == abi::Call::process_exit || call == abi::Call::thread_exit;
}

// Role handles: its own budget, a sender to the victim's server.
void attacker(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    const rt::Endpoint box = child.must(rt::endpoint_create());
    const rt::Endpoint sends = child.must(rt::mint(box, 1));
    const rt::Budget below = child.must(rt::budget_create(child.env().records(), own, {}));
    child.begin();
    for (u64 i = 0; i < kCalls; ++i) {
        rt::Registers registers;
        u64 draw = child.must(rt::random());
        const auto call = static_cast<abi::Call>(1 + draw % 32);
        if (ends_it(call)) {
            continue;
        }
        for (u32 place = 1; place < abi::kCallRegisters; ++place) {
            draw = child.must(rt::random());
            registers.at[place] = draw % 3 == 0   ? kHostile[(draw >> 8) % std::size(kHostile)]
                                  : draw % 3 == 1 ? static_cast<Word>((draw >> 8) % 12)
                                                  : static_cast<Word>(draw >> 8);
        }
        // A short timeout, where there is one: nobody answers.
        if (call == abi::Call::call || call == abi::Call::send || call == abi::Call::receive) {
            registers.put64(2, draw % 300);
        }
        registers.at[0] = abi::kCallBase + static_cast<Word>(call);
        rt::trap(registers);
    }
    rt::sleep(rt::kForever);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint server = launcher.must(rt::endpoint_create());
    const rt::Endpoint sends = launcher.must(rt::mint(server, 1));
    const rt::Endpoint other = launcher.must(rt::endpoint_create());
    const rt::Endpoint to_other = launcher.must(rt::mint(other, 2));
    const rt::Budget victim = launcher.budget(launcher.users(), 100, 9);
    launcher.start<beat>(victim, {}, {sends.index()});
    launcher.reset_children();
    const abi::BudgetUsage before = launcher.usage(launcher.users());
    for (u32 lease = 0; lease < kLeases; ++lease) {
        rt::Budget budget = launcher.budget(launcher.users(), 100, 1, 2, kMorePages);
        launcher.start<attacker>(budget, {}, {budget.index(), to_other.index()});
        static_cast<void>(launcher.open({.warm_up = {0}, .judged = {0}}));
        for (u32 i = 0; i < 40; ++i) {
            launcher.expect(launcher.must(rt::receive(server, rt::milliseconds(50))).account == 9);
        }
        // It may have destroyed its own budget by now.
        static_cast<void>(rt::budget_destroy(budget));
        budget.forget();
        launcher.reset_children();
        const abi::BudgetUsage after = launcher.usage(launcher.users());
        launcher.expect(after.pages_used == before.pages_used &&
                        after.processes_used == before.processes_used &&
                        after.weight_carved == before.weight_carved);
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
