#include "wiring.h"

#include <algorithm>

namespace ravelin::differential {

Wiring::Wiring(u32 harts) : harts_(harts) {
    queue_.set_harts(harts);
    queue_.set_slice(kSlice);
}

Wiring::Budget& Wiring::of(stride::Entity& entity) {
    static_assert(offsetof(Budget, entity) == 0);
    return reinterpret_cast<Budget&>(entity);
}

void Wiring::mark(Budget& budget) {
    if (budget.marked) return;
    budget.marked = true;
    marked_.push_back(&budget);
}

void Wiring::charge(Budget& budget, Ticks ticks) {
    queue_.fold(budget.entity, ticks);
    if (budget.entity.queued()) queue_.raise();
}

void Wiring::fold_pending(Budget& budget) {
    for (Hart& hart : harts_) {
        if (hart.runner != &budget || hart.pending == Ticks{}) continue;
        queue_.fold(budget.entity, hart.pending);
        hart.pending = {};
    }
}

void Wiring::reweigh(Budget& budget) {
    if (budget.free_weight() == budget.entity.weight) return;
    fold_pending(budget);
    queue_.reweigh(budget.entity, budget.free_weight());
}

Wiring::Budget& Wiring::create_root(u64 id, u32 limit, U128 pass) {
    Budget& budget = *budgets_.emplace(id, std::make_unique<Budget>()).first->second;
    budget.limit = limit;
    budget.entity.id = id;
    budget.entity.weight = limit;
    budget.entity.pass = std::max(pass, queue_.floor());
    budget.entity.entry = budget.entity.pass;
    return budget;
}

Wiring::Budget& Wiring::create(u64 id, Budget& parent, u32 limit) {
    fold_pending(parent);
    Budget& child = create_root(id, limit, parent.entity.pass);
    child.parent = &parent;
    carve(parent, limit);
    return child;
}

void Wiring::carve(Budget& budget, u32 amount) {
    budget.carved += amount;
    reweigh(budget);
}

void Wiring::give_back(Budget& budget, u32 amount) {
    budget.carved -= amount;
    reweigh(budget);
}

// Children before their parents, the older before the younger.
std::vector<Wiring::Budget*> Wiring::upwards(Budget& top) {
    std::vector<Budget*> order;
    for (const auto& [id, budget] : budgets_) {
        if (budget->parent != &top) continue;
        const std::vector<Budget*> below = upwards(*budget);
        order.insert(order.end(), below.begin(), below.end());
    }
    order.push_back(&top);
    return order;
}

void Wiring::lift_and_remove(Budget& dying) {
    for (Hart& hart : harts_) {
        if (hart.runner != &dying) continue;
        if (hart.pending != Ticks{}) queue_.fold(dying.entity, hart.pending);
        hart = {};
        dying.entity.running -= 1;
    }
    std::erase(marked_, &dying);
    if (dying.entity.queued()) queue_.leave(dying.entity);
    queue_.lift(dying.entity, dying.parent->entity);
}

void Wiring::destroy(Budget& top) {
    give_back(*top.parent, top.limit);
    const std::vector<Budget*> dying = upwards(top);
    for (Budget* budget : dying) {
        while (budget->entity.waiting != 0)
            unready(*budget);
    }
    for (Budget* budget : dying) {
        if (budget != &top) give_back(*budget->parent, budget->limit);
        lift_and_remove(*budget);
    }
    for (Budget* budget : dying)
        budgets_.erase(budget->entity.id);
    queue_.raise();
}

void Wiring::ready(Budget& budget) {
    queue_.add_waiting(budget.entity);
    mark(budget);
}

void Wiring::unready(Budget& budget) {
    queue_.drop_waiting(budget.entity);
    mark(budget);
}

void Wiring::bill(u32 hart, Budget& payer, Ticks ticks) {
    if (harts_[hart].runner == &payer) {
        harts_[hart].pending += ticks;
        return;
    }
    charge(payer, ticks);
}

bool Wiring::turn_applies(u32 hart, bool stays_ready) const {
    return stays_ready && queue_.can_turn(harts_[hart].runner->entity);
}

void Wiring::turn(u32 hart) {
    Hart& on = harts_[hart];
    on.runner = &of(queue_.turn(on.runner->entity, on.pending));
    on.pending = {};
}

void Wiring::deschedule(u32 hart, bool stays_ready) {
    Hart& on = harts_[hart];
    charge(*on.runner, std::max(on.pending, Ticks{stride::kMinCharge}));
    queue_.stop(on.runner->entity, stays_ready);
    on = {};
}

void Wiring::reconcile() {
    if (!queue_.changed()) return;
    std::vector<Budget*> woken;
    for (Budget* budget : marked_) {
        budget->marked = false;
        const bool runnable = budget->entity.threads() != 0;
        if (budget->entity.queued()) {
            if (!runnable) queue_.leave(budget->entity);
        } else if (runnable) {
            woken.push_back(budget);
        }
    }
    marked_.clear();
    std::sort(woken.begin(), woken.end(),
              [](const Budget* a, const Budget* b) { return a->entity.id > b->entity.id; });
    for (Budget* budget : woken)
        queue_.wake(budget->entity);
    queue_.raise_if_changed();
}

Wiring::Budget* Wiring::pick(u32 hart) {
    stride::Entity* best = queue_.pick();
    if (best == nullptr) return nullptr;
    queue_.run(*best);
    harts_[hart].runner = &of(*best);
    return harts_[hart].runner;
}

void Wiring::hart_online() {
    harts_.emplace_back();
    queue_.set_harts(static_cast<u32>(harts_.size()));
}

}  // namespace ravelin::differential
