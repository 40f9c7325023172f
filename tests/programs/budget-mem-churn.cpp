// Memory, objects, processes and budgets made and ended at random in one lease, again and again: what its books
// say never passes its limits, and after each lease the parent has exactly what it had (I10). The
// launcher keeps the books.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr u32 kLeases = 6;
constexpr u32 kKept = 16;
constexpr u64 kMorePages = 160;
constexpr u32 kRights = abi::kRead | abi::kWrite;

void nap(rt::Env&) {
    rt::sleep(rt::milliseconds(3));
}

// Role handle 0: its own budget.
void churn(Child& child) {
    const rt::Budget own = child.handle<rt::Budget>(0);
    rt::Records& records = child.env().records();
    child.begin();
    Word pages[kKept] = {};
    Word lengths[kKept] = {};
    rt::Endpoint endpoints[kKept];
    rt::Budget budgets[kKept];
    rt::Process processes[kKept];
    for (;;) {
        const u64 draw = child.must(rt::random());
        const u32 place = (draw >> 8) % kKept;
        switch (draw % 6) {
        case 0:
            if (pages[place] != 0) {
                child.must(rt::unmap(pages[place], lengths[place]));
                pages[place] = 0;
            } else {
                lengths[place] = (1 + (draw >> 16) % 20) * rt::kPageSize;
                pages[place] = rt::map_anon(lengths[place], kRights).value();
            }
            break;
        case 1: endpoints[place] = std::move(rt::endpoint_create().value()); break;
        case 2:
            if (budgets[place]) {
                static_cast<void>(rt::budget_destroy(budgets[place]));
                budgets[place].forget();
            } else {
                budgets[place] = std::move(
                    rt::budget_create(records, own,
                                      {.pages = (draw >> 16) % 40, .processes = 1, .weight = 3})
                        .value());
            }
            break;
        case 3:
            // It ends by itself, or with the budget, or never started for want of room.
            if (!processes[place] && budgets[place]) {
                processes[place] =
                    std::move(rt::start_copy<nap>(records, budgets[place], 0, {}).value());
            } else {
                processes[place].close();
            }
            break;
        case 4: processes[place] = std::move(rt::process_create(own).value()); break;
        case 5: rt::sleep({(draw >> 16) % 200}); break;
        }
    }
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const abi::BudgetUsage before = launcher.usage(launcher.users());
    for (u32 lease = 0; lease < kLeases; ++lease) {
        rt::Budget budget = launcher.budget(launcher.users(), 100, 1, 4, kMorePages);
        launcher.start<churn>(budget, {}, {budget.index()});
        static_cast<void>(launcher.open({.warm_up = {0}, .judged = {0}}));
        u64 most = 0;
        for (u32 i = 0; i < 20; ++i) {
            rt::sleep(rt::milliseconds(2));
            const abi::BudgetUsage usage = launcher.usage(budget);
            launcher.expect(usage.pages_used <= usage.page_limit &&
                            usage.processes_used <= usage.process_limit &&
                            usage.weight_carved <= usage.weight_limit);
            most = usage.pages_used > most ? usage.pages_used : most;
        }
        launcher.expect(launcher.usage(budget).processes_used > 0 && most > kKept);
        launcher.destroy(budget);
        launcher.reset_children();
        const abi::BudgetUsage after = launcher.usage(launcher.users());
        launcher.expect(after.pages_used == before.pages_used &&
                        after.processes_used == before.processes_used &&
                        after.weight_carved == before.weight_carved);
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
