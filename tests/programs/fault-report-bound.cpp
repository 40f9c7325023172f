// The fault of a process that maps thousands of pages, scattered and in one piece: telling of it and taking the process
// apart is one bounded section. The launcher receives how it ended, and a witness beside it goes on.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr u64 kPages = 4'096;
constexpr u32 kRights = abi::kRead | abi::kWrite;
constexpr Word kScattered = 0x2100'0000;
constexpr Word kAtATime = 32;
constexpr u64 kTables = 128;

// Start handle 1: tells the launcher that it is about to fault.
void big(rt::Env& env) {
    const rt::Endpoint ready = env.start_handle<rt::Endpoint>(1);
    // Half of it side by side, half every second page. By a few at a time: zeroing is not judged here.
    for (Word i = 0; i < kPages / 2; i += kAtATime) {
        if (!rt::map_anon(kAtATime * rt::kPageSize, kRights).ok()) {
            rt::process_exit(1);
        }
    }
    for (Word i = 0; i < kPages / 2; ++i) {
        if (!rt::map_fixed(kScattered + 2 * i * rt::kPageSize, rt::kPageSize, kRights).ok()) {
            rt::process_exit(2);
        }
    }
    static_cast<void>(rt::send(ready, {{1}}));
    *rt::user_object<volatile u32>(kScattered + rt::kPageSize) = 1;
    rt::process_exit(3);
}

void witness(Child& child) {
    const rt::Endpoint server = child.handle<rt::Endpoint>(0);
    for (;;) {
        child.must(rt::send(server, {{2}}));
        rt::sleep(rt::milliseconds(1));
    }
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint server = launcher.must(rt::endpoint_create());
    const rt::Endpoint sends = launcher.must(rt::mint(server, 1));
    const rt::Endpoint exits = launcher.must(rt::endpoint_create());
    const rt::Budget beside = launcher.budget(launcher.users(), 100, 2);
    launcher.start<witness>(beside, {}, {sends.index()});
    const rt::Budget budget = launcher.budget(launcher.users(), 100, 1, 1, kPages + kTables);
    const u64 before = launcher.usage(budget).pages_used;
    const u32 handles[] = {sends.index()};
    rt::Process process =
        launcher.must(rt::start_copy<big>(env.records(), budget, 0, handles, &exits));
    while (launcher.must(rt::receive(server, rt::milliseconds(500))).words.at[0] != 1) {
    }
    const rt::Message end = launcher.must(rt::receive(exits, rt::milliseconds(500)));
    launcher.expect(end.words.at[1] == static_cast<u64>(abi::ExitCause::faulted) &&
                    end.words.at[2] == static_cast<u64>(abi::FaultCode::store));
    process.forget();
    launcher.expect(launcher.usage(budget).pages_used == before);
    for (u32 i = 0; i < 10; ++i) {
        launcher.expect(launcher.must(rt::receive(server, rt::milliseconds(50))).account == 2);
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
