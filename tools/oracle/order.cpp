// The order of the queue: ranks, picks, the raise of the floor and the cap set; see replayer.h.
#include "tools/oracle/replayer.h"

#include <fmt/format.h>

namespace ravelin::oracle::detail {

Budget* Replayer::living(std::uint64_t at, std::uint64_t id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) {
        reject("structure", fmt::format("budget {} was never created", id), {at});
        return nullptr;
    }
    Budget& budget = budgets_[found->second];
    if (!budget.alive) {
        reject("destruction", fmt::format("budget {} acts once destroyed", id),
               {out_.budgets[budget.info].ended, at});
        return nullptr;
    }
    return &budget;
}

std::size_t Replayer::index_of(const Budget& budget) const {
    return static_cast<std::size_t>(&budget - budgets_.data());
}

void Replayer::put(Budget& budget, Queued how, std::uint64_t turn) {
    if (budget.queued == Queued::no) {
        queue_.push_back(index_of(budget));
    }
    budget.queued = how;
    budget.turn = turn;
}

void Replayer::take(Budget& budget) {
    if (budget.queued != Queued::no) {
        std::erase(queue_, index_of(budget));
    }
    budget.queued = Queued::no;
    budget.capped = false;
}

bool Replayer::ahead(const Budget& a, const Budget& b) {
    if (a.debt.pass != b.debt.pass) {
        return a.debt.pass < b.debt.pass;
    }
    if (a.queued != b.queued) {
        return a.queued == Queued::woken;
    }
    if (a.queued == Queued::woken) {
        return a.turn != b.turn ? a.turn > b.turn : a.id < b.id;
    }
    return a.turn < b.turn;
}

void Replayer::same_pass(std::uint64_t at, const char* check, Budget& budget, U128 want,
                         const char* rule) {
    const U128 got = wide(trace_.records[at]);
    if (got != want) {
        reject(check,
               fmt::format("budget {}: pass {} where {} makes {}", budget.id, to_text(got), rule,
                           to_text(want)),
               {budget.last, budget.last_charge, floor_place_, at});
    }
    budget.debt.pass = got;
    budget.last = at;
}

void Replayer::has_weight(std::uint64_t at, const Budget& budget, const char* what) {
    if (budget.weight == 0) {
        reject("weight", fmt::format("budget {} {} and has no weight", budget.id, what),
               {budget.last, at});
    }
}

std::optional<std::size_t> Replayer::payer_for(std::size_t index) const {
    std::optional<std::size_t> at = index;
    while (at && (!budgets_[*at].alive || budgets_[*at].weight == 0)) {
        at = budgets_[*at].parent;
    }
    return at;
}

bool Replayer::is_below(std::size_t index, std::size_t top) const {
    for (std::optional<std::size_t> at = index; at; at = budgets_[*at].parent) {
        if (*at == top) {
            return true;
        }
    }
    return false;
}

std::vector<std::size_t> Replayer::cap_set() const {
    std::vector<std::size_t> tested;
    std::vector<std::size_t> capped;
    std::uint64_t harts = online_;
    std::uint64_t weight = 0;
    for (const std::size_t index : queue_) {
        const Budget& budget = budgets_[index];
        if (budget.waiting + budget.running == 0) {
            continue;
        }
        weight += budget.weight;
        if (budget.capped || budget.waiting == 0) {
            tested.push_back(index);
        }
    }
    for (bool removed = true; removed;) {
        removed = false;
        for (std::size_t i = 0; i < tested.size(); ++i) {
            const Budget& budget = budgets_[tested[i]];
            const std::uint64_t threads = budget.waiting + budget.running;
            if (multiply(budget.weight, harts) > multiply(threads, weight)) {
                harts -= std::min(harts, threads);
                weight -= budget.weight;
                capped.push_back(tested[i]);
                tested.erase(tested.begin() + static_cast<std::ptrdiff_t>(i));
                removed = true;
                break;
            }
        }
    }
    return capped;
}

