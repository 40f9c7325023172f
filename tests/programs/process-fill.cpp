// Every process that users may hold exists: one more is refused for each of its budgets and for nobody else, system's
// own go on being made and run, and a PID is free again when its notice is taken and no sooner. The launcher
// makes the processes and reads the books.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Launcher;

constexpr u64 kPagesAProcess = 3;
constexpr u32 kEnds = 5;

void live(rt::Env&) {
    rt::process_exit(7);
}

void run_one(Launcher& launcher, const rt::Budget& budget, const rt::Endpoint& exits) {
    rt::Process process =
        launcher.must(rt::start_copy<live>(launcher.env().records(), budget, 0, {}, &exits));
    const rt::Message end = launcher.must(rt::receive(exits, rt::milliseconds(200)));
    launcher.expect(end.kind == abi::Received::exit && end.words.at[2] == 7);
    process.forget();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Records& records = env.records();
    const rt::Endpoint exits = launcher.must(rt::endpoint_create());
    const rt::Endpoint late = launcher.must(rt::endpoint_create());
    const abi::BudgetUsage before = launcher.usage(launcher.users());
    const u64 all = before.process_limit - before.processes_used;
    rt::Budget stage = launcher.budget(launcher.users(), 100, 1, kEnds);
    rt::Budget server = launcher.budget(launcher.system(), 100, 2);
    // Children hold nearly all, so that each is full by itself.
    rt::Budget full = launcher.must(rt::budget_create(
        records, launcher.users(),
        {.pages = (all - kEnds) * kPagesAProcess, .processes = all - kEnds, .weight = 10}));
    for (u32 i = 0; i < kEnds; ++i) {
        launcher.must(rt::start_copy<live>(records, stage, 0, {}, &late)).forget();
        rt::sleep(rt::milliseconds(3));
    }
    for (u64 i = 0; i < all - kEnds; ++i) {
        launcher.must(rt::process_create(full)).forget();
    }
    launcher.expect(rt::process_create(full).status() == abi::Status::out_of_processes);
    launcher.expect(rt::process_create(stage).status() == abi::Status::out_of_processes);
    launcher.expect(rt::process_create(launcher.users()).status() == abi::Status::out_of_processes);
    launcher.expect(rt::budget_create(records, launcher.users(), {.processes = 1}).status() ==
                    abi::Status::out_of_processes);
    const abi::BudgetUsage filled = launcher.usage(launcher.users());
    launcher.expect(filled.processes_used == filled.process_limit);
    // Those that ended hold their PIDs until they are told of.
    for (u32 i = 0; i < kEnds; ++i) {
        launcher.expect(rt::process_create(stage).status() == abi::Status::out_of_processes);
        run_one(launcher, server, exits);
        launcher.expect(launcher.must(rt::receive(late, {0})).kind == abi::Received::exit);
        launcher.must(rt::process_create(stage)).forget();
    }
    launcher.expect(launcher.usage(stage).processes_used == kEnds);
    launcher.destroy(full);
    run_one(launcher, server, exits);
    launcher.destroy(stage);
    const abi::BudgetUsage after = launcher.usage(launcher.users());
    launcher.expect(after.processes_used == before.processes_used &&
                    after.pages_used == before.pages_used);
    rt::Budget again = launcher.budget(launcher.users(), 100, 3);
    run_one(launcher, again, exits);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
