// Page tables are charged and freed: a process maps single pages so far apart that each needs tables of its own,
// until its budget refuses; ranges over all of user space are refused at once, whatever lies in them, and
// change nothing. The launcher reads its budget's books before, full, and after everything is unmapped.

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
constexpr u64 kMorePages = 40;
constexpr Word kFirst = 0x2100'0000;
constexpr Word kEnd = 0x4000'0000;
// A lowest table of every format maps no more than that.
constexpr Word kStride = 0x40'0000;

const workload::Times kStep{.warm_up = {0}, .judged = {0}, .after = {0}};

// Maps until it is refused; reports the count. At the next window asks for what cannot be had, and at the next
// unmaps all.
void mapper(Child& child) {
    child.await_window();
    u64 mapped = 0;
    for (Word at = kFirst; at < kEnd; at += kStride) {
        const abi::Status status = rt::map_fixed(at, rt::kPageSize, kRights).status();
        if (status != abi::Status::ok) {
            child.report(mapped, static_cast<u64>(status));
            break;
        }
        ++mapped;
    }
    child.await_window();
    u64 refused = 0;
    for (Word at : {rt::kPageSize, kFirst, kFirst + rt::kPageSize, kEnd - kStride}) {
        for (Word length : {kEnd - at, kStride, 64 * kStride}) {
            refused += rt::map_fixed(at, length, kRights).ok() ? 0 : 1;
        }
    }
    child.report(refused);
    child.await_window();
    for (u64 i = 0; i < mapped; ++i) {
        child.must(rt::unmap(kFirst + static_cast<Word>(i) * kStride, rt::kPageSize));
    }
    child.report(mapped);
    child.await_window();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Budget budget = launcher.budget(launcher.users(), 100, 1, 1, kMorePages);
    launcher.start<mapper>(budget);
    const u64 before = launcher.usage(budget).pages_used;
    static_cast<void>(launcher.open(kStep));
    const workload::ChildReport filled = launcher.next_report();
    const abi::BudgetUsage full = launcher.usage(budget);
    launcher.expect(filled.values[1] == static_cast<u64>(abi::Status::out_of_memory));
    // Each page has a table, and the last one did not fit with its own.
    launcher.expect(filled.values[0] >= kMorePages / 4);
    launcher.expect(full.pages_used >= before + 2 * filled.values[0]);
    launcher.expect(full.pages_used <= full.page_limit && full.pages_used + 3 > full.page_limit);
    static_cast<void>(launcher.open(kStep));
    launcher.expect(launcher.next_report().values[0] == 12);
    launcher.expect(launcher.usage(budget).pages_used == full.pages_used);
    static_cast<void>(launcher.open(kStep));
    launcher.expect(launcher.next_report().values[0] == filled.values[0]);
    launcher.expect(launcher.usage(budget).pages_used == before);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
