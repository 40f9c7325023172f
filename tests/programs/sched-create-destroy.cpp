// A budget that makes children and destroys them at once, one behind the other, beside a spinner of its weight. In
// the end it uses what it used at the beginning.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/pairs.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using workload::Launcher;

constexpr rt::u64 kWeight = 100;
constexpr rt::u64 kPairs = 1'000;

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget churner = launcher.budget(launcher.users(), kWeight, 2, 1, 4);
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<workload::make_pairs>(churner, {kPairs}, {churner.index()});
    launcher.run({});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
