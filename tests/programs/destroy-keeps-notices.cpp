// Exit notices outlive the budgets their processes ran in: five processes end in five ways, the budgets of
// some are destroyed before the notices are taken, and each is told once, with its cause and code. Until
// then its PID counts, in the budget or where that one's limits went; afterwards nothing does.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Launcher;

constexpr u32 kProcesses = 5;
constexpr Word kCode = 90;

// Argument: 0 to 2 exits with kCode and more, 3 faults, 4 is killed.
void live(rt::Env& env) {
    if (env.argument() == 3) {
        *rt::user_object<volatile u64>(8) = 0;
    }
    if (env.argument() == 4) {
        rt::sleep(rt::kForever);
    }
    rt::process_exit(kCode + env.argument());
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint exits = launcher.must(rt::endpoint_create());
    rt::Budget budgets[kProcesses];
    const abi::BudgetUsage users = launcher.usage(launcher.users());
    const u64 root = launcher.usage(launcher.root()).pages_used;
    for (u32 i = 0; i < kProcesses; ++i) {
        budgets[i] = launcher.budget(launcher.users(), 100, i + 1);
        rt::Process process =
            launcher.must(rt::start_copy<live>(env.records(), budgets[i], Word{i}, {}, &exits));
        rt::sleep(rt::milliseconds(3));
    }
    for (u32 i = 0; i < kProcesses; i += 2) {
        launcher.destroy(budgets[i]);
    }
    // Their PIDs count where the limits of the destroyed budgets went.
    launcher.expect(launcher.usage(launcher.users()).processes_used ==
                    users.processes_used + kProcesses);
    u64 pids[kProcesses] = {};
    for (u32 i = 0; i < kProcesses; ++i) {
        const rt::Message notice = launcher.must(rt::receive(exits, rt::milliseconds(100)));
        launcher.expect(notice.kind == abi::Received::exit);
        pids[i] = notice.words.at[0];
        for (u32 before = 0; before < i; ++before) {
            launcher.expect(pids[before] != pids[i]);
        }
        const auto cause = static_cast<abi::ExitCause>(notice.words.at[1]);
        switch (i) {
        case 3:
            launcher.expect(cause == abi::ExitCause::faulted &&
                            notice.words.at[2] == static_cast<u64>(abi::FaultCode::store));
            break;
        case 4: launcher.expect(cause == abi::ExitCause::killed); break;
        default:
            launcher.expect(cause == abi::ExitCause::exited && notice.words.at[2] == kCode + i);
        }
        launcher.expect(notice.account == 0);
    }
    launcher.expect(rt::receive(exits, {0}).status() == abi::Status::timeout);
    for (u32 i = 1; i < kProcesses; i += 2) {
        launcher.destroy(budgets[i]);
    }
    const abi::BudgetUsage now = launcher.usage(launcher.users());
    launcher.expect(now.processes_used == users.processes_used &&
                    now.pages_used == users.pages_used);
    launcher.expect(launcher.usage(launcher.root()).pages_used <= root);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
