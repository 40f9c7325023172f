// Handle tables are paid for: a process makes senders until its budget or its table is full, closes all, and
// does so again from the other end. The launcher reads in its budget's books that every table page was charged and
// every one came back, and that the limit held.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u64 kSlots = 64;
constexpr u64 kWholeTable = abi::kMaxHandles / kSlots;
const workload::Times kStep{.warm_up = {0}, .judged = {0}, .after = {0}};

void filler(Child& child) {
    const rt::Endpoint source = child.must(rt::endpoint_create());
    for (u32 round = 0; round < 2; ++round) {
        child.await_window();
        u64 count = 0;
        abi::Status status = abi::Status::ok;
        u32 last = source.index();
        for (;; ++count) {
            rt::Result<rt::Endpoint> made = rt::mint(source, count + 1);
            status = made.status();
            if (!made.ok()) {
                break;
            }
            last = made.value().forget();
        }
        child.report(count, static_cast<u64>(status));
        child.await_window();
        for (u32 i = 0; i < count; ++i) {
            rt::close_handle(round == 0 ? source.index() + 1 + i : last - i);
        }
        child.report(count);
    }
    child.await_window();
}

// `pages`: of its budget, beside a process's own. `full`: what refuses the last one.
void fill_and_close(Launcher& launcher, u64 account, u64 pages, abi::Status full) {
    rt::Budget budget = launcher.budget(launcher.users(), 100, account, 1, pages);
    launcher.start<filler>(budget);
    rt::sleep(rt::milliseconds(2));
    const u64 before = launcher.usage(budget).pages_used;
    for (u32 round = 0; round < 2; ++round) {
        static_cast<void>(launcher.open(kStep));
        const workload::ChildReport report = launcher.next_report();
        const abi::BudgetUsage now = launcher.usage(budget);
        launcher.expect(report.values[1] == static_cast<u64>(full));
        launcher.expect(now.pages_used == before + report.values[0] / kSlots ||
                        now.pages_used == before + report.values[0] / kSlots + 1);
        launcher.expect(full == abi::Status::too_large ? now.pages_used < now.page_limit
                                                       : now.pages_used == now.page_limit);
        static_cast<void>(launcher.open(kStep));
        static_cast<void>(launcher.next_report());
        launcher.expect(launcher.usage(budget).pages_used == before);
    }
    launcher.destroy(budget);
    launcher.reset_children();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const u64 users = launcher.usage(launcher.users()).pages_used;
    fill_and_close(launcher, 1, 0, abi::Status::out_of_memory);
    fill_and_close(launcher, 2, 2 * kWholeTable, abi::Status::too_large);
    launcher.expect(launcher.usage(launcher.users()).pages_used == users);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
