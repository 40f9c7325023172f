// Searches for room that fail only at the end of the area: a process leaves no free run as long as it asks
// for, in fragmentations that make the search look at every page, and asks again and again. The kernel's longest
// section is judged; the launcher's own naps meanwhile end in time.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr Word kAreaStart = 0x1000'0000;
constexpr u32 kAreaPages = 65'536;
constexpr u32 kSearches = 20;
constexpr u32 kRights = abi::kRead | abi::kWrite;
constexpr u64 kFillPages = kAreaPages / 2 + 512;

// Uses every page whose number is a multiple of `step`, from `first` on, that is not used yet.
void use_every(u32 first, u32 step) {
    for (u32 page = first; page < kAreaPages; page += step) {
        static_cast<void>(
            rt::map_fixed(kAreaStart + Word{page} * rt::kPageSize, rt::kPageSize, kRights));
    }
}

// How many of some requests for `pages` pages were refused for want of room.
u64 refusals(u32 pages) {
    u64 refused = 0;
    for (u32 i = 0; i < kSearches; ++i) {
        refused +=
            rt::map_anon(pages * rt::kPageSize, kRights).status() == abi::Status::out_of_memory ? 1
                                                                                                : 0;
    }
    return refused;
}

// Fragments its area more and more finely, and asks for a page more than any free run has, and for twice that
// less one, which is longer than a machine word in the first steps.
void searcher(Child& child) {
    child.begin();
    u64 refused = 0;
    for (u32 step : {128u, 64u, 32u, 16u, 4u, 2u}) {
        use_every(step - 1, step);
        refused += refusals(step) + refusals(2 * step - 1);
    }
    child.report(refused);
    rt::sleep(rt::kForever);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Budget budget = launcher.budget(launcher.users(), 100, 1, 1, kFillPages);
    launcher.start<searcher>(budget);
    const workload::Times times{.warm_up = {0}, .judged = rt::milliseconds(20), .after = {0}};
    static_cast<void>(launcher.run(times));
    launcher.expect(launcher.next_report().values[0] == 6 * 2 * kSearches);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
