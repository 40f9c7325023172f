// Among sixteen spinners, under each of three parents a child runs one slice and is destroyed, and a sibling is
// made at once. The child's weight is 1, so that its slice keeps it from a second one for many rounds.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u64;
using workload::Launcher;

constexpr u64 kPeers = 16;
constexpr u64 kPeerWeight = 20;

// A slice for each peer and the child, with the kernel's time.
constexpr rt::Micros kRound = rt::milliseconds(18);

struct Phase {
    u64 parent = 0;
    u64 sibling = 0;
    u64 rounds = 0;  ///< in which the sibling has had its slice
};
constexpr Phase kPhases[] = {{20, 2, 4}, {10, 5, 5}, {2, 1, 14}};

rt::Budget child_of(Launcher& launcher, const rt::Budget& parent, u64 weight) {
    rt::Budget child = launcher.must(
        rt::budget_create(launcher.env().records(), parent,
                          {.pages = rt::copy_pages(), .processes = 1, .weight = weight}));
    launcher.must(rt::start_copy<workload::busy>(launcher.env().records(), child,
                                                 static_cast<rt::Word>(launcher.piece()), {}));
    return child;
}

void main(rt::Env& env) {
    Launcher launcher{env};
    for (u64 i = 0; i < kPeers; ++i) {
        rt::Budget peer = launcher.budget(launcher.users(), kPeerWeight, 2);
        launcher.start<workload::spin>(peer, {launcher.piece()});
        peer.forget();
    }
    launcher.open({.warm_up = {0}, .judged = rt::milliseconds(1000)});
    rt::sleep(kRound);
    launcher.mark(workload::kWindowStart);
    for (const Phase& phase : kPhases) {
        rt::Budget parent =
            launcher.budget(launcher.users(), phase.parent, 1, 1, rt::copy_pages() + 4);
        rt::Budget child = child_of(launcher, parent, 1);
        rt::sleep(rt::Micros{2 * kRound.value});
        launcher.destroy(child);
        rt::Budget sibling = child_of(launcher, parent, phase.sibling);
        rt::sleep(rt::Micros{phase.rounds * kRound.value});
        launcher.destroy(parent);
        child.forget();
        sibling.forget();
    }
    launcher.mark(workload::kWindowEnd);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
