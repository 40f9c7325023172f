// A budget whose threads, then processes, run nine tenths of a slice and end before it does, by exiting or
// by a fault, beside a spinner of equal weight: ending is no way to run uncharged. One window each.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr u64 kWeight = 100;

// Those that live at a time: one runs, one is ready behind it.
constexpr u64 kAlive = 2;

// A thread's stack stays when it has ended, because nobody sees it end.
constexpr u64 kStackPages = 4'000;

// The whole lives of those that end. Argument: the work.

void work_and_end(rt::Env& env) {
    rt::work({env.argument()});
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

/// Starts a thread a millisecond, polling between them. Parameter 0: a thread's work.
void churn_threads(Child& child) {
    child.begin();
    u64 count = 0;
    while (child.in_window()) {
        rt::Stack stack = child.must(rt::Stack::make());
        static_cast<void>(child.must(
            rt::start_thread<work_and_end>(stack, static_cast<Word>(child.parameter(0)))));
        stack.forget();
        ++count;
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
    u64 alive = 0;
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
