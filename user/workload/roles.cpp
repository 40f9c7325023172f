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
    u64 counts[kMaxTeam] = {};
};

u64 sum(const Load& load) {
    u64 total = 0;
    for (u64 count : load.counts) {
        total += count;
    }
    return total;
}

u32 threads_of(u64 parameter) {
    return parameter == 0 ? 1 : static_cast<u32>(parameter);
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

}  // namespace

void spin(Child& child) {
    child.begin();
    const Load load{.end = child.window().end, .work = {child.parameter(0)}, .nap = {}};
    child.report(sum(Team<Load, spin_thread>::run(child, load, threads_of(child.parameter(1)))));
}

void game(Child& child) {
    child.begin();
    const Load load{
        .end = child.window().end, .work = {child.parameter(0)}, .nap = {child.parameter(1)}};
    child.report(sum(Team<Load, game_thread>::run(child, load, threads_of(child.parameter(2)))));
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

void tie(Child& child) {
    rt::Endpoint silent = child.handle<rt::Endpoint>(0);
    child.begin();
    const rt::Result<rt::Words> answer = rt::call(silent, {});
    // Its stamp is what ended the call, so the kernel has closed the handle.
    silent.forget();
    if (answer.status() != rt::Status::dead) {
        child.fail(__builtin_LINE());
    }
    child.report(rt::clock().value);
}

}  // namespace ravelin::workload
