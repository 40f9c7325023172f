// A process that calls every memory call with every hostile address, length and rights there are, at
// random and in order, and keeps what it gets. A victim beside it finds its own pages as it left them; the
// launcher finds every budget's books right, and all of the memory back when the attacker is destroyed.

#include "user/rt/program.h"
#include "user/rt/trap.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr u32 kRights = abi::kRead | abi::kWrite;
constexpr u64 kMorePages = 64;
constexpr u32 kVictimPages = 16;
constexpr u64 kDraws = 3'000;
constexpr Word kImage = 0x1'0000;
constexpr Word kStack = 0x2000'0000;
constexpr Word kTop = Word{1} << (sizeof(Word) * 8 - 1);

constexpr Word kAddresses[] = {
    0,           1,           0x1000,        0x0400'0000, 0x043f'f000,  0x0440'0000,
    0x0fff'f000, 0x1000'0000, 0x1000'0800,   0x1fff'f000, 0x2000'0000,  0x3fff'f000,
    0x4000'0000, 0x7fff'f000, kTop - 0x1000, kTop,        ~Word{0xfff}, ~Word{0}};
constexpr Word kLengths[] = {
    0,           1,           0x1000, 0x1001,        0x2000,       0x20'0000,
    0x1000'0000, 0x1000'1000, kTop,   kTop - 0x1000, ~Word{0xfff}, ~Word{0}};
constexpr Word kAllRights[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 0x80, kTop, ~Word{0}};
constexpr abi::Call kCalls[] = {abi::Call::map_anon, abi::Call::unmap, abi::Call::set_flags,
                                abi::Call::map_fixed, abi::Call::process_map};

void enter(abi::Call call, Word process, Word address, Word to, Word length, Word rights) {
    rt::Registers registers;
    registers.at[0] = abi::kCallBase + static_cast<Word>(call);
    switch (call) {
    case abi::Call::map_anon:
        registers.at[1] = length;
        registers.at[2] = rights;
        break;
    case abi::Call::process_map:
        registers.at[1] = process;
        registers.at[2] = address;
        registers.at[3] = to;
        registers.at[4] = length;
        registers.at[5] = rights;
        break;
    default:
        registers.at[1] = address;
        registers.at[2] = length;
        registers.at[3] = rights;
        break;
    }
    rt::trap(registers);
}

// Whether a call takes pages away from where the program itself or its stack may lie: it is to live.
bool takes_own(abi::Call call, Word address) {
    return call != abi::Call::map_anon && call != abi::Call::map_fixed &&
           (address == kImage || address == kStack);
}

// Reports how many calls it made at random. Role handle 0: its own budget.
void attacker(Child& child) {
    child.begin();
    const rt::Budget own = child.handle<rt::Budget>(0);
    const rt::Process process = child.must(rt::process_create(own));
    for (abi::Call call : kCalls) {
        for (Word address : kAddresses) {
            for (Word length : kLengths) {
                for (Word rights : {Word{0}, Word{3}, Word{7}, ~Word{0}}) {
                    if (takes_own(call, address)) {
                        continue;
                    }
                    enter(call, process.index(), address, address, length, rights);
                }
            }
        }
    }
    const auto pick = [](const auto& values, u64 draw) { return values[draw % std::size(values)]; };
    for (u64 i = 0; i < kDraws; ++i) {
        const u64 draw = child.must(rt::random());
        const abi::Call call = pick(kCalls, draw);
        const Word address = pick(kAddresses, draw >> 8);
        if (!takes_own(call, address)) {
            enter(call, process.index(), address, pick(kAddresses, draw >> 16),
                  pick(kLengths, draw >> 24), pick(kAllRights, draw >> 32));
        }
    }
    child.report(kDraws);
    rt::sleep(rt::kForever);
}

u64 pattern(u32 page, u32 place) {
    return (u64{page} << 32 | place) * 0x9e37'79b9'7f4a'7c15u;
}

// Writes its pages and looks at them until the window ends. Reports how many words were not its own.
void victim(Child& child) {
    const Word base = child.must(rt::map_anon(kVictimPages * rt::kPageSize, kRights));
    const auto word = [&](u32 page, u32 place) -> volatile u64& {
        return *rt::user_object<volatile u64>(base + page * rt::kPageSize + place * sizeof(u64));
    };
    constexpr u32 kWords = rt::kPageSize / sizeof(u64);
    for (u32 page = 0; page < kVictimPages; ++page) {
        for (u32 place = 0; place < kWords; ++place) {
            word(page, place) = pattern(page, place);
        }
    }
    child.begin();
    u64 foreign = 0;
    u64 looks = 0;
    do {
        for (u32 page = 0; page < kVictimPages; ++page) {
            for (u32 place = 0; place < kWords; ++place) {
                foreign += word(page, place) != pattern(page, place) ? 1 : 0;
            }
        }
        rt::sleep({200});
        ++looks;
    } while (child.in_window());
    child.report(foreign, looks);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Budget witness = launcher.budget(launcher.users(), 100, 1, 1, kVictimPages + 4);
    const u64 before = launcher.usage(launcher.users()).pages_used;
    rt::Budget budget = launcher.budget(launcher.users(), 100, 2, 2, kMorePages);
    const u32 first = launcher.start<victim>(witness);
    launcher.start<attacker>(budget, {}, {budget.index()});
    const u64 victims = launcher.usage(witness).pages_used;
    const workload::Times times{
        .warm_up = {0}, .judged = rt::milliseconds(400), .after = rt::milliseconds(1)};
    static_cast<void>(launcher.run(times));
    for (u32 i = 0; i < 2; ++i) {
        const workload::ChildReport report = launcher.next_report();
        if (report.child == first) {
            launcher.expect(report.values[0] == 0 && report.values[1] > 10);
        } else {
            launcher.expect(report.values[0] == kDraws);
        }
    }
    const abi::BudgetUsage now = launcher.usage(budget);
    launcher.expect(now.pages_used <= now.page_limit && now.processes_used <= now.process_limit);
    launcher.expect(launcher.usage(witness).pages_used <= victims + kVictimPages + 4);
    launcher.destroy(budget);
    launcher.expect(launcher.usage(launcher.users()).pages_used == before);
    // The memory it had is there, and empty: the launcher's next pages show nothing of it.
    const Word fresh = launcher.must(rt::map_anon(64 * rt::kPageSize, kRights));
    for (Word at = 0; at < 64 * rt::kPageSize; at += sizeof(u64)) {
        launcher.expect(*rt::user_object<volatile u64>(fresh + at) == 0);
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
