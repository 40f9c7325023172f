// One budget maps pages and gives them back before each nap, beside a victim that spins. What it frees is zeroed by
// the hart that idles through its naps, at its cost.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr rt::u64 kWeight = 100;
constexpr Word kPages = 32;
constexpr rt::Micros kNap{1'000};

void free_and_nap(Child& child) {
    child.begin();
    rt::u64 rounds = 0;
    for (; rt::clock() < child.window().end; ++rounds) {
        const Word page =
            child.must(rt::map_anon(kPages * rt::kPageSize, abi::kRead | abi::kWrite));
        for (Word at = 0; at < kPages; ++at) {
            *rt::user_object<volatile Word>(page + at * rt::kPageSize) = ~Word{0};
        }
        child.must(rt::unmap(page, kPages * rt::kPageSize));
        rt::sleep(kNap);
    }
    child.report(rounds);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget churner = launcher.budget(launcher.users(), kWeight, 2, 1, 128);
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<free_and_nap>(churner, {launcher.piece()});
    launcher.run({});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
