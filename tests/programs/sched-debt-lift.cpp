// Under one parent among three spinners of its weight, children of weight 1 run a slice and are destroyed,
// and each time a sibling is made at once: a dead child's debt is its parent's by weight, so the
// sibling is not kept waiting for it.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u64;
using workload::Launcher;

constexpr u64 kWeight = 100;
constexpr u64 kPeers = 3;
constexpr u64 kRounds = 12;

// In which each peer and the newborn have had their slice.
constexpr rt::Micros kRound = rt::milliseconds(7);

rt::Budget newborn(Launcher& launcher, const rt::Budget& parent) {
    rt::Budget child =
        launcher.must(rt::budget_create(launcher.env().records(), parent,
                                        {.pages = rt::copy_pages(), .processes = 1, .weight = 1}));
    launcher.must(rt::start_copy<workload::busy>(launcher.env().records(), child,
                                                 static_cast<rt::Word>(launcher.piece()), {}));
    return child;
}

void main(rt::Env& env) {
    Launcher launcher{env};
    for (u64 i = 0; i < kPeers; ++i) {
        rt::Budget peer = launcher.budget(launcher.users(), kWeight, 2 + i);
        launcher.start<workload::spin>(peer, {launcher.piece()});
        peer.forget();
    }
    rt::Budget parent = launcher.budget(launcher.users(), kWeight, 1, 1, rt::copy_pages() + 4);
    launcher.open({.warm_up = {0}, .judged = rt::milliseconds(500)});
    rt::sleep(kRound);
    launcher.mark(workload::kWindowStart);
    for (u64 i = 0; i < kRounds; ++i) {
        rt::Budget child = newborn(launcher, parent);
        rt::sleep(kRound);
        launcher.destroy(child);
        child.forget();
    }
    launcher.mark(workload::kWindowEnd);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
