// Budgets whose weight is worth more harts than they have threads. Four windows, each meant for the hart
// counts that its case judges it at: a third budget joins beside a heavy one (2 harts), a third light
// one beside two heavy ones (3), a heavy one gains a second thread (2), and one budget is spread over
// four threads (2 and 4).

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Launcher;

// What comes late comes this long after the others, and the window is judged from then on: the floor has
// to be where the late one finds its share at once.
constexpr rt::Micros kLate = rt::milliseconds(100);

struct Member {
    u64 account;
    u64 weight;
    u64 threads = 1;
    bool late = false;   ///< it joins late
    bool gains = false;  ///< a second process of it joins late
};

template <u32 kCount>
void play(Launcher& launcher, const Member (&members)[kCount]) {
    rt::Budget budgets[kCount];
    for (u32 i = 0; i < kCount; ++i) {
        const Member& member = members[i];
        budgets[i] = launcher.budget(launcher.users(), member.weight, member.account, 2);
        const u64 begins = member.late ? kLate.value : 0;
        if (member.threads > 1) {
            launcher.start<workload::spin>(budgets[i], {launcher.piece(), member.threads});
        } else {
            launcher.start<workload::spin_gap>(budgets[i], {launcher.piece(), begins});
        }
        if (member.gains) {
            launcher.start<workload::spin_gap>(budgets[i], {launcher.piece(), kLate.value});
        }
    }
    launcher.run({.warm_up = kLate, .judged = rt::milliseconds(300)});
    launcher.collect();
    for (rt::Budget& budget : budgets) {
        launcher.destroy(budget);
    }
    launcher.reset_children();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    play(launcher, {{.account = 1, .weight = 300},
                    {.account = 2, .weight = 100},
                    {.account = 3, .weight = 100, .late = true}});
    play(launcher, {{.account = 11, .weight = 400},
                    {.account = 12, .weight = 400},
                    {.account = 13, .weight = 100},
                    {.account = 14, .weight = 100},
                    {.account = 15, .weight = 100, .late = true}});
    play(launcher, {{.account = 21, .weight = 900, .gains = true},
                    {.account = 22, .weight = 100},
                    {.account = 23, .weight = 100}});
    play(launcher, {{.account = 31, .weight = 100, .threads = 4},
                    {.account = 32, .weight = 100},
                    {.account = 33, .weight = 100},
                    {.account = 34, .weight = 100}});
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
