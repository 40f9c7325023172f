// A sleeper beside a spinner of equal weight: each of its twenty naps ends in the middle of a slice of the
// spinner, which keeps the CPU to the slice's end.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::Micros;
using workload::Launcher;

constexpr rt::u64 kNaps = 20;

// The spinner's slice begins when the sleeper blocks. Naps from 1.2 to 1.8 slices end in its second slice,
// each elsewhere in it.
constexpr Micros kFirstNap{1'200};
constexpr Micros kLonger{30};
constexpr Micros kWork{50};

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget sleeper = launcher.budget(launcher.users(), 100, 1);
    rt::Budget spinner = launcher.budget(launcher.users(), 100, 2);
    launcher.start<workload::nap>(
        sleeper, {kNaps, kFirstNap.value, kLonger.value, launcher.ticks(kWork).value});
    launcher.start<workload::spin>(spinner, {launcher.piece()});
    launcher.run({.warm_up = {0}, .judged = rt::milliseconds(100)});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
