// A lease takes all the memory it may, and another all that users may still give: who is refused is who is over its
// own limit, and a call that is refused half way leaves nothing. System's server has its own memory meanwhile,
// and the launcher finds every page back.

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
constexpr Word kLargest = 16;
const workload::Times kNow{.warm_up = {0}, .judged = {0}, .after = {0}};

// Maps until it is refused, less and less at a time, then tries what else takes pages. Reports what it mapped.
void hog(Child& child) {
    child.await_window();
    u64 pages = 0;
    for (Word length = kLargest; length != 0; length /= 2) {
        while (rt::map_anon(length * rt::kPageSize, kRights).ok()) {
            pages += length;
        }
    }
    u64 refused = 0;
    for (u32 i = 0; i < 50; ++i) {
        refused += rt::endpoint_create().status() == abi::Status::out_of_memory ? 1 : 0;
        refused +=
            rt::map_fixed(0x3000'0000 + Word{i} * 0x40'0000, rt::kPageSize, kRights).status() ==
                    abi::Status::out_of_memory
                ? 1
                : 0;
    }
    child.report(pages, refused);
    rt::sleep(rt::kForever);
}

// Maps, writes and unmaps while the others have all they can get.
void server(Child& child) {
    child.await_window();
    for (u32 i = 0; i < 20; ++i) {
        const Word page = child.must(rt::map_anon(4 * rt::kPageSize, kRights));
        *rt::user_object<volatile u32>(page) = i;
        child.must(rt::unmap(page, 4 * rt::kPageSize));
        child.must(rt::endpoint_create()).close();
    }
    child.report(1);
    rt::sleep(rt::kForever);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const abi::BudgetUsage before = launcher.usage(launcher.users());
    const rt::Budget beside = launcher.budget(launcher.system(), 100, 3, 1, 16);
    rt::Budget small = launcher.budget(launcher.users(), 100, 1, 1, 200);
    const u64 free = before.page_limit - launcher.usage(launcher.users()).pages_used;
    const u64 rest = free - rt::copy_pages() - 1;
    rt::Budget large = launcher.budget(launcher.users(), 100, 2, 1, rest);
    launcher.start<hog>(small);
    launcher.start<hog>(large);
    launcher.start<server>(beside);
    const abi::BudgetUsage carved = launcher.usage(launcher.users());
    launcher.expect(carved.pages_used == carved.page_limit);
    launcher.expect(rt::budget_create(env.records(), launcher.users(), {}).status() ==
                    abi::Status::out_of_memory);
    static_cast<void>(launcher.open(kNow));
    for (u32 i = 0; i < 3; ++i) {
        const workload::ChildReport report = launcher.next_report();
        launcher.expect(report.child == 2 || (report.values[0] >= 100 && report.values[1] == 100));
    }
    for (const rt::Budget* budget : {&small, &large}) {
        const abi::BudgetUsage full = launcher.usage(*budget);
        launcher.expect(full.pages_used == full.page_limit);
    }
    launcher.destroy(small);
    launcher.destroy(large);
    launcher.expect(launcher.usage(launcher.users()).pages_used == before.pages_used);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