void Replayer::raise(std::uint64_t cause) {
    raise_ = {.open = true, .cause = cause, .rises = false, .floor = floor_, .lifts = {}};
    std::optional<U128> candidate;
    std::vector<std::size_t> newly_capped;
    if (online_ <= 1) {
        candidate = extreme(true, [](const Budget&) { return true; });
    } else {
        const auto has_thread = [](const Budget& b) { return b.waiting + b.running != 0; };
        const std::vector<std::size_t> capped = cap_set();
        for (const std::size_t index : queue_) {
            Budget& budget = budgets_[index];
            const bool now = std::find(capped.begin(), capped.end(), index) != capped.end();
            if (now && !budget.capped) {
                budget.capped = true;
                newly_capped.push_back(index);
            } else if (!now && budget.capped && has_thread(budget)) {
                budget.capped = false;
                // It can have waited for a slice on every hart.
                const U128 waited = U128{trace_.head.slice_ticks} * online_ * kStride /
                                    std::max<std::uint64_t>(budget.weight, 1);
                const U128 lag = std::min(budget.lag, waited);
                const U128 pass = std::max(budget.debt.pass, above(floor_, lag));
                raise_.lifts.push_back({.budget = index, .pass = pass});
            }
        }
        candidate = extreme(true, [&](const Budget& b) { return has_thread(b) && !b.capped; });
        if (!candidate) {
            candidate = extreme(false, has_thread);
        }
        if (!candidate) {
            candidate = extreme(true, [](const Budget&) { return true; });
        }
    }
    if (candidate && *candidate > floor_) {
        raise_.rises = true;
        raise_.floor = *candidate;
    }
    // The lag it keeps is behind the floor of the budgets that share the harts without it.
    for (const std::size_t index : newly_capped) {
        budgets_[index].lag = above(raise_.floor, budgets_[index].debt.pass);
    }
}

void Replayer::close_raise(std::uint64_t at) {
    if (!raise_.open) {
        return;
    }
    raise_.open = false;
    for (const Raise::Lift& lift : raise_.lifts) {
        const Budget& budget = budgets_[lift.budget];
        reject("cap",
               fmt::format("budget {} left the cap set at pass {} and is not lifted to {}",
                           budget.id, to_text(budget.debt.pass), to_text(lift.pass)),
               {budget.last, floor_place_, raise_.cause, at});
    }
    if (raise_.rises) {
        reject("floor",
               fmt::format("the floor stays at {} where it rises to {}", to_text(floor_),
                           to_text(raise_.floor)),
               {floor_place_, raise_.cause, at});
    }
}

void Replayer::raise_behind_wakes(std::uint64_t cause) {
    if (entry_.open && !entry_.raised_behind_wakes &&
        (entry_.woke || entry_.left_queue || entry_.counts_changed)) {
        entry_.raised_behind_wakes = true;
        raise(cause);
    }
}

void Replayer::on_wake(std::uint64_t at, const TraceRecord& r) {
    Budget* budget = living(at, r.id);
    if (budget == nullptr) {
        return;
    }
    if (budget->queued != Queued::no) {
        reject("queue", fmt::format("budget {} wakes and is queued", r.id), {budget->last, at});
    }
    if (destruction_.open) {
        reject("destruction", fmt::format("budget {} wakes before the destruction has ended", r.id),
               {destruction_.place, at});
    }
    if (entry_.woke && r.id > entry_.last_wake_id) {
        reject(
            "wake",
            fmt::format("budget {} wakes behind budget {} in one entry", r.id, entry_.last_wake_id),
            {entry_.last_wake, at});
    }
    has_weight(at, *budget, "wakes");
    same_pass(at, "wake", *budget, std::max(budget->debt.pass, floor_), "max(own, floor)");
    put(*budget, Queued::woken, r.entry);
    entry_.woke = true;
    entry_.last_wake_id = r.id;
    entry_.last_wake = at;
    ++out_.wakes_counted;
    const Hart& hart = harts_[entry_.hart];
    out_.wakes.push_back({.record = at,
                          .budget = r.id,
                          .entry = r.entry,
                          .pass = budget->debt.pass,
                          .floor = floor_,
                          .over_runner = entry_.interrupted.has_value() && hart.run.has_value(),
                          .run = hart.run.value_or(0),
                          .resumed = false,
                          .by_device = entry_.cause == TraceCause::external});
}

