// A program that holds one small budget and wants more: specs that ask for more than there is in each
// currency, with sums that wrap, with labels, accounts, too many labels, deadlines at the end of time,
// from records at hostile places; children carved until nothing is left, each asking again. The launcher sees its
// sibling's and its parent's books: they never move, and what its budget holds never passes its limits.

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

constexpr u64 kHostile[] = {
    0, 1, 9, 100, 101, 1u << 20, ~u32{0}, u64{1} << 32, u64{1} << 63, ~u64{0} - 1, ~u64{0}};

Word create(Word parent, Word record) {
    rt::Registers registers;
    registers.at[0] = abi::kCallBase + static_cast<Word>(abi::Call::budget_create);
    registers.at[1] = parent;
    registers.at[2] = record;
    rt::trap(registers);
    return registers.at[0] == 0 ? registers.at[1] : 0;
}

// Role handle 0: its own budget.
void forger(Child& child) {
    child.begin();
    const rt::Budget own = child.handle<rt::Budget>(0);
    const Word page = child.must(rt::map_anon(rt::kPageSize, abi::kRead | abi::kWrite));
    abi::BudgetSpec& spec = *rt::user_object<abi::BudgetSpec>(page);
    const auto made_and_gone = [&] {
        const Word made = create(own.index(), page);
        if (made == 0) {
            return;
        }
        // One that got something asks below it for more.
        spec.pages += 1;
        static_cast<void>(create(made, page));
        rt::Budget gone{static_cast<u32>(made)};
        static_cast<void>(rt::budget_destroy(gone));
    };
    for (u64 value : kHostile) {
        for (u32 field = 0; field < 6; ++field) {
            spec = {.pages = 0,
                    .processes = 0,
                    .weight = 0,
                    .label_count = 0,
                    .labels = {},
                    .account = 0,
                    .deadline = abi::kForever};
            switch (field) {
            case 0: spec.pages = value; break;
            case 1: spec.processes = value; break;
            case 2: spec.weight = value; break;
            case 3: spec.label_count = value; break;
            case 4: spec.account = value; break;
            case 5: spec.deadline = value; break;
            }
            made_and_gone();
        }
    }
    for (Word record : {Word{0}, Word{8}, page + 4, page + rt::kPageSize - 8, ~Word{7},
                        Word{1} << (sizeof(Word) * 8 - 1)}) {
        static_cast<void>(create(own.index(), record));
    }
    // Empty ones until nothing is left.
    spec = {};
    spec.deadline = abi::kForever;
    u64 count = 0;
    while (create(own.index(), page) != 0) {
        ++count;
    }
    child.report(count);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Budget sibling = launcher.budget(launcher.users(), 100, 2);
    const rt::Budget budget = launcher.budget(launcher.users(), 100, 1, 1, 20);
    launcher.start<forger>(budget, {}, {budget.index()});
    static_cast<void>(launcher.open({.warm_up = {0}, .judged = rt::milliseconds(50)}));
    const abi::BudgetUsage users = launcher.usage(launcher.users());
    const abi::BudgetUsage beside = launcher.usage(sibling);
    launcher.expect(launcher.next_report().values[0] > 0);
    const abi::BudgetUsage now = launcher.usage(budget);
    launcher.expect(now.pages_used <= now.page_limit && now.processes_used <= now.process_limit &&
                    now.weight_carved <= now.weight_limit);
    const abi::BudgetUsage users_now = launcher.usage(launcher.users());
    launcher.expect(users_now.pages_used == users.pages_used &&
                    users_now.processes_used == users.processes_used &&
                    users_now.weight_carved == users.weight_carved);
    launcher.expect(launcher.usage(sibling).pages_used == beside.pages_used);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
