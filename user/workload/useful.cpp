// See useful.h.
#include "user/workload/useful.h"

#include "user/rt/trap.h"

namespace ravelin::workload {

namespace {

/// Turns of the loop in a round, between two looks at the clock.
constexpr u32 kTurns = 100;

/// How long the pace is taken: less than half a slice.
constexpr Micros kPace{400};

// The same code for the pace and for the window.
[[gnu::noinline]] u64 rounds_until(Ticks end) {
    u64 rounds = 0;
    for (; rt::clock() < end; ++rounds) {
        for (u32 turn = 0; turn < kTurns; ++turn) {
            asm volatile("" ::: "memory");
        }
    }
    return rounds;
}

}  // namespace

void count_rounds(Child& child) {
    child.begin();
    child.report(rounds_until(child.window().end));
}

u64 useful_work(Launcher& launcher, u32 children, Micros length) {
    rt::sleep(rt::milliseconds(2));  // a slice of its own from here on
    const Ticks begin = rt::clock();
    const u64 paced = rounds_until(begin + launcher.ticks(kPace));
    const Ticks pace = rt::clock() - begin;
    const Window window =
        launcher.run({.warm_up = Micros{0}, .judged = length, .after = Micros{0}});
    u64 rounds = 0;
    for (u32 child = 0; child < children; ++child) {
        rounds += launcher.next_report().values[0];
    }
    return rounds * pace.value * 1000 / paced / (window.end - window.start).value;
}

}  // namespace ravelin::workload
