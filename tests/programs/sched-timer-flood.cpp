// A budget that floods the timer beside a spinner of equal weight: thirty sleepers a microsecond apart;
// the same with 64 staggered deadlines of empty budgets; pairs of waits answered at once, 15 ms before
// their timeouts, whose timers find nothing. The flooder pays for its timers. One window each.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"
#include "user/workload/team.h"

namespace {

using namespace ravelin;
using rt::Micros;
using rt::Ticks;
using rt::u32;
using rt::u64;
using workload::Child;
using workload::Launcher;
using workload::Team;

constexpr u64 kWeight = 100;
constexpr u32 kSleepers = 30;
constexpr u64 kDeadlines = 64;
constexpr Micros kPeriod = rt::milliseconds(5);
constexpr u64 kPagesPerThread = 8;
constexpr Micros kEarlyBy = rt::milliseconds(15);

/// What the threads of one flood share.
struct Flood {
    Ticks end;
    u32 endpoint = 0;
};

// Every sleeper sleeps to its own microsecond of the same period.
void sleeper(Flood& flood, u32 index) {
    Micros wake = rt::time_now();
    wake.value -= wake.value % kPeriod.value;
    while (rt::clock() < flood.end) {
        wake = wake + kPeriod;
        const Micros mine = wake + Micros{index};
        const Micros now = rt::time_now();
        if (now < mine) {
            rt::sleep(mine - now);
        }
    }
}

// Thread 1 answers the waits of the others, both at once, and does it again when they wait again. No
// other wait of this process has a timeout that passes.
void early_answer(Flood& flood, u32 index) {
    rt::Endpoint endpoint{flood.endpoint};
    while (rt::clock() < flood.end) {
        if (index == 1) {
            static_cast<void>(rt::send(endpoint, {}));
            static_cast<void>(rt::send(endpoint, {}));
        } else {
            static_cast<void>(rt::receive(endpoint, kEarlyBy));
        }
    }
    endpoint.forget();
}

// So that the flooder wants its whole share, the main thread of each flood spins.
void spin_to_end(Child& child) {
    u64 count = 0;
    for (; child.in_window(); ++count) {
        rt::work({child.parameter(0)});
    }
    child.report(count);
}

/// 0 length of a piece
void flood_timeouts(Child& child) {
    child.begin();
    const Team<Flood, sleeper> team{child, {.end = child.window().end}, kSleepers};
    spin_to_end(child);
}

/// As flood_timeouts, with deadlines below this process's own budget, the role handle 0.
void flood_deadlines(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    child.begin();
    const Team<Flood, sleeper> team{child, {.end = child.window().end}, kSleepers};
    u64 count = 0;
    while (child.in_window()) {
        const Micros first = rt::time_now() + kPeriod;
        for (u64 i = 0; i < kDeadlines; ++i) {
            rt::Budget empty = child.must(
                rt::budget_create(child.env().records(), own, {.deadline = first + Micros{i}}));
            // Its deadline takes it, and the handle with it.
            empty.forget();
        }
        for (const Micros end = first + kPeriod; rt::time_now() < end; ++count) {
            rt::work({child.parameter(0)});
        }
    }
    child.report(count);
}

/// 0 length of a piece
void flood_early(Child& child) {
    const rt::Endpoint endpoint = child.must(rt::endpoint_create());
    child.begin();
    const Flood flood{.end = child.window().end, .endpoint = endpoint.index()};
    const Team<Flood, early_answer> team{child, flood, 3};
    spin_to_end(child);
}

template <void (*Role)(Child&)>
void play(Launcher& launcher) {
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget flooder = launcher.budget(launcher.users(), kWeight, 2, 1,
                                         kSleepers * kPagesPerThread + 2 * kDeadlines);
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<Role>(flooder, {launcher.piece()}, {flooder.index()});
    launcher.run({.judged = rt::milliseconds(400)});
    launcher.collect();
    launcher.destroy(victim);
    launcher.destroy(flooder);
    launcher.reset_children();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    play<flood_timeouts>(launcher);
    play<flood_deadlines>(launcher);
    play<flood_early>(launcher);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
