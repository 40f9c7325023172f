// Tables end with what they map, whatever takes it away: unmapping, moving pages to a process, lending, giving pages in a
// message and the other side's replies. A process does each a hundred times at places of their own with few
// pages to spare; the launcher finds its budget's books the same after each.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr u32 kRights = abi::kRead | abi::kWrite;
constexpr u32 kRounds = 100;
constexpr Word kFirst = 0x2100'0000;
constexpr Word kStride = 0x40'0000;
const workload::Times kNow{.warm_up = {0}, .judged = {0}, .after = {0}};

Word place(u32 round) {
    return kFirst + Word{round} * kStride;
}

// Role handles: its own budget, a server.
void mapper(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    const rt::Endpoint server = child.handle<rt::Endpoint>(1);
    rt::Records& records = child.env().records();
    const Word kept = records.page();
    child.report(kept);
    for (u32 phase = 0; phase < 4; ++phase) {
        child.await_window();
        for (u32 round = 0; round < kRounds; ++round) {
            const Word at = place(round);
            child.must(rt::map_fixed(at, rt::kPageSize, kRights));
            if (phase == 0) {
                child.must(rt::unmap(at, rt::kPageSize));
            } else if (phase == 1) {
                rt::Budget scope = child.must(
                    rt::budget_create(records, own, {.pages = 8, .processes = 1, .weight = 1}));
                const rt::Process process = child.must(rt::process_create(scope));
                child.must(
                    rt::process_map(process, at, place(kRounds - round), rt::kPageSize, kRights));
                child.must(rt::budget_destroy(scope));
                scope.forget();
            } else if (phase == 2) {
                child.must(rt::send(records, server, {}, {.address = at, .pages = 1}));
            } else {
                const rt::CallEnd end = rt::call(records, server, {}, {.address = at, .pages = 1});
                child.must(rt::Outcome{end.status});
                child.must(rt::unmap(at, rt::kPageSize));
            }
        }
        child.report(kRounds);
    }
    rt::sleep(rt::kForever);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Records& records = env.records();
    const rt::Endpoint server = launcher.must(rt::endpoint_create());
    const rt::Endpoint sends = launcher.must(rt::mint(server, 1));
    const rt::Budget budget = launcher.budget(launcher.users(), 100, 1, 2, 12);
    launcher.start<mapper>(budget, {}, {budget.index(), sends.index()});
    launcher.collect();
    const u64 before = launcher.usage(budget).pages_used;
    const u64 root = launcher.usage(launcher.root()).pages_used;
    for (u32 phase = 0; phase < 4; ++phase) {
        static_cast<void>(launcher.open(kNow));
        for (u32 round = 0; phase >= 2 && round < kRounds; ++round) {
            const rt::Delivery got =
                launcher.must(rt::receive(records, server, 1, rt::milliseconds(100)));
            launcher.expect(got.pages == 1);
            if (phase == 2) {
                launcher.must(rt::unmap(got.address, rt::kPageSize));
            } else {
                launcher.expect(launcher.must(rt::reply(got.message.id, {})) ==
                                abi::Reply::delivered);
            }
        }
        launcher.expect(launcher.next_report().values[0] == kRounds);
        launcher.expect(launcher.usage(budget).pages_used == before);
        launcher.expect(launcher.usage(launcher.root()).pages_used <= root + 1);
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
