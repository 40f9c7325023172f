// A thread that writes to a page without end while another thread of its process, on another hart, unmaps
// the page: the next write must fault, however the first hart has cached the page. Each round is a process
// of its own, and the launcher receives its end.

#include <atomic>
#include <new>

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Launcher;

constexpr u64 kRounds = 30;
constexpr rt::Micros kTimeout = rt::milliseconds(200);
constexpr Word kRights = abi::kRead | abi::kWrite;

void write_on(rt::Env& env) {
    volatile u32* place = rt::user_object<volatile u32>(env.argument());
    for (u32 value = 0;; ++value) {
        *place = value;
        rt::work({1});
    }
}

/// The whole life of a round's process. Argument: how long the writer writes first, in microseconds.
void unmap_under_a_writer(rt::Env& env) {
    rt::Result<Word> page = rt::map_anon(rt::kPageSize, kRights);
    rt::Result<rt::Stack> stack = rt::Stack::make();
    if (!page.ok() || !stack.ok() ||
        !rt::start_thread<write_on>(stack.value(), page.value()).ok()) {
        rt::process_exit(1);
    }
    stack.value().forget();
    rt::sleep({env.argument()});
    if (!rt::unmap(page.value(), rt::kPageSize).ok()) {
        rt::process_exit(2);
    }
    // The writer's fault ends this process.
    rt::sleep(rt::kForever);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint exits = launcher.must(rt::endpoint_create());
    rt::Budget budget = launcher.budget(launcher.users(), 100, 1, 1, 16);
    launcher.mark(workload::kWindowStart);
    for (u64 round = 0; round < kRounds; ++round) {
        rt::Process process = launcher.must(rt::start_copy<unmap_under_a_writer>(
            env.records(), budget, static_cast<Word>(1'000 + 37 * round), {}, &exits));
        const rt::Message end = launcher.must(rt::receive(exits, kTimeout));
        if (end.kind != abi::Received::exit ||
            end.words.at[1] != static_cast<u64>(abi::ExitCause::faulted) ||
            end.words.at[2] != static_cast<u64>(abi::FaultCode::store)) {
            launcher.fail();
        }
        process.forget();
    }
    launcher.mark(workload::kWindowEnd);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
