// Processes that come and go, far more than there are PIDs, so that address space numbers are used again:
// each maps a page where all do, finds zeros in it, fills it with what is its own, naps while others do the
// same on every hart, and finds its own again.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Launcher;

constexpr u64 kAlive = 6;
constexpr u64 kProcesses = 1'200;
constexpr Word kPlace = 0x0200'0000;
constexpr Word kWords = rt::kPageSize / sizeof(u32);
constexpr rt::Micros kTimeout = rt::milliseconds(500);

/// Argument: what the page is filled with, not 0. Exits with 0 only if it saw nothing else.
void fill_and_check(rt::Env& env) {
    if (!rt::map_fixed(kPlace, rt::kPageSize, abi::kRead | abi::kWrite).ok()) {
        rt::process_exit(1);
    }
    volatile u32* page = rt::user_object<volatile u32>(kPlace);
    const u32 own = static_cast<u32>(env.argument());
    for (Word i = 0; i < kWords; ++i) {
        if (page[i] != 0) {
            rt::process_exit(2);
        }
        page[i] = own;
    }
    rt::sleep({500});
    for (Word i = 0; i < kWords; ++i) {
        if (page[i] != own) {
            rt::process_exit(3);
        }
    }
    rt::process_exit(0);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint exits = launcher.must(rt::endpoint_create());
    rt::Budget budget = launcher.budget(launcher.users(), 1'000, 1, kAlive, 4 * kAlive);
    u64 started = 0;
    u64 ended = 0;
    launcher.mark(workload::kWindowStart);
    while (ended < kProcesses) {
        for (; started < kProcesses && started - ended < kAlive; ++started) {
            rt::Process process = launcher.must(rt::start_copy<fill_and_check>(
                env.records(), budget, static_cast<Word>(started + 1), {}, &exits));
            process.close();
        }
        const rt::Message end = launcher.must(rt::receive(exits, kTimeout));
        if (end.kind != abi::Received::exit ||
            end.words.at[1] != static_cast<u64>(abi::ExitCause::exited) || end.words.at[2] != 0) {
            launcher.fail();
        }
        ++ended;
    }
    launcher.mark(workload::kWindowEnd);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
