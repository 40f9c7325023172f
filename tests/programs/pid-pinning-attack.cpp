// A process that pins PIDs: it makes processes that end at once and takes none of their notices, makes some that it
// never starts, and drops its handles. It pins what its own budget may hold and nothing more: the victim
// makes and ends processes all the while, and the attacker's budget returns every PID.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u64 kProcesses = 40;
constexpr u32 kRounds = 30;

void end_at_once(rt::Env&) {
    rt::process_exit(1);
}

// Role handle 0: its own budget.
void attacker(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    const rt::Endpoint exits = child.must(rt::endpoint_create());
    child.begin();
    u64 made = 0;
    for (;;) {
        rt::Result<rt::Process> process =
            made % 2 == 0 ? rt::process_create(own, &exits)
                          : rt::start_copy<end_at_once>(child.env().records(), own, 0, {}, &exits);
        if (process.status() == abi::Status::out_of_processes) {
            break;
        }
        // A handle to a process is none to its end: dropping it frees nothing.
        process.value().close();
        made += 1;
    }
    child.report(made);
    for (;;) {
        static_cast<void>(rt::process_create(own, &exits));
        rt::sleep({500});
    }
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const abi::BudgetUsage before = launcher.usage(launcher.users());
    const rt::Endpoint exits = launcher.must(rt::endpoint_create());
    rt::Budget victim = launcher.budget(launcher.users(), 100, 2);
    rt::Budget budget = launcher.budget(launcher.users(), 100, 1, kProcesses);
    launcher.start<attacker>(budget, {}, {budget.index()});
    static_cast<void>(launcher.open({.warm_up = {0}, .judged = {0}}));
    static_cast<void>(launcher.next_report());
    for (u32 i = 0; i < kRounds; ++i) {
        const abi::BudgetUsage pinned = launcher.usage(budget);
        launcher.expect(pinned.processes_used == kProcesses);
        rt::Process process =
            launcher.must(rt::start_copy<end_at_once>(env.records(), victim, 0, {}, &exits));
        const rt::Message end = launcher.must(rt::receive(exits, rt::milliseconds(100)));
        launcher.expect(end.kind == abi::Received::exit && end.words.at[2] == 1);
        process.forget();
        launcher.expect(launcher.usage(victim).processes_used == 0);
    }
    launcher.destroy(budget);
    launcher.destroy(victim);
    const abi::BudgetUsage after = launcher.usage(launcher.users());
    launcher.expect(after.processes_used == before.processes_used &&
                    after.pages_used == before.pages_used);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
