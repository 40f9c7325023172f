// Every number that is no call's is refused with zeros, and does nothing: the launcher, which holds every
// right there is, makes them with arguments that would destroy what it has if they meant anything.

#include "user/rt/program.h"
#include "user/rt/trap.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Launcher;

void refused(Launcher& launcher, Word number, Word first) {
    rt::Registers registers;
    registers.at[0] = number;
    for (unsigned place = 1; place < abi::kCallRegisters; ++place) {
        registers.at[place] = first;
    }
    rt::trap(registers);
    launcher.expect(registers.at[0] == static_cast<Word>(abi::Status::invalid_argument));
    for (unsigned place = 1; place < abi::kWordRegister; ++place) {
        launcher.expect(registers.at[place] == 0);
    }
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Budget budget = launcher.budget(launcher.users(), 100, 1);
    const abi::BudgetUsage users = launcher.usage(launcher.users());
    const abi::BudgetUsage root = launcher.usage(launcher.root());
    const Word last = abi::kCallBase + abi::kCallCount;
    for (Word first : {Word{budget.index()}, Word{abi::kBootReset}, ~Word{0}}) {
        for (Word number = 0; number <= abi::kCallBase; ++number) {
            refused(launcher, number, first);
        }
        for (Word number = last + 1; number < 0x600; ++number) {
            refused(launcher, number, first);
        }
        // The numbers of calls with one bit more.
        for (unsigned bit = 9; bit < sizeof(Word) * 8; ++bit) {
            for (Word number = abi::kCallBase; number <= last; ++number) {
                refused(launcher, number | Word{1} << bit, first);
            }
        }
        refused(launcher, ~Word{0}, first);
    }
    const abi::BudgetUsage users_now = launcher.usage(launcher.users());
    launcher.expect(users_now.pages_used == users.pages_used &&
                    users_now.weight_carved == users.weight_carved);
    launcher.expect(launcher.usage(launcher.root()).pages_used == root.pages_used);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
