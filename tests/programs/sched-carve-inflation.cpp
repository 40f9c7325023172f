// A spinning budget that carves spinning children, one deep and four deep, beside a spinner of its own
// weight: carving moves share and makes none. One window each.

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
constexpr u64 kDepths[] = {1, 4};
constexpr u64 kMaxDepth = 4;

// What a child gets of the budget that carves it, so that each keeps as much as the deepest has.
constexpr u64 weight_at(u64 level, u64 depth) {
    return kWeight * (depth + 1 - level) / (depth + 1);
}

/// Spins in this process's own budget, the role handle 0, and in a line of budgets below it.
///   0 levels of the line   1 length of a piece
void carve(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    const u64 depth = child.parameter(0);
    rt::Budget line[kMaxDepth];
    for (u64 level = 1; level <= depth; ++level) {
        const u64 left = depth + 1 - level;
        line[level - 1] =
            child.must(rt::budget_create(child.env().records(), level == 1 ? own : line[level - 2],
                                         {.pages = left * (rt::copy_pages() + 1),
                                          .processes = left,
                                          .weight = weight_at(level, depth)}));
    }
    child.begin();
    for (u64 level = 0; level < depth; ++level) {
        static_cast<void>(child.must(rt::start_copy<workload::busy>(
            child.env().records(), line[level], static_cast<Word>(child.parameter(1)), {})));
    }
    u64 count = 0;
    for (; child.in_window(); ++count) {
        rt::work({child.parameter(1)});
    }
    child.report(count);
}

void play(Launcher& launcher, u64 depth) {
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget carver =
        launcher.budget(launcher.users(), kWeight, 2, 1 + kMaxDepth, kMaxDepth * rt::copy_pages());
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<carve>(carver, {depth, launcher.piece()}, {carver.index()});
    launcher.run({});
    launcher.collect();
    launcher.destroy(victim);
    launcher.destroy(carver);
    launcher.reset_children();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    for (u64 depth : kDepths) {
        play(launcher, depth);
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
