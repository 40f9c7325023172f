// A creator that floods its own budget with empty budgets of weight 0 on short deadlines, a microsecond
// apart, beside a spinner of equal weight: it pays for every destruction. One window with 16 a round,
// one with 64.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u64;
using workload::Launcher;

constexpr u64 kWeight = 100;
constexpr u64 kFloods[] = {16, 64};
void play(Launcher& launcher, u64 size) {
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget flooder = launcher.budget(launcher.users(), kWeight, 2, 1, workload::kFloodPages);
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<workload::flood>(flooder, {size, launcher.ticks(workload::kSlice).value},
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