void Replayer::deschedule(std::uint64_t at, const Budget& budget) {
    Hart& hart = harts_[entry_.hart];
    if (hart.pending != 0) {
        reject("fold",
               fmt::format("budget {} leaves hart {} with {} ticks not folded", budget.id,
                           entry_.hart, hart.pending),
               {budget.last_charge, entry_.folded, at});
    } else if (entry_.folded_ticks == 0) {
        reject("fold",
               fmt::format("budget {} leaves hart {} without the least charge", budget.id,
                           entry_.hart),
               {budget.last_charge, entry_.folded, at});
    }
    hart.runner.reset();
    hart.pending = 0;
    entry_.descheduled = at;
    compare_counts_of(budget);
}

bool Replayer::runs_here(const Budget& budget) const {
    return entry_.open && harts_[entry_.hart].runner == index_of(budget);
}

void Replayer::on_requeue(std::uint64_t at, const TraceRecord& r) {
    Budget* budget = living(at, r.id);
    if (budget == nullptr) {
        return;
    }
    if (budget->queued == Queued::no || !runs_here(*budget)) {
        reject("queue",
               fmt::format("budget {} is requeued by hart {}, which does not run it", r.id, r.hart),
               {budget->last, at});
    } else {
        deschedule(at, *budget);
    }
    same_pass(at, "fold", *budget, budget->debt.pass, "its last charge");
    put(*budget, Queued::requeued, ++requeues_);
}

void Replayer::on_out(std::uint64_t at, const TraceRecord& r) {
    Budget* budget = living(at, r.id);
    if (budget == nullptr) {
        return;
    }
    if (budget->queued == Queued::no) {
        reject("queue", fmt::format("budget {} leaves a queue it is not in", r.id),
               {budget->last, at});
    }
    same_pass(at, "fold", *budget, budget->debt.pass, "its last charge");
    if (r.what == kDestroyed) {
        if (!destruction_.open || !is_below(index_of(*budget), destruction_.top)) {
            reject("destruction",
                   fmt::format("budget {} leaves as destroyed and nothing destroys it", r.id),
                   {destruction_.place, at});
        }
        take(*budget);
        return;
    }
    if (entry_.woke) {
        reject("queue", fmt::format("budget {} leaves behind a wake of the same entry", r.id),
               {entry_.last_wake, at});
    }
    const bool descheduled = runs_here(*budget);
    if (descheduled) {
        deschedule(at, *budget);
    }
    if (budget->waiting + budget->running != 0) {
        reject("queue",
               fmt::format("budget {} leaves with {} threads waiting and {} running", r.id,
                           budget->waiting, budget->running),
               {budget->last, at});
    }
    take(*budget);
    if (descheduled) {
        raise(at);
    } else {
        entry_.left_queue = true;
    }
}

void Replayer::on_pick(std::uint64_t at, const TraceRecord& r) {
    ++out_.picks;
    Budget* budget = living(at, r.id);
    if (budget == nullptr) {
        return;
    }
    Hart& hart = harts_[entry_.hart];
    if (hart.runner && budgets_[*hart.runner].alive) {
        reject("queue",
               fmt::format("hart {} picks and still runs budget {}", entry_.hart,
                           budgets_[*hart.runner].id),
               {entry_.place, at});
    }
    has_weight(at, *budget, "is picked");
    same_pass(at, "fold", *budget, budget->debt.pass, "its last charge");
    if (budget->queued == Queued::no || budget->waiting == 0) {
        reject("queue",
               fmt::format("budget {} is picked {} with {} threads waiting", r.id,
                           budget->queued == Queued::no ? "out of the queue" : "from the queue",
                           budget->waiting),
               {budget->last, at});
    } else {
        for (const std::size_t index : queue_) {
            const Budget& other = budgets_[index];
            if (other.waiting != 0 && ahead(other, *budget)) {
                reject("order",
                       fmt::format("budget {} is picked, and budget {} ranks ahead of it: {}", r.id,
                                   other.id, why_ahead(other, *budget)),
                       {other.last, budget->last, at});
                break;
            }
        }
    }
    hart.runner = index_of(*budget);
    hart.pending = 0;
    entry_.pick = at;
    compare_counts_of(*budget);
}

