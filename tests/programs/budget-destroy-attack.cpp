// A process that tries to destroy and reap whatever it can name: every number, its endpoints, budgets that are
// gone, a budget that a second process destroys at the same time, and at last its own. Only what it was given ends.
// The launcher hears a victim beat through all of it, and finds everybody's books as they were.

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

constexpr u32 kBeats = 20;
constexpr Word kHostile[] = {0, 4'095, 4'096, 65'536, ~Word{0} >> 1, ~Word{0} - 1, ~Word{0}};

Word enter(abi::Call call, Word handle) {
    rt::Registers registers;
    registers.at[0] = abi::kCallBase + static_cast<Word>(call);
    registers.at[1] = handle;
    rt::trap(registers);
    return registers.at[0];
}

void beat(Child& child) {
    const rt::Endpoint server = child.handle<rt::Endpoint>(0);
    for (;;) {
        child.must(rt::send(server, {}));
        rt::sleep(rt::milliseconds(1));
    }
}

// Role handles: its own budget, one that it shares with another attacker.
void attacker(Child& child) {
    child.begin();
    constexpr Word kOwn = workload::kFirstRoleHandle;
    const rt::Budget own = child.handle<rt::Budget>(0);
    for (abi::Call call : {abi::Call::budget_destroy, abi::Call::budget_reap}) {
        for (Word handle : kHostile) {
            static_cast<void>(enter(call, handle));
        }
        for (Word handle = 1; handle < 200; ++handle) {
            if (handle != kOwn) {
                static_cast<void>(enter(call, handle));
            }
        }
    }
    for (u32 i = 0; i < 50; ++i) {
        rt::Budget below = child.must(rt::budget_create(child.env().records(), own, {.pages = 1}));
        const Word number = below.index();
        rt::Budget deeper = child.must(rt::budget_create(child.env().records(), below, {}));
        const Word gone = deeper.index();
        child.must(rt::budget_destroy(below));
        below.forget();
        deeper.forget();
        static_cast<void>(enter(abi::Call::budget_destroy, number));
        static_cast<void>(enter(abi::Call::budget_destroy, gone));
        static_cast<void>(enter(abi::Call::budget_reap, kOwn));
    }
    static_cast<void>(enter(abi::Call::budget_destroy, kOwn));
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint server = launcher.must(rt::endpoint_create());
    const rt::Endpoint sends = launcher.must(rt::mint(server, 1));
    const rt::Budget victim = launcher.budget(launcher.users(), 100, 9);
    launcher.start<beat>(victim, {}, {sends.index()});
    launcher.reset_children();
    const abi::BudgetUsage before = launcher.usage(launcher.users());
    const u64 victims = launcher.usage(victim).pages_used;
    rt::Budget shared = launcher.scope(launcher.users());
    rt::Budget budgets[2];
    for (u32 i = 0; i < 2; ++i) {
        budgets[i] = launcher.budget(launcher.users(), 100, i + 1);
        launcher.start<attacker>(budgets[i], {}, {budgets[i].index(), shared.index()});
    }
    static_cast<void>(launcher.open({.warm_up = {0}, .judged = {0}}));
    for (u32 i = 0; i < 100; ++i) {
        launcher.expect(launcher.must(rt::receive(server, rt::milliseconds(50))).account == 9);
    }
    // Both have destroyed themselves and what they shared: these numbers are empty now.
    launcher.expect(rt::budget_destroy(shared).status() == abi::Status::bad_handle);
    shared.forget();
    for (rt::Budget& budget : budgets) {
        launcher.expect(rt::budget_destroy(budget).status() == abi::Status::bad_handle);
        budget.forget();
    }
    const abi::BudgetUsage after = launcher.usage(launcher.users());
    launcher.expect(after.pages_used == before.pages_used &&
                    after.processes_used == before.processes_used &&
                    after.weight_carved == before.weight_carved);
    launcher.expect(launcher.usage(victim).pages_used == victims);
    for (u32 i = 0; i < kBeats; ++i) {
        launcher.must(rt::receive(server, rt::milliseconds(50)));
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
