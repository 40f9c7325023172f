// See roles.h.

#include "user/workload/roles.h"

#include "user/rt/trap.h"
#include "user/workload/team.h"

namespace ravelin::workload {

namespace {

// What the threads of spin and game share. Each counts in its own place.
struct Load {
    Ticks end;
    Ticks work;
    Micros nap;
    u64 counts[kMaxTeam + 1] = {};
};

// Runs Work on as many threads as `threads` says, the calling one among them, and reports their counts.
template <void (*Work)(Load&, u32)>
void run_load(Child& child, const Load& load, u64 threads) {
    const u32 others = threads == 0 ? 0 : static_cast<u32>(threads - 1);
    Team<Load, Work> team{child, load, others};
    Work(team.shared(), 0);
    team.join();
    u64 total = 0;
    for (u64 count : team.shared().counts) {
        total += count;
    }
    child.report(total);
}

void spin_thread(Load& load, u32 index) {
    u64 count = 0;
    while (rt::clock() < load.end) {
        rt::work(load.work);
        ++count;
    }
    load.counts[index] = count;
}

void game_thread(Load& load, u32 index) {
    u64 count = 0;
    while (rt::clock() < load.end) {
        rt::work(load.work);
        rt::sleep(load.nap);
        ++count;
    }
    load.counts[index] = count;
}

// How far ahead of now the first deadline of a flood is.
constexpr Micros kFloodAhead{200};

}  // namespace

void spin(Child& child) {
    child.begin();
    const Load load{.end = child.window().end, .work = {child.parameter(0)}, .nap = {}};
    run_load<spin_thread>(child, load, child.parameter(1));
}

void spin_gap(Child& child) {
    child.begin();
    const Ticks start = child.window().start;
    const auto at = [&](u32 parameter) {
        return start + child.rate().ticks_of({child.parameter(parameter)});
    };
    const Ticks pause = child.parameter(2) == 0 ? child.window().end : at(2);
    u64 count = 0;
    const auto work_until = [&](Ticks end) {
        while (rt::clock() < end) {
            rt::work({child.parameter(0)});
            ++count;
        }
    };
    child.sleep_until(at(1));
    work_until(pause);
    if (child.in_window()) {
        child.sleep_until(at(3));
        work_until(child.window().end);
    }
    child.report(count);
}

void game(Child& child) {
    child.begin();
    rt::sleep({child.parameter(3)});
    const Load load{
        .end = child.window().end, .work = {child.parameter(0)}, .nap = {child.parameter(1)}};
    run_load<game_thread>(child, load, child.parameter(2));
}

void nap(Child& child) {
    child.begin();
    const u64 naps = child.parameter(0);
    Micros length{child.parameter(1)};
    for (u64 i = 0; i < naps; ++i) {
        rt::sleep(length);
        rt::work({child.parameter(3)});
        length = length + Micros{child.parameter(2)};
    }
    child.report(naps);
}

void carve_and_return(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    const u64 slice = child.parameter(2);
    child.begin();
    u64 count = 0;
    rt::Ticks last = rt::clock();
    while (child.in_window()) {
        rt::work({child.parameter(0)});
        const rt::Ticks now = rt::clock();
        // A gap that others' slices made: this is the start of one of its own.
        if ((now - last).value > slice / 2 && count < child.parameter(1)) {
            rt::Budget most =
                child.must(rt::budget_create(child.env().records(), own, {.weight = kCarved}));
            const u64 spent = (rt::clock() - now).value;
            rt::work({slice * 9 / 10 - (spent < slice / 2 ? spent : slice / 2)});
            child.must(rt::budget_destroy(most));
            ++count;
            last = rt::clock();
        } else {
            last = now;
        }
    }
    child.report(count);
}

void flood(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    child.begin();
    u64 count = 0;
    for (; child.in_window(); ++count) {
        const Micros first = rt::time_now() + kFloodAhead;
        for (u64 i = 0; i < child.parameter(0); ++i) {
            rt::Budget empty = child.must(
                rt::budget_create(child.env().records(), own, {.deadline = first + Micros{i}}));
            // Its deadline takes it, and the handle with it.
            empty.forget();
        }
        rt::work({child.parameter(1)});
    }
    child.report(0, count);
}

void tie(Child& child) {
    rt::Endpoint silent = child.handle<rt::Endpoint>(0);
    // No common sleep: the destruction alone may wake several in one entry.
    child.await_window();
    const rt::Result<rt::Words> answer = rt::call(silent, {});
    // Its stamp is what ended the call, so the kernel has closed the handle.
    silent.forget();
    if (answer.status() != rt::Status::dead) {
        child.fail(__builtin_LINE());
    }
    child.report(rt::clock().value);
}

void busy(rt::Env& env) {
    for (;;) {
        rt::work({env.argument()});
    }
}

}  // namespace ravelin::workload
