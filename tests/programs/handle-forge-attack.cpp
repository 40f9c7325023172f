// A program that guesses handles: it names every number of a handle table and numbers beyond it in every
// call that takes a handle, in registers and in records, and holds nothing but its mailbox and its report
// handle. The launcher holds a budget, an endpoint and a process that it must not reach: nothing
// arrives at the endpoint, the budgets are as they were, and the process can still be started.

#include "user/rt/program.h"
#include "user/rt/trap.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr Word kBeyond = 64;

bool is_own(Word handle) {
    return handle == workload::kMailboxHandle || handle == workload::kReportHandle;
}

void attempt(abi::Call call, std::initializer_list<Word> arguments) {
    rt::Registers registers;
    registers.at[0] = abi::kCallBase + static_cast<Word>(call);
    unsigned place = 1;
    for (Word argument : arguments) {
        registers.at[place++] = argument;
    }
    rt::trap(registers);
}

void attempt_all(Word handle, Word page) {
    for (abi::Call call :
         {abi::Call::budget_destroy, abi::Call::budget_reap, abi::Call::system_reset,
          abi::Call::map_device, abi::Call::device_info}) {
        attempt(call, {handle, 1});
    }
    attempt(abi::Call::budget_create, {handle, page});
    attempt(abi::Call::budget_usage, {handle, page});
    attempt(abi::Call::process_create, {handle, 0});
    attempt(abi::Call::process_map, {handle, page, 0x10000, rt::kPageSize, abi::kRead});
    attempt(abi::Call::process_start, {handle, 0x10000, 0, 0, 0, 0});
    attempt(abi::Call::send, {handle, 0, 0});
    attempt(abi::Call::call, {handle, 0, 0});
    attempt(abi::Call::receive, {handle, 0, 0});
    attempt(abi::Call::mint, {static_cast<Word>(abi::MintSource::handle), handle, 0, 5});
    attempt(abi::Call::mint, {static_cast<Word>(abi::MintSource::message), handle, 0, 5});
    attempt(abi::Call::handle_close, {handle});
}

void forger(Child& child) {
    child.begin();
    const Word page = child.must(rt::map_anon(rt::kPageSize, abi::kRead | abi::kWrite));
    rt::user_object<abi::BudgetSpec>(page)->deadline = abi::kForever;
    for (Word handle = 0; handle < abi::kMaxHandles + kBeyond; handle += 1) {
        if (!is_own(handle) && (handle < 128 || handle % 61 == 0 || handle >= abi::kMaxHandles)) {
            attempt_all(handle, page);
        }
    }
    for (unsigned bit = 12; bit < sizeof(Word) * 8; ++bit) {
        attempt_all(Word{1} << bit | 3, page);
    }
    // In a message to its own mailbox, as something to be copied.
    const Word body = page + 1024;
    for (u64 handle : {u64{0}, u64{3}, u64{4}, u64{100}, u64{4095}, u64{4096}, ~u64{0}}) {
        rt::user_object<abi::Body>(body)->handle_count = 1;
        rt::user_object<abi::Body>(body)->handles[0] = handle;
        attempt(abi::Call::send, {workload::kReportHandle, 0, 0, body});
    }
    child.report(1);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint secret = launcher.must(rt::endpoint_create());
    const rt::Budget precious = launcher.budget(launcher.users(), 100, 2);
    const rt::Process process = launcher.must(rt::process_create(precious));
    const Word stack = launcher.must(rt::load_copy(process));
    const rt::Budget budget = launcher.budget(launcher.users(), 100, 1);
    launcher.start<forger>(budget);
    static_cast<void>(launcher.open({.warm_up = {0}, .judged = rt::milliseconds(50)}));
    const abi::BudgetUsage users = launcher.usage(launcher.users());
    const abi::BudgetUsage root = launcher.usage(launcher.root());
    const abi::BudgetUsage before = launcher.usage(precious);
    launcher.expect(launcher.next_report().values[0] == 1);
    launcher.expect(rt::receive(secret, {0}).status() == abi::Status::timeout);
    const auto same = [&](const rt::Budget& of, const abi::BudgetUsage& was) {
        const abi::BudgetUsage now = launcher.usage(of);
        launcher.expect(now.pages_used == was.pages_used &&
                        now.processes_used == was.processes_used &&
                        now.weight_carved == was.weight_carved);
    };
    same(launcher.users(), users);
    same(precious, before);
    // Root pays for the forger's process object until that has ended.
    launcher.expect(launcher.usage(launcher.root()).pages_used <= root.pages_used);
    launcher.must(rt::process_start(env.records(), process, rt::entry<workload::busy>(), stack,
                                    static_cast<Word>(launcher.piece()), {}));
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
