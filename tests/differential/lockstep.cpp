#include "lockstep.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>

#include "scheduler.h"
#include "show.h"
#include "wiring.h"

namespace ravelin::differential {

namespace {

using model::BudgetId;
using model::Pass;

Pass wide(U128 number) {
    return Pass{number.high} << 64 | number.low;
}

class Lockstep {
  public:
    Lockstep(const Sequence& sequence, model::Rules rules, Met& met)
        : sequence_(sequence), met_(met), core_(sequence.online), model_(sequence.online, rules) {
        model_.set_slice(Wiring::kSlice.value);
        const Pass pass = start_pass(sequence.start);
        const BudgetId root = model_.create_root(sequence.weight, model::Class::kSystem, 0, pass);
        core_.create_root(root, sequence.weight,
                          U128{static_cast<u64>(pass >> 64), static_cast<u64>(pass)});
        ids_.push_back(root);
    }

    std::optional<Disagreement> run() {
        for (place_ = 0; place_ < sequence_.steps.size(); ++place_) {
            try {
                step(sequence_.steps[place_]);
            } catch (const std::logic_error& refused) {
                // Only a broken model comes to a state in which what the core did is misuse.
                found_ = std::string("the model refuses: ") + refused.what();
            }
            if (!found_.empty()) return Disagreement{place_, found_};
        }
        return std::nullopt;
    }

  private:
    void differ(const std::string& what, const std::string& core, const std::string& model) {
        if (!found_.empty()) return;
        found_ = what;
        found_ += ": the core has " + core + ", the model " + model;
    }
    template <class A, class B>
    void same(const std::string& what, A core, B model) {
        if (core == model) return;
        std::ostringstream left;
        std::ostringstream right;
        left << core;
        right << model;
        differ(what, left.str(), right.str());
    }
    void same_pass(const std::string& what, U128 core, Pass model) {
        if (wide(core) != model) differ(what, show(wide(core)), show(model));
    }

    // Everything that both know. `after` names the part of a step.
    bool compare(const char* after) {
        const stride::Queue& queue = core_.queue();
        const std::string at = std::string(after) + ": ";
        same_pass(at + "floor", queue.floor(), model_.floor());
        same(at + "front", queue.front(), model_.front());
        same(at + "back", queue.back(), model_.back());
        same(at + "harts", core_.harts().size(), model_.harts());
        same(at + "budgets", core_.budgets().size(), model_.budgets().size());
        if (!found_.empty()) return false;
        const stride::Entity* best = queue.pick();
        same(at + "pick", best == nullptr ? 0 : best->id, model_.would_pick().value_or(0));
        for (unsigned hart = 0; hart < model_.harts(); ++hart) {
            const Wiring::Hart& on = core_.harts()[hart];
            const std::string which = at + "hart " + std::to_string(hart);
            same(which + " runner", on.runner == nullptr ? 0 : on.runner->entity.id,
                 model_.runner(hart).value_or(0));
            same(which + " pending", on.pending.value, model_.pending(hart));
        }
        auto budget = core_.budgets().begin();
        for (const auto& [id, expected] : model_.budgets()) {
            compare_budget(at, *budget->second, expected);
            ++budget;
        }
        if (!queue.consistent()) found_ = at + "the core's queue is not consistent";
        met_.caps += model_.cap_set().empty() ? 0 : 1;
        return found_.empty();
    }

    void compare_budget(const std::string& at, const Wiring::Budget& budget,
                        const model::Budget& expected) {
        const stride::Entity& entity = budget.entity;
        const bool good =
            entity.id == expected.id && wide(entity.pass) == expected.pass &&
            wide(entity.entry) == expected.entry && entity.remainder == expected.rem &&
            entity.queued() == expected.queued && entity.waiting == expected.waiting &&
            entity.running == expected.running && budget.free_weight() == entity.weight &&
            entity.weight == expected.limit - expected.carved && entity.capped == expected.capped &&
            (!expected.queued || entity.tie == expected.tie) &&
            (!expected.capped || wide(entity.lag) == expected.lag);
        if (good) return;
        const std::string which = at + "budget " + std::to_string(expected.id) + " ";
        same(which + "id", entity.id, expected.id);
        same_pass(which + "pass", entity.pass, expected.pass);
        same_pass(which + "entry", entity.entry, expected.entry);
        same(which + "remainder", entity.remainder, expected.rem);
        same(which + "queued", entity.queued(), expected.queued);
        same(which + "waiting", entity.waiting, expected.waiting);
        same(which + "running", entity.running, expected.running);
        same(which + "weight", entity.weight, expected.limit - expected.carved);
        same(which + "free weight", budget.free_weight(), expected.limit - expected.carved);
        same(which + "capped", entity.capped, expected.capped);
        same(which + "tie", entity.tie, expected.tie);
        same_pass(which + "lag", entity.lag, expected.lag);
    }

    void step(const Step& step) {
        const BudgetId id = ids_[step.a % ids_.size()];
        const u32 hart = step.b % static_cast<u32>(core_.harts().size());
        Wiring::Budget& budget = core_.budget(id);
        switch (step.what) {
        case Do::create: return create(budget, step.n, (step.a & 1) != 0);
        case Do::destroy: return destroy(budget);
        case Do::carve: return carve(budget, step.n);
        case Do::give_back: return give_back(budget, step.n);
        case Do::ready:
            if (budget.free_weight() == 0 || budget.entity.threads() >= sequence_.threads) return;
            core_.ready(budget);
            model_.ready(id);
            break;
        case Do::unready:
            if (budget.entity.waiting == 0) return;
            core_.unready(budget);
            model_.unready(id);
            break;
        case Do::run:
            if (core_.harts()[hart].runner == nullptr) return;
            core_.run(hart, Ticks{step.n});
            model_.run(hart, step.n);
            break;
        case Do::bill:
            core_.bill(hart, budget, Ticks{step.n});
            model_.bill(hart, id, step.n);
            break;
        case Do::online:
            if (core_.harts().size() == sequence_.harts) return;
            core_.hart_online();
            model_.hart_online();
            met_.arrivals += 1;
            compare("hart online");
            return leave(static_cast<u32>(core_.harts().size()) - 1, step.what);
        default: return leave(hart, step.what);
        }
        met_.steps += 1;
        compare("step");
    }

