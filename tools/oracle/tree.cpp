// The tree of budgets: creations, weight changes, destructions and their lifts; see replayer.h.
#include "tools/oracle/replayer.h"

#include <fmt/format.h>

namespace ravelin::oracle::detail {

void Replayer::on_create(std::uint64_t at, const TraceRecord& r) {
    if (r.id == 0 || by_id_.contains(r.id)) {
        reject("create", fmt::format("id {} is given twice", r.id), {at});
        return;
    }
    Budget child;
    child.id = r.id;
    child.limit = r.y;
    child.weight = r.y;
    child.info = out_.budgets.size();
    child.last = at;
    U128 entry = floor_;
    if (r.x != 0) {
        Budget* parent = living(at, r.x);
        if (parent == nullptr) {
            return;
        }
        must_be_folded(at, *parent, "the creation of its child");
        const BudgetInfo& above = out_.budgets[parent->info];
        if (above.account != 0 && r.what != above.account) {
            reject("create",
                   fmt::format("budget {} has account {} and its parent, budget {}, has {}", r.id,
                               r.what, above.id, above.account),
                   {above.created, at});
        }
        child.parent = index_of(*parent);
        parent->carve_due += r.y;
        parent->children.push_back(budgets_.size());
        carving_.push_back(*child.parent);
        entry = std::max(floor_, parent->debt.pass);
    }
    const TraceRecord* pass = member(at + 1, TraceKind::entry_pass, r.id, at);
    if (pass != nullptr && wide(*pass) != entry) {
        reject("create",
               fmt::format("budget {} enters at {} where max(floor, its parent's pass) is {}", r.id,
                           to_text(wide(*pass)), to_text(entry)),
               {child.parent ? budgets_[*child.parent].last : kNowhere, floor_place_, at, at + 1});
        entry = wide(*pass);
    }
    child.entry = entry;
    child.debt.pass = entry;
    by_id_.emplace(r.id, budgets_.size());
    budgets_.push_back(child);
    out_.budgets.push_back({.id = r.id,
                            .parent = r.x,
                            .account = r.what,
                            .limit = r.y,
                            .created = at,
                            .ended = kNowhere});
}

bool Replayer::explains(const Budget& budget, std::uint64_t to) {
    if (to <= budget.weight && budget.weight - to == budget.carve_due) {
        return true;
    }
    if (!destruction_.open || to < budget.weight) {
        return false;
    }
    for (const std::size_t index : budget.children) {
        Budget& child = budgets_[index];
        if (!child.returned && child.limit == to - budget.weight &&
            is_below(index, destruction_.top)) {
            child.returned = true;
            return true;
        }
    }
    return false;
}

void Replayer::on_reweigh(std::uint64_t at, const TraceRecord& r) {
    Budget* budget = living(at, r.id);
    if (budget == nullptr) {
        return;
    }
    ++out_.weight_changes;
    out_.budgets[budget->info].reweighed.push_back(at);
    must_be_folded(at, *budget, "its weight changes");
    if (r.x != budget->weight) {
        reject("weight",
               fmt::format("budget {} has free weight {}, not {}", r.id, budget->weight, r.x),
               {budget->last, at});
    }
    if (!explains(*budget, r.y)) {
        reject("weight",
               fmt::format("budget {} goes from weight {} to {}, and that is neither the carve of "
                           "a child ({} due) nor the return of one",
                           r.id, r.x, r.y, budget->carve_due),
               {budget->last, destruction_.place, at});
    }
    budget->carve_due = 0;
    const U128 owed =
        add(multiply(above(budget->debt.pass, floor_), std::max<std::uint64_t>(r.x, 1)),
            budget->debt.rem);
    const std::uint64_t weight = std::max<std::uint64_t>(r.y, 1);
    const Debt after{.pass = add(floor_, owed / weight), .rem = owed % weight};
    budget->weight = r.y;
    check_group(at, *budget, after, "weight", "the owed runtime at the new weight",
                TraceKind::reweighed, at + 1);
}

void Replayer::check_group(std::uint64_t group, Budget& budget, Debt want, const char* check,
                           const char* rule, TraceKind kind, std::uint64_t at) {
    budget.debt = want;
    if (const TraceRecord* pass = member(at, kind, budget.id, group)) {
        if (wide(*pass) != want.pass) {
            reject(check,
                   fmt::format("budget {}: pass {} where {} makes {}", budget.id,
                               to_text(wide(*pass)), rule, to_text(want.pass)),
                   {budget.last, floor_place_, group, at});
        }
        budget.debt.pass = wide(*pass);
    }
    if (const TraceRecord* rem = member(at + 1, TraceKind::rem, budget.id, group)) {
        if (rem->x != want.rem || rem->y != budget.weight) {
            reject(check,
                   fmt::format("budget {}: remainder {} at weight {} where {} leaves {} at {}",
                               budget.id, rem->x, rem->y, rule, to_text(want.rem), budget.weight),
                   {budget.last, floor_place_, group, at + 1});
        }
        budget.debt.rem = rem->x;
    }
    budget.last = at;
}

bool Replayer::destroys() const {
    if (entry_.cause != TraceCause::call) {
        return false;
    }
    const auto call = static_cast<abi::Call>(trace_.records[entry_.place].what >> 8);
    return call == abi::Call::budget_destroy || call == abi::Call::budget_reap;
}

void Replayer::on_destroy_begin(std::uint64_t at, const TraceRecord& r) {
    Budget* top = living(at, r.id);
    if (top == nullptr) {
        return;
    }
    if (destruction_.open) {
        reject("destruction", "a destruction begins within another", {destruction_.place, at});
    }
    if (r.what != kByDeadline && !destroys()) {
        reject("destruction",
               fmt::format("budget {} is destroyed by no deadline and no call that destroys", r.id),
               {entry_.place, at});
    }
    tell(at, r.x);
    destruction_ = {.open = true,
                    .top = index_of(*top),
                    .place = at,
                    .by_deadline = r.what == kByDeadline,
                    .expired = false,
                    .raised = false,
                    .subtree = {index_of(*top)}};
    for (std::size_t next = 0; next < destruction_.subtree.size(); ++next) {
        const auto& children = budgets_[destruction_.subtree[next]].children;
        destruction_.subtree.insert(destruction_.subtree.end(), children.begin(), children.end());
    }
}

void Replayer::die(std::size_t index, std::uint64_t at) {
    Budget& budget = budgets_[index];
    if (budget.waiting != 0) {
        reject("destruction",
               fmt::format("budget {} ends with {} threads waiting", budget.id, budget.waiting),
               {budget.last, at});
    }
    budget.alive = false;
    if (destruction_.by_deadline && entry_.interrupted == index) {
        entry_.behind_its_end = true;
    }
    lift_zeroing(index);
    out_.budgets[budget.info].ended = at;
    if (budget.parent) {
        std::erase(budgets_[*budget.parent].children, index);
    }
}

void Replayer::on_lift(std::uint64_t at, const TraceRecord& r) {
    Budget* child = living(at, r.id);
    if (child == nullptr) {
        return;
    }
    ++out_.lifts;
    const std::size_t index = index_of(*child);
    if (!destruction_.open || !is_below(index, destruction_.top)) {
        reject("destruction", fmt::format("budget {} is lifted and nothing destroys it", r.id),
               {destruction_.place, at});
    }
    if (!child->children.empty()) {
        const Budget& grandchild = budgets_[child->children.front()];
        reject("destruction",
               fmt::format("budget {} is lifted before its child {}", r.id, grandchild.id),
               {grandchild.last, at});
    }
    must_be_folded(at, *child, "its work is lifted");
    const std::uint64_t parent_id = child->parent ? budgets_[*child->parent].id : 0;
    if (r.x != parent_id || r.y != child->weight) {
        reject("lift",
               fmt::format("budget {} with parent {} and weight {} is lifted onto {} at weight {}",
                           r.id, parent_id, child->weight, r.x, r.y),
               {child->last, at});
    }
    if (child->queued != Queued::no) {
        reject("destruction", fmt::format("budget {} is lifted and still queued", r.id),
               {child->last, at});
        take(*child);
    }
    const U128 since = above(child->debt.pass, std::max(child->entry, floor_));
    U128 work = add(multiply(since, r.y), child->debt.rem);
    if (const TraceRecord* told = member(at + 1, TraceKind::lift_work, r.id, at)) {
        if (wide(*told) != work) {
            reject("lift",
                   fmt::format("budget {} worked {} since its entry, not {}", r.id, to_text(work),
                               to_text(wide(*told))),
                   {child->last, floor_place_, at, at + 1});
            work = wide(*told);
        }
    }
    die(index, at);
    if (child->parent && budgets_[*child->parent].weight != 0) {
        Budget& parent = budgets_[*child->parent];
        Debt base = parent.debt;
        if (base.pass < floor_) {
            base = {.pass = floor_, .rem = 0};
        }
        const U128 t = add(work, base.rem);
        const U128 higher = std::max(base.pass, child->debt.pass);
        out_.telling_lifts += add(base.pass, t / parent.weight) != higher ? 1 : 0;
        check_group(at, parent,
                    {.pass = add(base.pass, t / parent.weight), .rem = t % parent.weight}, "lift",
                    "the child's work over the parent's weight", TraceKind::lifted, at + 2);
    }
}

void Replayer::on_destroy_end(std::uint64_t at, const TraceRecord& r) {
    if (!destruction_.open || budgets_[destruction_.top].id != r.id) {
        reject("destruction",
               fmt::format("a destruction of budget {} ends and did not begin", r.id),
               {destruction_.place, at});
        return;
    }
    if (r.x < trace_.records[destruction_.place].x) {
        reject("time", fmt::format("the destruction of budget {} ends before it begins", r.id),
               {destruction_.place, at});
    }
    tell(at, r.x);
    for (const std::size_t index : destruction_.subtree) {
        const Budget& budget = budgets_[index];
        if (budget.alive) {
            if (budget.parent) {
                reject("destruction",
                       fmt::format("budget {} is not lifted by the destruction of budget {}",
                                   budget.id, r.id),
                       {budget.last, destruction_.place, at});
            }
            take(budgets_[index]);
            die(index, at);
        }
        if (budget.parent && budget.limit != 0 && !budget.returned) {
            reject("weight",
                   fmt::format("budget {} is gone and its weight is not back at its parent",
                               budget.id),
                   {destruction_.place, at});
        }
    }
    if (trace_.records[destruction_.place].x > r.x) {
        reject("time", "a destruction ends before it began", {destruction_.place, at});
    }
    if (destruction_.by_deadline && !destruction_.expired) {
        reject("destruction", "a destruction by deadline has no deadline",
               {destruction_.place, at});
    }
    if (destruction_.by_deadline) {
        entry_.deadline_destroyed = true;
        ++out_.deadlines;
    }
    if (!destruction_.raised) {
        raise(at);
        close_raise(at);
    }
    destruction_ = {};
}

}  // namespace ravelin::oracle::detail
