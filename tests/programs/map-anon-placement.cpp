// Where map_anon places: behind what it placed last, in its own area, never over anything, around again from the
// start, and into a hole of just the size when that is all there is. A range that was unmapped is not given
// again at once. The launcher maps and looks at every address that it is given.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Launcher;

constexpr Word kStart = 0x1000'0000;
constexpr Word kPages = 65'536;
constexpr Word kEnd = kStart + kPages * rt::kPageSize;
constexpr u32 kRights = abi::kRead | abi::kWrite;
constexpr u32 kSeries = 64;
constexpr Word kStep = 256;

void main(rt::Env& env) {
    Launcher launcher{env};
    const auto map = [&](Word pages) {
        const Word at = launcher.must(rt::map_anon(pages * rt::kPageSize, kRights));
        launcher.expect(at >= kStart && at <= kEnd - pages * rt::kPageSize);
        // Zeroed, and its own: the mark is found when it is unmapped.
        for (Word page = 0; page < pages; ++page) {
            volatile u64& word = *rt::user_object<volatile u64>(at + page * rt::kPageSize);
            launcher.expect(word == 0);
            word = at;
        }
        return at;
    };
    const auto unmap = [&](Word at, Word pages) {
        for (Word page = 0; page < pages; ++page) {
            launcher.expect(*rt::user_object<volatile u64>(at + page * rt::kPageSize) == at);
        }
        launcher.must(rt::unmap(at, pages * rt::kPageSize));
    };
    Word places[kSeries];
    Word lengths[kSeries];
    for (u32 i = 0; i < kSeries; ++i) {
        lengths[i] = 1 + i % 7;
        places[i] = map(lengths[i]);
        launcher.expect(i == 0 || places[i] == places[i - 1] + lengths[i - 1] * rt::kPageSize);
    }
    // The holes are not filled while there is room ahead.
    for (u32 i = 0; i < kSeries; i += 2) {
        unmap(places[i], lengths[i]);
    }
    const Word next = map(1);
    launcher.expect(next == places[kSeries - 1] + lengths[kSeries - 1] * rt::kPageSize);
    // Placing goes on to the area's end, and then around into the lowest hole that has room. No page is mapped
    // between: each is unmapped again.
    const Word last = kEnd - rt::kPageSize;
    launcher.must(rt::map_fixed(last, rt::kPageSize, kRights));
    Word before = next;
    while (before + 2 * kStep * rt::kPageSize < last) {
        const Word at = launcher.must(rt::map_anon(kStep * rt::kPageSize, kRights));
        launcher.expect(at > before);
        launcher.must(rt::unmap(at, kStep * rt::kPageSize));
        before = at;
    }
    const Word left = (last - before) / rt::kPageSize - kStep;
    launcher.expect(map(left) == before + kStep * rt::kPageSize);
    launcher.expect(lengths[6] == 7 && map(7) == places[6]);
    // Longer than the area: refused, and the next is placed behind the last all the same.
    launcher.expect(rt::map_anon((kPages + 1) * rt::kPageSize, kRights).status() ==
                    abi::Status::out_of_memory);
    launcher.expect(map(3) == places[10]);
    for (u32 i = 1; i < kSeries; i += 2) {
        unmap(places[i], lengths[i]);
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
