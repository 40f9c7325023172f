// A PID that is used again carries nothing over (R20). The launcher fills every PID but a few, so that
// those are used again and again; an attacker holds handles to processes that have ended. It can map
// nothing into and start nothing of the next process of that number, which the launcher then starts itself.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr u32 kRounds = 12;
constexpr u32 kLeftFree = 2;
constexpr u32 kFillers = 507;

// Receives handles of processes at role handle 0. When told by a word that the one it holds has ended, it
// tries what it can with that place in its table.
void attacker(Child& child) {
    const rt::Endpoint mine = child.handle<rt::Endpoint>(0);
    const Word page = child.must(rt::map_anon(rt::kPageSize, abi::kRead | abi::kWrite));
    for (;;) {
        rt::Delivery granted = child.must(rt::receive(child.env().records(), mine, 0));
        rt::Process held{granted.handles.at[0].forget()};
        static_cast<void>(child.must(rt::receive(mine)));
        const bool mapped =
            rt::process_map(held, page, 0x20000, rt::kPageSize, abi::kRead | abi::kWrite).ok();
        const bool started = rt::process_start(child.env().records(), held, 0x20000, 0, 0, {}).ok();
        held.forget();
        child.report(mapped ? 1 : 0, started ? 1 : 0);
    }
}

// Ends with the code that its argument is.
void live(rt::Env& env) {
    rt::process_exit(env.argument());
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Records& records = env.records();
    const rt::Endpoint box = launcher.must(rt::endpoint_create());
    const rt::Endpoint to_box = launcher.must(rt::mint(box, 1));
    const rt::Endpoint exits = launcher.must(rt::endpoint_create());
    const rt::Budget hostile = launcher.budget(launcher.users(), 100, 1);
    launcher.start<attacker>(hostile, {}, {box.index()});
    // Empty processes take the numbers.
    const u64 in_system = 125;
    const rt::Budget system = launcher.must(
        rt::budget_create(records, launcher.system(),
                          {.pages = 4 * in_system, .processes = in_system, .weight = 10}));
    const rt::Budget users = launcher.must(rt::budget_create(
        records, launcher.users(), {.pages = 1'520, .processes = 375, .weight = 10}));
    const rt::Budget stage = launcher.budget(launcher.users(), 100, 2, 2);
    u32 left = kFillers - kLeftFree;
    for (u32 i = 0; left != 0; ++i) {
        rt::Result<rt::Process> filler = rt::process_create(i < in_system ? system : users);
        if (!filler.ok()) {
            break;
        }
        filler.value().forget();
        --left;
    }
    u64 seen[kRounds] = {};
    u32 again = 0;
    for (u32 round = 0; round < kRounds; ++round) {
        rt::Process first =
            launcher.must(rt::start_copy<live>(records, stage, Word{7}, {}, &exits));
        const u32 handles[] = {first.index()};
        rt::sleep({0});
        const rt::Outcome granted = rt::send(records, to_box, {}, {.handles = handles});
        launcher.must(granted);
        const rt::Message ended = launcher.must(rt::receive(exits, rt::milliseconds(100)));
        first.forget();
        // The next process has that number, or the other one that is free.
        const rt::Process next = launcher.must(rt::process_create(stage, &exits));
        const Word stack = launcher.must(rt::load_copy(next));
        launcher.must(rt::send(to_box, {}));
        const workload::ChildReport report = launcher.next_report();
        launcher.expect(report.values[0] == 0 && report.values[1] == 0);
        launcher.must(rt::process_start(records, next, rt::entry<live>(), stack, 9, {}));
        const rt::Message last = launcher.must(rt::receive(exits, rt::milliseconds(100)));
        launcher.expect(last.words.at[2] == 9);
        again += last.words.at[0] == ended.words.at[0] ? 1 : 0;
        seen[round] = last.words.at[0];
    }
    // Of few numbers some came again at once.
    launcher.expect(again > 0);
    launcher.expect(seen[0] != 0);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
