// Carving gets nobody more than there is (R7): a holder of a process cannot give away its last weight, a budget
// without free weight holds no process, and children of children have no more than their parent, in any
// currency. The launcher makes the refused calls itself; then a child carves at random and the launcher
// reads the books of all above it.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u64 kWeight = 100;
constexpr u32 kKept = 12;

// Carves at random from its own budget (role handle 0) and from what it carved, and destroys at random.
void carver(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    child.begin();
    rt::Budget kept[kKept];
    while (child.in_window()) {
        const u64 draw = child.must(rt::random());
        rt::Budget& place = kept[draw % kKept];
        if (place) {
            // It may be gone with what it was below, and its number another's.
            static_cast<void>(rt::budget_destroy(place));
            place.forget();
        }
        const rt::Budget& above = kept[(draw >> 8) % kKept];
        rt::Result<rt::Budget> made = rt::budget_create(child.env().records(), above ? above : own,
                                                        {.pages = (draw >> 16) % 64,
                                                         .processes = (draw >> 24) % 4,
                                                         .weight = (draw >> 32) % (kWeight + 10)});
        if (made.ok()) {
            place = std::move(made.value());
        }
    }
    child.report(0);
    for (rt::Budget& place : kept) {
        place.forget();
    }
    rt::sleep(rt::kForever);
}

void refusals(Launcher& launcher) {
    rt::Records& records = launcher.env().records();
    rt::Budget top = launcher.must(rt::budget_create(
        records, launcher.users(), {.pages = 100, .processes = 2, .weight = kWeight}));
    const abi::BudgetUsage fresh = launcher.usage(top);
    const auto create = [&](const rt::BudgetLimits& limits) {
        return rt::budget_create(records, top, limits).status();
    };
    launcher.expect(create({.pages = 100}) == abi::Status::out_of_memory);
    launcher.expect(create({.pages = ~u64{0}}) == abi::Status::out_of_memory);
    launcher.expect(create({.processes = 3}) == abi::Status::out_of_processes);
    launcher.expect(create({.processes = ~u64{0}}) == abi::Status::out_of_processes);
    launcher.expect(create({.weight = kWeight + 1}) == abi::Status::invalid_argument);
    launcher.expect(create({.weight = (u64{1} << 32) + 1}) == abi::Status::invalid_argument);
    launcher.expect(launcher.usage(top).pages_used == fresh.pages_used);
    {
        // All of the weight of one that holds no process; then nothing can run in it.
        rt::Budget all = launcher.must(rt::budget_create(records, top, {.weight = kWeight}));
        launcher.expect(rt::process_create(top).status() == abi::Status::invalid_argument);
        launcher.destroy(all);
    }
    const rt::Process process = launcher.must(rt::process_create(top));
    launcher.expect(create({.weight = kWeight}) == abi::Status::invalid_argument);
    rt::Budget most = launcher.must(rt::budget_create(records, top, {.weight = kWeight - 1}));
    launcher.expect(create({.weight = 1}) == abi::Status::invalid_argument);
    launcher.destroy(most);
    const abi::BudgetUsage now = launcher.usage(top);
    launcher.expect(now.weight_carved == 0 && now.processes_used == 1);
    launcher.destroy(top);
}

bool within(const abi::BudgetUsage& usage) {
    return usage.pages_used <= usage.page_limit && usage.processes_used <= usage.process_limit &&
           usage.weight_carved < usage.weight_limit;
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const abi::BudgetUsage before = launcher.usage(launcher.users());
    refusals(launcher);
    rt::Budget budget = launcher.budget(launcher.users(), kWeight, 1, 8, 300);
    const abi::BudgetUsage carved = launcher.usage(launcher.users());
    launcher.start<carver>(budget, {}, {budget.index()});
    static_cast<void>(
        launcher.open({.warm_up = {0}, .judged = rt::milliseconds(60), .after = {0}}));
    for (u32 i = 0; i < 40; ++i) {
        launcher.expect(within(launcher.usage(budget)));
        launcher.expect(launcher.usage(launcher.users()).pages_used == carved.pages_used);
        rt::sleep(rt::milliseconds(2));
    }
    launcher.collect();
    launcher.destroy(budget);
    const abi::BudgetUsage after = launcher.usage(launcher.users());
    launcher.expect(after.pages_used == before.pages_used &&
                    after.processes_used == before.processes_used &&
                    after.weight_carved == before.weight_carved);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
