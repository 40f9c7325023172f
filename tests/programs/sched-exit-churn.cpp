// A budget whose threads, then processes, run nine tenths of a slice and end before it does, by exiting or
// by a fault, beside a spinner of equal weight: ending is no way to run uncharged. One window each.

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
using workload::Child;
using workload::Launcher;

constexpr u64 kWeight = 100;

// Those that live at a time: one runs, one is ready behind it.
constexpr u32 kAlive = 2;

// A thread's stack stays when it has ended, because nobody sees it end.
constexpr u64 kStackPages = 4'000;

/// What churn_threads and its threads share, in a page of its own.
struct Threads {
    rt::Ticks work;
    std::atomic<u32> alive{0};
};

// The whole lives of those that end. Argument: the address of Threads, or the work.

void work_and_end(rt::Env& env) {
    Threads* threads = rt::user_object<Threads>(env.argument());
    rt::work(threads->work);
    threads->alive.fetch_sub(1, std::memory_order_relaxed);
}

void work_and_exit(rt::Env& env) {
    rt::work({env.argument()});
    rt::process_exit(0);
}

void work_and_fault(rt::Env& env) {
    rt::work({env.argument()});
    // Nothing is ever mapped at the bottom of user memory.
    volatile rt::u32* nowhere = rt::user_object<volatile rt::u32>(0);
    for (;;) {
        *nowhere = 0;
    }
}

/// Keeps kAlive threads alive, looking every millisecond. Parameter 0: a thread's work.
void churn_threads(Child& child) {
    const Word page = child.must(rt::map_anon(rt::kPageSize, abi::kRead | abi::kWrite));
    auto* threads = new (rt::user_memory(page)) Threads{.work = {child.parameter(0)}};
    child.begin();
    u64 count = 0;
    while (child.in_window()) {
        while (threads->alive.load(std::memory_order_relaxed) < kAlive) {
            threads->alive.fetch_add(1, std::memory_order_relaxed);
            rt::Stack stack = child.must(rt::Stack::make());
            static_cast<void>(child.must(rt::start_thread<work_and_end>(stack, page)));
            stack.forget();
            ++count;
        }
        rt::sleep(rt::milliseconds(1));
    }
    child.report(count);
}

/// Keeps kAlive processes of Life alive in this process's own budget, the role handle 0. Parameter 0:
/// a process's work.
template <void (*Life)(rt::Env&)>
void churn_processes(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    const rt::Endpoint exits = child.must(rt::endpoint_create());
    child.begin();
    u32 alive = 0;
    u64 count = 0;
    while (child.in_window()) {
        for (; alive < kAlive; ++alive, ++count) {
            static_cast<void>(child.must(rt::start_copy<Life>(
                child.env().records(), own, static_cast<Word>(child.parameter(0)), {}, &exits)));
        }
        const rt::Message message = child.must(rt::receive(exits));
        if (message.kind != abi::Received::exit) {
            child.fail(__builtin_LINE());
        }
        --alive;
    }
    child.report(count);
}

template <void (*Role)(Child&)>
void play(Launcher& launcher) {
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget churner = launcher.budget(launcher.users(), kWeight, 2, 1 + 2 * kAlive, kStackPages);
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<Role>(churner, {launcher.ticks(workload::kSlice).value * 9 / 10},
                         {churner.index()});
    launcher.run({});
    launcher.collect();
    launcher.destroy(victim);
    launcher.destroy(churner);
    launcher.reset_children();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    play<churn_threads>(launcher);
    play<churn_processes<work_and_exit>>(launcher);
    play<churn_processes<work_and_fault>>(launcher);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