    // A budget that has threads keeps free weight; one that could have them is as good as one.
    static u64 spare(const Wiring::Budget& budget) {
        const u64 free = budget.free_weight();
        return budget.entity.threads() == 0 && !budget.entity.queued() ? free : free - 1;
    }

    void create(Wiring::Budget& parent, u64 weight, bool system) {
        if (ids_.size() >= sequence_.budgets) return;
        const u32 limit = static_cast<u32>(std::min(weight, spare(parent)));
        const BudgetId id = model_.create(parent.entity.id, limit,
                                          system ? model::Class::kSystem : model::Class::kUser);
        core_.create(id, parent, limit);
        ids_.push_back(id);
        met_.steps += 1;
        met_.creations += 1;
        compare("create");
    }

    void destroy(Wiring::Budget& top) {
        if (top.parent == nullptr) return;
        const BudgetId id = top.entity.id;
        const bool subtree = !model_.budget(id).children.empty();
        met_.subtrees += subtree ? 1 : 0;
        met_.running += top.entity.running != 0 ? 1 : 0;
        met_.leaves += !subtree && top.entity.running == 0 ? 1 : 0;
        core_.destroy(top);
        for (const BudgetId dead : model_.destroy(id)) {
            std::erase(ids_, dead);
            lent_.erase(dead);
        }
        met_.steps += 1;
        compare("destroy");
    }

    void carve(Wiring::Budget& budget, u64 weight) {
        const u32 amount = static_cast<u32>(std::min(weight, spare(budget)));
        core_.carve(budget, amount);
        model_.carve(budget.entity.id, amount);
        lent_[budget.entity.id] += amount;
        met_.steps += 1;
        compare("carve");
    }

    void give_back(Wiring::Budget& budget, u64 weight) {
        u32& lent = lent_[budget.entity.id];
        const u32 amount = static_cast<u32>(std::min<u64>(weight, lent));
        lent -= amount;
        core_.give_back(budget, amount);
        model_.give_back(budget.entity.id, amount);
        met_.steps += 1;
        compare("give_back");
    }

    // The end of an entry, as sched::leave has it.
    void leave(u32 hart, Do how) {
        met_.steps += 1;
        const bool had_runner = core_.harts()[hart].runner != nullptr;
        const bool stays_ready = how == Do::slice || how == Do::preempt;
        const std::size_t capped = model_.cap_set().size();
        if (had_runner && how != Do::stay) {
            met_.preemptions += how == Do::preempt ? 1 : 0;
            if (core_.turn_applies(hart, stays_ready)) {
                met_.turns += 1;
                core_.turn(hart);
                model_.slice_end(hart);
                compare("turn");
                return;
            }
            met_.round_trips += stays_ready ? 1 : 0;
            core_.deschedule(hart, stays_ready);
            model_.deschedule(hart, how == Do::slice     ? model::Leave::kSliceEnd
                                    : how == Do::preempt ? model::Leave::kPreempted
                                    : how == Do::block   ? model::Leave::kBlocked
                                                         : model::Leave::kExited);
            if (!compare("deschedule")) return;
        }
        core_.reconcile();
        model_.reconcile(hart);
        if (!compare("reconcile")) return;
        met_.uncaps += model_.cap_set().size() < capped ? 1 : 0;
        met_.empty += core_.queue().empty() ? 1 : 0;
        if (core_.harts()[hart].runner != nullptr) return;
        count_pick();
        core_.pick(hart);
        model_.pick(hart);
        compare("pick");
    }

    void count_pick() {
        const auto best = model_.would_pick();
        if (!best) return;
        met_.picks += 1;
        for (const auto& [id, budget] : model_.budgets()) {
            if (id == *best || !budget.queued || budget.waiting == 0) continue;
            if (budget.pass != model_.budget(*best).pass) continue;
            met_.equal_passes += 1;
            return;
        }
    }

    const Sequence& sequence_;
    Met& met_;
    Wiring core_;
    model::Scheduler model_;
    std::vector<BudgetId> ids_;
    std::map<BudgetId, u32> lent_;
    std::size_t place_ = 0;
    std::string found_;
};

}  // namespace

void Met::add(const Met& other) {
    steps += other.steps;
    creations += other.creations;
    leaves += other.leaves;
    running += other.running;
    subtrees += other.subtrees;
    turns += other.turns;
    round_trips += other.round_trips;
    preemptions += other.preemptions;
    picks += other.picks;
    caps += other.caps;
    uncaps += other.uncaps;
    arrivals += other.arrivals;
    equal_passes += other.equal_passes;
    empty += other.empty;
}

bool Met::everything(std::uint32_t harts) const {
    const bool common = creations != 0 && leaves != 0 && running != 0 && subtrees != 0 &&
                        round_trips != 0 && preemptions != 0 && picks != 0 && equal_passes != 0 &&
                        empty != 0;
    return common &&
           (harts == 1 ? turns != 0 && caps == 0 : caps != 0 && uncaps != 0 && arrivals != 0);
}

std::optional<Disagreement> run(const Sequence& sequence, model::Rules rules, Met* met) {
    Met unused;
    return Lockstep(sequence, rules, met == nullptr ? unused : *met).run();
}

}  // namespace ravelin::differential
