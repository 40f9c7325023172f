// The kernel's random numbers: the launcher draws them while a child draws too. No number comes twice, neither
// to one nor to both; half of the bits of each place are set, and half of them change from draw to draw.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr u32 kDraws = 1'024;
constexpr u32 kReports = 128;

// Six standard deviations of a fair coin thrown kDraws times: 6 * sqrt(kDraws) / 2.
constexpr u64 kAway = 96;

// Draws for itself, and reports one after every few.
void drawer(Child& child) {
    for (u32 i = 0; i < kReports; ++i) {
        for (u32 j = 0; j < 7; ++j) {
            static_cast<void>(child.must(rt::random()));
        }
        child.report(child.must(rt::random()), child.must(rt::random()));
    }
}

bool fair(u64 count) {
    return count + kAway >= kDraws / 2 && count <= kDraws / 2 + kAway;
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Budget budget = launcher.budget(launcher.users(), 100, 1);
    launcher.start<drawer>(budget);
    const Word memory = launcher.must(rt::map_anon(
        rt::whole_pages((kDraws + 2 * kReports) * sizeof(u64)), abi::kRead | abi::kWrite));
    u64* draws = rt::user_object<u64>(memory);
    u32 count = 0;
    while (count < kDraws) {
        draws[count++] = launcher.must(rt::random());
    }
    for (u32 bit = 0; bit < 64; ++bit) {
        u64 set = 0;
        u64 changed = 0;
        for (u32 i = 0; i < kDraws; ++i) {
            set += draws[i] >> bit & 1;
            changed += (draws[i] ^ draws[(i + 1) % kDraws]) >> bit & 1;
        }
        launcher.expect(fair(set) && fair(changed));
    }
    for (u32 i = 0; i < kReports; ++i) {
        const workload::ChildReport report = launcher.next_report();
        draws[count++] = report.values[0];
        draws[count++] = report.values[1];
    }
    for (u32 i = 0; i < count; ++i) {
        for (u32 j = i + 1; j < count; ++j) {
            launcher.expect(draws[i] != draws[j]);
        }
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
