// A creator that floods its own budget with empty budgets of weight 0 on short deadlines, a microsecond
// apart, beside a spinner of equal weight: it pays for every destruction. One window with 16 a round,
// one with 64.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::Micros;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u64 kWeight = 100;
constexpr u64 kFloods[] = {16, 64};
constexpr u64 kMaxFlood = 64;
constexpr Micros kAhead{200};

/// Floods this process's own budget, the role handle 0, and works a slice behind each flood.
///   0 deadlines a flood   1 work behind a flood
void flood(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    child.begin();
    u64 count = 0;
    for (; child.in_window(); ++count) {
        const Micros first = rt::time_now() + kAhead;
        for (u64 i = 0; i < child.parameter(0); ++i) {
            rt::Budget empty = child.must(
                rt::budget_create(child.env().records(), own, {.deadline = first + Micros{i}}));
            // Its deadline takes it, and the handle with it.
            empty.forget();
        }
        rt::work({child.parameter(1)});
    }
    child.report(count);
}

void play(Launcher& launcher, u64 size) {
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget flooder = launcher.budget(launcher.users(), kWeight, 2, 1, 4 * kMaxFlood);
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<flood>(flooder, {size, launcher.ticks(workload::kSlice).value},
                          {flooder.index()});
    launcher.run({});
    launcher.collect();
    launcher.destroy(victim);
    launcher.destroy(flooder);
    launcher.reset_children();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    for (u64 size : kFloods) {
        play(launcher, size);
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
