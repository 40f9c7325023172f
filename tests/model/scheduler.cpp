// The rules of the stride queue (R12), one function per rule, in the order the specification gives
// them. See scheduler.h for the steps, the invariants and the bounds.
#include "scheduler.h"

#include <algorithm>
#include <stdexcept>

namespace ravelin::model {

namespace {

void require(bool ok, const char* what) {
    if (!ok) {
        throw std::logic_error(what);
    }
}

Pass add_saturating(Pass a, Pass b) {
    Pass sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? kPassMax : sum;
}

Pass multiply_saturating(Pass a, Pass b) {
    Pass product = 0;
    return __builtin_mul_overflow(a, b, &product) ? kPassMax : product;
}

Pass lead(Pass pass, Pass from) {
    return pass > from ? pass - from : 0;
}

// What a broken model takes for a run too short to see.
constexpr Ticks kShortRun = 512;

}  // namespace

Scheduler::Scheduler(unsigned harts, Rules rules) : rules_(rules), harts_(harts) {
    require(harts >= 1, "a scheduler has at least one hart");
}

Budget& Scheduler::at(BudgetId id) {
    const auto it = budgets_.find(id);
    require(it != budgets_.end(), "no such budget");
    return it->second;
}

const Budget& Scheduler::budget(BudgetId id) const {
    const auto it = budgets_.find(id);
    require(it != budgets_.end(), "no such budget");
    return it->second;
}

Weight Scheduler::free_weight(BudgetId id) const {
    const Budget& b = budget(id);
    return b.limit - b.carved;
}

// The queue weighs a budget by its free weight: carving moves share, it never duplicates it.
Weight Scheduler::weight(const Budget& b) const {
    return broken(Mutation::kStrideWeightIsLimit) ? b.limit : b.limit - b.carved;
}

// ---- charging ----------------------------------------------------------------------------------

// t = rem + ticks x STRIDE; pass += t / w; rem = t mod w.
void Scheduler::fold(Budget& b, Weight w, Ticks ticks) const {
    if (w == 0) {
        return;
    }
    const Pass divisor = broken(Mutation::kIgnoreWeight) ? Pass{1} : Pass{w};
    const Pass t = Pass{b.rem} + Pass{std::min(ticks, kRuntimeCap)} * kStride;
    b.pass = add_saturating(b.pass, t / divisor);
    b.rem = broken(Mutation::kDropRemainder) ? 0 : static_cast<std::uint64_t>(t % divisor);
}

// Folds what every hart that runs `b` has not folded yet, at weight `w`.
void Scheduler::fold_pending(Budget& b, Weight w) {
    bool first = true;
    for (Hart& hart : harts_) {
        if (hart.runner != b.id) {
            continue;
        }
        const bool counts = first || !broken(Mutation::kSpreadChargesOnce);
        first = false;
        if (counts) {
            fold(b, w, hart.pending);
        }
        hart.pending = 0;
    }
}

void Scheduler::run(unsigned hart, Ticks ticks) {
    Hart& h = harts_.at(hart);
    require(h.runner.has_value(), "an idle hart runs nothing");
    h.pending += ticks;
}

void Scheduler::bill(unsigned hart, BudgetId payer, Ticks ticks) {
    Budget& b = at(payer);
    Hart& h = harts_.at(hart);
    if (h.runner == payer) {
        h.pending += ticks;
        return;
    }
    fold(b, weight(b), ticks);
    if (b.queued && !in_destruction_) {
        raise();
    }
}

void Scheduler::deschedule(unsigned hart, Leave how) {
    Hart& h = harts_.at(hart);
    require(h.runner.has_value(), "an idle hart has nothing to deschedule");
    Budget& b = at(*h.runner);
    const bool stays_ready = how == Leave::kSliceEnd || how == Leave::kPreempted;
    const auto stop_running = [&] {
        b.running -= 1;
        b.waiting += stays_ready ? 1 : 0;
        note_change(b);
    };

    // The charge is made while the thread still counts as running: its own requeue is no wait, but
    // a sibling that waits while it blocks is one.
    Ticks ticks = h.pending;
    if (!broken(Mutation::kNoMinimumCharge)) {
        ticks = std::max(ticks, kMinCharge);
    }
    bool charged = true;
    if (broken(Mutation::kShortRunsFree) && ticks < kShortRun) {
        charged = false;
    }
    if (broken(Mutation::kExitRunsFree) && how == Leave::kExited) {
        charged = false;
    }
    if (broken(Mutation::kSpreadChargesOnce)) {
        for (unsigned other = 0; other < hart; ++other) {
            charged = charged && harts_[other].runner != b.id;
        }
    }
    if (charged) {
        fold(b, weight(b), ticks);
    }
    h.pending = 0;
    const bool counts_first = broken(Mutation::kRequeueWaitsForCap) && stays_ready;
    if (counts_first) {
        stop_running();
    }
    if (broken(Mutation::kBlockLeavesAsRequeued) && !stays_ready && b.waiting > 0) {
        hidden_wait_ = b.id;
    }
    raise();
    hidden_wait_.reset();
    if (!counts_first) {
        stop_running();
    }
    h.runner.reset();

    if (b.threads() > 0) {
        requeue(b);
    } else {
        leave_queue(b);
        raise();
    }
}

// ---- ranks -------------------------------------------------------------------------------------

Scheduler::Rank Scheduler::rank(const Budget& b) const {
    int tier = 0;
    if (broken(Mutation::kPriorityById)) {
        tier = static_cast<int>(std::min<BudgetId>(b.id, 1'000'000));
    }
    if (broken(Mutation::kSystemClassRanksFirst)) {
        tier = b.cls == Class::kSystem ? 0 : 1;
    }
    return Rank{tier, b.pass, b.tie, b.id};
}

// Each requeue takes back + 1: behind its equals, in the order of the requeues.
void Scheduler::requeue(Budget& b) {
    constexpr std::int64_t kLifoBase = std::int64_t{1} << 40;
    if (broken(Mutation::kRequeueAhead)) {
        b.tie = --front_;
    } else if (broken(Mutation::kRequeueLifo)) {
        b.tie = kLifoBase - ++back_;
    } else {
        b.tie = ++back_;
    }
}

// Each wake takes front - 1, at no less than the floor.
void Scheduler::wake(Budget& b) {
    if (!broken(Mutation::kWakeBanksCredit)) {
        b.pass = std::max(b.pass, floor_);
    }
    b.tie = broken(Mutation::kTieQueuedFirst) ? ++back_ : --front_;
    b.queued = true;
}

void Scheduler::leave_queue(Budget& b) {
    b.queued = false;
    b.capped = false;
    b.lag = 0;
    if (queued().empty()) {
        front_ = 0;
        back_ = 0;
        if (broken(Mutation::kNoFloorWhenIdle)) {
            floor_ = 0;
        }
    }
}

void Scheduler::reconcile(unsigned hart) {
    std::vector<Budget*> changed;
    for (auto& [id, b] : budgets_) {
        if (b.changed) {
            changed.push_back(&b);
            b.changed = false;
        }
    }
    for (Budget* b : changed) {
        if (b->queued && b->threads() == 0) {
            leave_queue(*b);
        }
    }
    bool woke = false;
    for (auto it = changed.rbegin(); it != changed.rend(); ++it) {
        if (!(*it)->queued && (*it)->threads() > 0) {
            wake(**it);
            woke = true;
        }
    }
    if (counts_changed_) {
        counts_changed_ = false;
        raise();
    }
    if (broken(Mutation::kPreemptOnWake) && woke && harts_.at(hart).runner) {
        deschedule(hart, Leave::kPreempted);
    }
}

std::optional<BudgetId> Scheduler::would_pick() const {
    std::optional<Rank> best;
    for (const auto& [id, b] : budgets_) {
        if (!b.queued || b.waiting == 0) {
            continue;
        }
        if (broken(Mutation::kOneRunnerPerBudget) && b.running > 0) {
            continue;
        }
        const Rank r = rank(b);
        if (!best || r < *best) {
            best = r;
        }
    }
    return best ? std::optional(best->id) : std::nullopt;
}

std::optional<BudgetId> Scheduler::pick(unsigned hart) {
    Hart& h = harts_.at(hart);
    require(!h.runner.has_value(), "a hart that runs a thread does not pick");
    h.runner = would_pick();
    if (h.runner) {
        Budget& b = at(*h.runner);
        b.waiting -= 1;
        b.running += 1;
    }
    return h.runner;
}

std::optional<BudgetId> Scheduler::slice_end(unsigned hart) {
    deschedule(hart, Leave::kSliceEnd);
    reconcile(hart);
    return pick(hart);
}

unsigned Scheduler::hart_online() {
    harts_.emplace_back();
    return harts() - 1;
}

// ---- floor and cap set -------------------------------------------------------------------------

std::set<BudgetId> Scheduler::queued() const {
    std::set<BudgetId> ids;
    for (const auto& [id, b] : budgets_) {
        if (b.queued) {
            ids.insert(id);
        }
    }
    return ids;
}

std::set<BudgetId> Scheduler::cap_set() const {
    std::set<BudgetId> ids;
    for (const auto& [id, b] : budgets_) {
        if (b.capped) {
            ids.insert(id);
        }
    }
    return ids;
}

std::optional<Pass> Scheduler::lift_target(BudgetId id) const {
    const Budget& b = budget(id);
    return b.capped ? std::optional(floor_ - kept_lag(b)) : std::nullopt;
}

// What outlives the cap of the lag a budget had: what it can have waited for, a slice on every hart.
Pass Scheduler::kept_lag(const Budget& b) const {
    if (broken(Mutation::kUncapKeepsAnyLag)) {
        return b.lag;
    }
    return std::min(b.lag, Pass{slice_} * harts() * kStride / std::max<Weight>(weight(b), 1));
}

// The queued budgets that count for weights and floor: those with a runnable thread.
std::vector<Budget*> Scheduler::with_threads() {
    std::vector<Budget*> found;
    for (auto& [id, b] : budgets_) {
        if (b.queued && (b.threads() > 0 || broken(Mutation::kEmptyHoldsFloor))) {
            found.push_back(&b);
        }
    }
    return found;
}

// In descending weight per runnable thread a budget is capped if w x H > k x W; the next is tested
// with its threads taken from the harts and its weight from the weights. Only a budget capped
// already, or one every thread of which is on a hart, is tested.
std::set<BudgetId> Scheduler::find_cap_set() const {
    std::set<BudgetId> capped;
    if (harts() == 1) {
        return capped;
    }
    Pass harts_left = harts();
    Pass weight_left = 0;
    std::vector<const Budget*> tested;
    for (const auto& [id, b] : budgets_) {
        if (!b.queued) {
            continue;
        }
        weight_left += b.threads() > 0 || broken(Mutation::kEmptyHoldsFloor) ? weight(b) : 0;
        if (b.threads() == 0) {
            continue;
        }
        const bool waits = b.waiting > (hidden_wait_ == id ? 1U : 0U);
        if (b.capped || !waits || broken(Mutation::kWaiterIsCapped)) {
            tested.push_back(&b);
        }
    }
    // Equal weights per thread stand or fall together, so their order shows nowhere.
    std::sort(tested.begin(), tested.end(), [&](const Budget* a, const Budget* b) {
        return Pass{weight(*a)} * b->threads() > Pass{weight(*b)} * a->threads();
    });
    for (const Budget* b : tested) {
        if (Pass{weight(*b)} * harts_left <= Pass{b->threads()} * weight_left) {
            break;
        }
        capped.insert(b->id);
        harts_left -= b->threads();
        weight_left -= weight(*b);
        if (broken(Mutation::kCapOnce)) {
            break;
        }
    }
    return capped;
}

// The floor follows the lowest pass that counts, and never falls. Budgets that leave the cap set
// are lifted first, by what the floor rose while they were in it. One without a thread is not
// judged: a wake brings it to the floor anyway.
void Scheduler::raise() {
    if (queued().empty()) {
        return;
    }
    const std::set<BudgetId> capped = find_cap_set();
    std::vector<Budget*> newly_capped;
    for (auto& [id, b] : budgets_) {
        if (!b.queued || b.threads() == 0) {
            continue;
        }
        if (b.capped && !capped.contains(id)) {
            const Pass target =
                broken(Mutation::kUncapForfeitsWait) ? floor_ : floor_ - kept_lag(b);
            if (!broken(Mutation::kUncapBanksCredit)) {
                b.pass = std::max(b.pass, target);
            }
            b.capped = false;
            b.lag = 0;
        } else if (!b.capped && capped.contains(id)) {
            b.capped = true;
            newly_capped.push_back(&b);
        }
    }

    std::vector<Budget*> counted = with_threads();
    if (harts() == 1 || counted.empty()) {
        counted.clear();
        for (auto& [id, b] : budgets_) {
            if (b.queued) {
                counted.push_back(&b);
            }
        }
    }
    std::optional<Pass> lowest_uncapped;
    std::optional<Pass> lowest;
    Pass highest = 0;
    for (const Budget* b : counted) {
        lowest = lowest ? std::min(*lowest, b->pass) : b->pass;
        highest = std::max(highest, b->pass);
        if (!b->capped) {
            lowest_uncapped = lowest_uncapped ? std::min(*lowest_uncapped, b->pass) : b->pass;
        }
    }
    Pass candidate = lowest_uncapped.value_or(highest);
    if (broken(Mutation::kAllCappedHoldsFloor) && !lowest_uncapped) {
        candidate = floor_;
    }
    if (broken(Mutation::kCappedHoldsFloor)) {
        candidate = *lowest;
    }
    floor_ = std::max(floor_, candidate);

    // The lag it had: how far it is below the floor that leaves it out. The others' lead over it is
    // time they owe it, not time it had no thread to run, so this rise is no part of its lift.
    for (Budget* b : newly_capped) {
        b->lag = floor_ - std::min(b->pass, floor_);
    }
}

// ---- weight changes and inheritance ------------------------------------------------------------

// The lead follows the weight: folded at the old weight, what is owed is stated at the new one.
// Weight 0 states it at 1. A carve of nothing changes no weight.
void Scheduler::change_weight(Budget& b, Weight new_carved) {
    if (new_carved == b.carved) {
        return;
    }
    const Weight old_weight = weight(b);
    const bool is_carve = new_carved > b.carved;
    if (!broken(Mutation::kFoldAtNewWeight)) {
        fold_pending(b, old_weight);
    }
    b.carved = new_carved;
    const Weight new_weight = weight(b);
    if (broken(Mutation::kFoldAtNewWeight)) {
        fold_pending(b, new_weight);
    }
    if (broken(Mutation::kRescaleOnlyOnReturn) && is_carve) {
        return;
    }
    const Pass old_unit = std::max<Weight>(old_weight, 1);
    const Pass new_unit = std::max<Weight>(new_weight, 1);
    const Pass owed = add_saturating(multiply_saturating(lead(b.pass, floor_), old_unit), b.rem);
    b.pass = add_saturating(floor_, owed / new_unit);
    b.rem = static_cast<std::uint64_t>(owed % new_unit);
}

void Scheduler::carve(BudgetId budget, Weight amount) {
    Budget& b = at(budget);
    require(amount <= b.limit - b.carved, "a carve comes out of the free weight");
    change_weight(b, b.carved + amount);
}

void Scheduler::give_back(BudgetId budget, Weight amount) {
    Budget& b = at(budget);
    require(amount <= b.carved, "only what was carved returns");
    change_weight(b, b.carved - amount);
}

BudgetId Scheduler::add(std::optional<BudgetId> parent, Weight limit, Class cls, BudgetId id,
                        Pass pass) {
    if (id == 0) {
        id = next_id_;
    }
    require(id >= next_id_, "ids are never reused");
    next_id_ = id + 1;
    Budget b;
    b.id = id;
    b.parent = parent;
    b.cls = cls;
    b.limit = limit;
    b.pass = std::max(floor_, pass);
    if (parent) {
        at(*parent).children.insert(id);
    }
    b.entry = b.pass;
    budgets_.emplace(id, b);
    return id;
}

BudgetId Scheduler::create_root(Weight limit, Class cls, BudgetId id, Pass pass) {
    return add(std::nullopt, limit, cls, id, pass);
}

BudgetId Scheduler::enter(BudgetId parent, Weight limit, Class cls, BudgetId id) {
    Budget& p = at(parent);
    require(limit <= p.limit - p.carved, "a carve comes out of the free weight");
    fold_pending(p, weight(p));
    const Pass from = broken(Mutation::kCreateAtFloorOnly) ? floor_ : p.pass;
    return add(parent, limit, cls, id, from);
}

BudgetId Scheduler::create(BudgetId parent, Weight limit, Class cls, BudgetId id) {
    const BudgetId child = enter(parent, limit, cls, id);
    carve(parent, limit);
    return child;
}

// W = (pass - max(entry, floor))+ x w_child + rem_child moves to the parent, at its own weight.
void Scheduler::lift(const Budget& dying) {
    Budget& p = at(*dying.parent);
    const Weight parent_weight = weight(p);
    if (parent_weight == 0 || broken(Mutation::kDestroyDropsDebt)) {
        return;
    }
    const Pass from =
        broken(Mutation::kLiftCountsEntryWait) ? floor_ : std::max(dying.entry, floor_);
    if (p.pass < floor_) {
        p.pass = floor_;
        p.rem = 0;
    }
    if (broken(Mutation::kUnnormalizedLift)) {
        p.pass = add_saturating(p.pass, lead(dying.pass, from));
        return;
    }
    const Pass work =
        add_saturating(multiply_saturating(lead(dying.pass, from), weight(dying)), dying.rem);
    if (broken(Mutation::kLiftByMax)) {
        p.pass = std::max(p.pass, add_saturating(floor_, work / parent_weight));
        return;
    }
    const Pass t = add_saturating(work, p.rem);
    p.pass = add_saturating(p.pass, t / parent_weight);
    p.rem = static_cast<std::uint64_t>(t % parent_weight);
}

// One dying budget, its children first.
void Scheduler::bury_below(BudgetId id, bool is_top, std::vector<BudgetId>& order) {
    const std::set<BudgetId> children = at(id).children;
    for (const BudgetId child : children) {
        bury_below(child, false, order);
    }
    const Budget& b = at(id);
    if (!is_top) {
        give_back(*b.parent, b.limit);
    }
    bury(id);
    order.push_back(id);
}

void Scheduler::bury(BudgetId id) {
    Budget& b = at(id);
    require(b.parent.has_value() && b.children.empty(), "children go before their parents");
    fold_pending(b, weight(b));
    if (b.threads() > 0) {
        note_change(b);
    }
    if (b.queued) {
        leave_queue(b);
    }
    for (Hart& hart : harts_) {
        if (hart.runner == id) {
            hart = Hart{};
        }
    }
    lift(b);
    at(*b.parent).children.erase(id);
    budgets_.erase(id);
}

void Scheduler::end_destruction() {
    in_destruction_ = false;
    raise();
}

std::vector<BudgetId> Scheduler::destroy(BudgetId top) {
    const Budget& b = budget(top);
    require(b.parent.has_value(), "a budget without a parent has no one to lift its work to");
    give_back(*b.parent, b.limit);
    std::vector<BudgetId> order;
    begin_destruction();
    bury_below(top, true, order);
    end_destruction();
    return order;
}

// ---- threads -----------------------------------------------------------------------------------

void Scheduler::note_change(Budget& b) {
    b.changed = true;
    counts_changed_ = true;
}

void Scheduler::ready(BudgetId budget) {
    Budget& b = at(budget);
    b.waiting += 1;
    note_change(b);
}

void Scheduler::unready(BudgetId budget) {
    Budget& b = at(budget);
    require(b.waiting > 0, "no waiting thread to take");
    b.waiting -= 1;
    note_change(b);
}

}  // namespace ravelin::model