std::string Replayer::why_ahead(const Budget& other, const Budget& budget) {
    if (other.debt.pass != budget.debt.pass) {
        return fmt::format("its pass is {}, the other's {}", to_text(other.debt.pass),
                           to_text(budget.debt.pass));
    }
    if (other.queued != budget.queued) {
        return "it woke, the other was requeued";
    }
    if (other.queued == Queued::requeued) {
        return "it was requeued first";
    }
    return other.turn != budget.turn ? "it woke in a later entry"
                                     : "both woke in one entry, and its id is lower";
}

void Replayer::on_uncap(std::uint64_t at, const TraceRecord& r) {
    Budget* budget = living(at, r.id);
    if (budget == nullptr) {
        return;
    }
    ++out_.uncaps;
    const std::size_t index = index_of(*budget);
    const auto lift = std::find_if(raise_.lifts.begin(), raise_.lifts.end(),
                                   [index](const Raise::Lift& l) { return l.budget == index; });
    if (!raise_.open || lift == raise_.lifts.end()) {
        reject("cap", fmt::format("budget {} is lifted and did not leave the cap set", r.id),
               {budget->last, raise_.open ? raise_.cause : kNowhere, at});
        budget->debt.pass = wide(r);
        budget->last = at;
        return;
    }
    same_pass(at, "cap", *budget, lift->pass, "the floor's rise while it was capped");
    raise_.lifts.erase(lift);
}

void Replayer::on_floor(std::uint64_t at, const TraceRecord& r) {
    const U128 got = wide(r);
    if (!raise_.open) {
        reject("floor", fmt::format("the floor moves to {} where no raise is due", to_text(got)),
               {floor_place_, at});
    } else if (!raise_.rises || got != raise_.floor) {
        reject("floor",
               fmt::format("the floor moves from {} to {} where the rule makes {}", to_text(floor_),
                           to_text(got), to_text(raise_.floor)),
               {floor_place_, raise_.cause, at});
    }
    raise_.rises = false;
    floor_ = got;
    floor_place_ = at;
}

void Replayer::on_counts(std::uint64_t at, const TraceRecord& r) {
    Budget* budget = living(at, r.id);
    if (budget == nullptr) {
        return;
    }
    check_change(at, r, *budget);
    budget->waiting = r.x;
    budget->running = r.y;
    if (entry_.open) {
        entry_.counts_changed = true;
        compare_counts_of(*budget);
    }
}

void Replayer::compare_counts_of(const Budget& budget) {
    const std::size_t index = index_of(budget);
    if (std::find(entry_.counted.begin(), entry_.counted.end(), index) == entry_.counted.end()) {
        entry_.counted.push_back(index);
    }
}

void Replayer::check_change(std::uint64_t at, const TraceRecord& r, const Budget& budget) {
    bool good = false;
    if (r.y == budget.running) {
        good = r.x + 1 == budget.waiting || r.x == budget.waiting + 1;
    } else if (r.y == budget.running + 1) {
        good = runs_here(budget) && entry_.pick != kNowhere && r.x + 1 == budget.waiting;
    } else if (r.y + 1 == budget.running) {
        good = runs_here(budget) && entry_.pick == kNowhere &&
               (r.x == budget.waiting || r.x == budget.waiting + 1);
    }
    if (!good) {
        reject("queue",
               fmt::format("budget {} goes from {} threads waiting and {} running to {} and {}, "
                           "and nothing did that",
                           budget.id, budget.waiting, budget.running, r.x, r.y),
               {entry_.place, entry_.pick, at});
    }
}

void Replayer::on_runner(std::uint64_t at, const TraceRecord& r) {
    Hart& hart = harts_[entry_.hart];
    if (entry_.runner != kNowhere) {
        reject("structure", "an entry names its hart's runner twice", {entry_.runner, at});
    }
    entry_.runner = at;
    hart.thread = r.y;
    hart.thread_ended = false;
    hart.thread_budget.reset();
    if (r.id == 0) {
        return;
    }
    Budget* budget = living(at, r.id);
    if (budget == nullptr) {
        return;
    }
    hart.thread_budget = index_of(*budget);
    if (!runs_here(*budget)) {
        reject("queue", fmt::format("hart {} runs budget {} and did not pick it", r.hart, r.id),
               {entry_.pick, at});
    }
    if (r.x != budget->weight) {
        reject("weight",
               fmt::format("budget {} has free weight {}, not {}", r.id, budget->weight, r.x),
               {budget->last, at});
    }
}

}  // namespace ravelin::oracle::detail
