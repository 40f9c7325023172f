// See pairs.h.
#include "user/workload/pairs.h"

#include "user/rt/trap.h"

namespace ravelin::workload {

void make_pairs(Child& child) {
    rt::Records& records = child.env().records();
    const rt::Budget own = child.handle<rt::Budget>(0);
    child.begin();
    const abi::BudgetUsage before = child.must(rt::budget_usage(records, own));
    u64 pairs = 0;
    for (; child.in_window(); ++pairs) {
        rt::Budget made = child.must(rt::budget_create(records, own, {.weight = 1}));
        child.must(rt::budget_destroy(made));
        made.forget();
    }
    const abi::BudgetUsage after = child.must(rt::budget_usage(records, own));
    const bool unchanged = before.pages_used == after.pages_used &&
                           before.processes_used == after.processes_used &&
                           before.weight_carved == after.weight_carved;
    if (pairs < child.parameter(0) || !unchanged) {
        child.fail(__LINE__);
    }
    child.report(0);
}

}  // namespace ravelin::workload
