// Charging pages and carving budgets. Bound: constant time, but for the deadline's place in its
// parent's heap, O(log n).
#include "core/object/budget.h"

#include "core/assert.h"
#include "core/object/create.h"
#include "core/object/lifecycle.h"
#include "core/sched/sched.h"
#include "core/time/timers.h"

namespace ravelin {

using abi::Status;

bool charge(Budget& budget, u32 pages) {
    if (budget.free_pages() < pages) return false;
    budget.pages_used += pages;
    return true;
}

void uncharge(Budget& budget, u32 pages) {
    RAVELIN_ASSERT(budget.pages_used >= pages);
    budget.pages_used -= pages;
}

Status create_budget(Kernel& kernel, Hart& self, const Budget& creator, Budget& parent,
                     const abi::BudgetSpec& spec, Budget*& child) {
    if (parent.depth + 1 > abi::kMaxDepth || spec.label_count > abi::kMaxLabels)
        return Status::too_large;
    LabelSet labels;
    for (u64 place = 0; place < spec.label_count; ++place)
        labels.add(spec.labels[place]);
    if (!parent.labels.within(labels)) return Status::label_denied;
    if (labels.count != parent.labels.count && creator.budget_class != BudgetClass::system)
        return Status::class_denied;
    if (spec.pages >= parent.free_pages()) return Status::out_of_memory;
    if (spec.processes > parent.free_processes()) return Status::out_of_processes;
    u32 free = parent.free_weight();
    if (spec.weight > free || (spec.weight == free && free != 0 && parent.live_processes != 0)) {
        return Status::invalid_argument;
    }
    Budget& made = make_object<Budget>(kernel, self.index, ObjectKind::budget);
    made.parent = &parent;
    made.depth = parent.depth + 1;
    made.budget_class = parent.budget_class;
    made.account = parent.account != 0 ? parent.account : spec.account;
    made.labels = labels;
    made.page_limit = static_cast<u32>(spec.pages);
    made.process_limit = static_cast<u32>(spec.processes);
    made.weight_limit = static_cast<u32>(spec.weight);
    sched::enter_tree(kernel, self, made);

    parent.children.push_back(made, made.sibling_link);
    parent.pages_used += made.page_limit + 1;
    parent.processes_used += made.process_limit;
    parent.weight_carved += made.weight_limit;
    sched::reweigh(kernel, self, parent);
    Ticks ends = timers::ticks_of(kernel, Micros{spec.deadline});
    timers::start_deadline(kernel, made,
                           spec.deadline == abi::kForever || ends == kNever ? kNever
                                                                            : kernel.booted + ends);
    child = &made;
    return Status::ok;
}

}  // namespace ravelin
