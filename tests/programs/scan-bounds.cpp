// No call scans what others made: with twenty thousand endpoints of others in the kernel, making a process and
// taking its exit notice, mapping a page, making an endpoint and a budget take the launcher a fifth more ticks than
// before at most, or ten.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr u32 kRuns = 12;
constexpr u32 kHoarders = 5;
constexpr u32 kHoard = 4'000;
constexpr u32 kRights = abi::kRead | abi::kWrite;

enum Measured : u32 { kProcess, kNotice, kMap, kEndpoint, kBudget, kMeasured };

struct Longest {
    u64 ticks[kMeasured] = {};

    // Behind a nap, so that no end of a slice falls into it.
    template <class Call>
    auto take(Measured which, const Call& call) {
        rt::sleep({100});
        const rt::Ticks begin = rt::clock();
        auto result = call();
        const u64 took = (rt::clock() - begin).value;
        ticks[which] = took > ticks[which] ? took : ticks[which];
        return result;
    }
};

void hoard(Child& child) {
    for (u32 i = 0; i < kHoard; ++i) {
        child.must(rt::endpoint_create()).forget();
    }
    child.report(kHoard);
    rt::sleep(rt::kForever);
}

void live(rt::Env&) {
    rt::process_exit(7);
}

void measure(Launcher& launcher, const rt::Budget& own, const rt::Endpoint& exits,
             Longest& longest) {
    rt::Records& records = launcher.env().records();
    for (u32 i = 0; i < kRuns; ++i) {
        rt::Process process =
            launcher.must(longest.take(kProcess, [&] { return rt::process_create(own, &exits); }));
        const Word stack = launcher.must(rt::load_copy(process));
        launcher.must(rt::process_start(records, process, rt::entry<live>(), stack, 0, {}));
        rt::sleep(rt::milliseconds(2));
        const rt::Message end =
            launcher.must(longest.take(kNotice, [&] { return rt::receive(exits, {0}); }));
        launcher.expect(end.words.at[2] == 7);
        process.forget();
        const Word page =
            launcher.must(longest.take(kMap, [] { return rt::map_anon(rt::kPageSize, kRights); }));
        launcher.must(rt::unmap(page, rt::kPageSize));
        const rt::Endpoint endpoint =
            launcher.must(longest.take(kEndpoint, [] { return rt::endpoint_create(); }));
        launcher.expect(rt::receive(endpoint, {0}).status() == abi::Status::timeout);
        rt::Budget empty = launcher.must(
            longest.take(kBudget, [&] { return rt::budget_create(records, own, {}); }));
        launcher.destroy(empty);
    }
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint exits = launcher.must(rt::endpoint_create());
    const rt::Budget own = launcher.budget(launcher.users(), 100, 900, 1, 8);
    Longest unused;
    Longest before;
    measure(launcher, own, exits, unused);
    measure(launcher, own, exits, before);
    for (u32 i = 0; i < kHoarders; ++i) {
        rt::Budget budget =
            launcher.budget(launcher.users(), 100, i + 1, 1, kHoard + kHoard / 64 + 2);
        launcher.start<hoard>(budget);
        budget.forget();
        static_cast<void>(launcher.next_report());
    }
    rt::sleep(rt::milliseconds(20));
    // The hoarders took what idle time had zeroed: as before, the first round's frames are zeroed in its naps for the next.
    measure(launcher, own, exits, unused);
    Longest after;
    measure(launcher, own, exits, after);
    for (u32 i = 0; i < kMeasured; ++i) {
        launcher.expect(after.ticks[i] <= before.ticks[i] + before.ticks[i] / 5 ||
                        after.ticks[i] <= before.ticks[i] + 10);
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
