// Charges and folds: who pays for each stretch of a hart's time; see replayer.h.
#include "tools/oracle/replayer.h"

#include <fmt/format.h>

namespace ravelin::oracle::detail {

void Replayer::check_conservation(std::uint64_t at, const TraceRecord& r) {
    const Hart& hart = harts_[entry_.hart];
    const std::uint64_t from = entry_.first ? entry_.trapped : hart.charged;
    for (const std::uint64_t place : entry_.abroad) {
        const Hart& other = harts_[trace_.records[place].hart];
        if (other.charged > r.x) {
            reject("conservation",
                   fmt::format("hart {} is charged up to {} in an entry that ends at {}",
                               trace_.records[place].hart, other.charged, r.x),
                   {place, at});
        }
    }
    // Other harts' answers to its shootdowns are its to pay; its own to others', which lie in its wait, are not.
    const std::uint64_t owed = r.x - from + entry_.answers;
    const std::uint64_t early =
        since(entry_.trapped + (entry_.lock_wait == kNowhere ? 0 : hart.answered), from);
    std::uint64_t before_trap = 0;
    std::uint64_t all = 0;
    std::uint64_t zeroing = 0;
    for (const std::uint64_t place : entry_.charges) {
        const TraceRecord& charge = trace_.records[place];
        const auto what = static_cast<TraceCharge>(charge.what);
        all += charge.x;
        if (what == TraceCharge::user || what == TraceCharge::idle) {
            before_trap += charge.x;
        }
        zeroing += what == TraceCharge::zeroing ? charge.x : 0;
    }
    Places places = entry_.charges;
    places.insert(places.begin(), entry_.place);
    places.push_back(at);
    if (all != owed) {
        reject("conservation",
               fmt::format("{} ticks passed on hart {} and {} are charged", owed, entry_.hart, all),
               places);
    } else if (before_trap > early || early - before_trap > (hart.zeroes_for ? zeroing : 0)) {
        reject("conservation",
               fmt::format("{} ticks passed before the trap on hart {} and {} are charged", early,
                           entry_.hart, before_trap),
               places);
    }
}

void Replayer::bills_are_folded(std::uint64_t at) {
    for (const Bill& bill : std::exchange(entry_.bills, {})) {
        reject("fold",
               fmt::format("{} ticks billed to budget {} are not folded behind it", bill.ticks,
                           budgets_[bill.budget].id),
               {bill.place, at});
    }
}

void Replayer::check_carves(std::uint64_t at) {
    for (const std::size_t index : carving_) {
        Budget& budget = budgets_[index];
        if (budget.carve_due != 0 && budget.alive) {
            reject("weight",
                   fmt::format("budget {} keeps {} that its child was given", budget.id,
                               budget.carve_due),
                   {budget.last, at});
            budget.carve_due = 0;
        }
    }
    carving_.clear();
}

void Replayer::check_timer(std::uint64_t at, TraceLeave how) {
    if (entry_.cause != TraceCause::timer) {
        return;
    }
    for (const std::uint64_t place : entry_.charges) {
        const TraceRecord& charge = trace_.records[place];
        const auto what = static_cast<TraceCharge>(charge.what);
        if (what != TraceCharge::timer && what != TraceCharge::nothing) {
            continue;
        }
        if (!entry_.expiries.empty()) {
            const Expiry& last = entry_.expiries.back();
            if (what == TraceCharge::nothing || !pays_for(last.payer, charge.id)) {
                reject("timer",
                       fmt::format("the rest of a timer interrupt goes to budget {}, and the item "
                                   "it found last is budget {}'s",
                                   charge.id, last.payer),
                       {entry_.place, last.place, place, at});
            }
            continue;
        }
        const std::uint64_t interrupted = entry_.interrupted ? budgets_[*entry_.interrupted].id : 0;
        const bool ended = how == TraceLeave::slice_end;
        if (ended != (what == TraceCharge::timer) || (ended && !pays_for(interrupted, charge.id))) {
            reject("timer",
                   fmt::format("a timer interrupt that found nothing and {} budget {}'s slice goes "
                               "to {} ({})",
                               ended ? "ended" : "did not end", interrupted,
                               charge.id == 0 ? "nobody" : fmt::format("budget {}", charge.id),
                               name_of(what)),
                   {entry_.place, place, at});
        }
    }
}

void Replayer::check_interrupt(std::uint64_t at, TraceLeave how) {
    if (entry_.cause != TraceCause::external) {
        return;
    }
    const bool claimed = entry_.claim != kNowhere;
    if (!claimed && !entry_.deadline_destroyed) {
        reject("interrupt", "a device interrupt returned without its claim", {entry_.place, at});
    }
    if (how == TraceLeave::slice_end) {
        reject("preempt", "a device interrupt ended a slice", {entry_.place, at});
    }
    const std::uint64_t source = claimed ? trace_.records[entry_.claim].x : 0;
    const std::uint64_t owner = claimed ? trace_.records[entry_.claim].id : 0;
    for (const std::uint64_t place : entry_.charges) {
        const TraceRecord& charge = trace_.records[place];
        const auto what = static_cast<TraceCharge>(charge.what);
        const bool other = what == TraceCharge::timer || what == TraceCharge::nothing ||
                           what == TraceCharge::kick || what == TraceCharge::call ||
                           what == TraceCharge::fault;
        const bool rest = what == TraceCharge::interrupt &&
                          (charge.id != owner || (source == 0 && !entry_.expiries.empty()));
        if (other || rest) {
            reject("interrupt",
                   fmt::format("{} time of a device interrupt that claimed {} goes to {}, and "
                               "{} owes it",
                               name_of(what),
                               source == 0 ? "nothing" : fmt::format("source {}", source),
                               charge.id == 0 ? "nobody" : fmt::format("budget {}", charge.id),
                               source == 0 && !entry_.expiries.empty()
                                   ? "the payer of the item it found last"
                               : owner == 0 ? "nobody"
                                            : fmt::format("budget {}", owner)),
                   {entry_.place, entry_.claim, place, at});
        }
    }
}

bool Replayer::pays_for(std::uint64_t owed, std::uint64_t got) const {
    const auto found = by_id_.find(owed);
    if (owed == got || found == by_id_.end()) {
        return owed == got;
    }
    const auto payer = payer_for(found->second);
    return got == (payer ? budgets_[*payer].id : 0);
}

void Replayer::on_charge(std::uint64_t at, const TraceRecord& r) {
    const auto what = static_cast<TraceCharge>(r.what);
    if (entry_.open && r.hart != entry_.hart) {
        on_charge_abroad(at, r);
        return;
    }
    entry_.charges.push_back(at);
    if (name_of(what) == "?") {
        reject("structure", fmt::format("no charge is of kind {}", r.what), {at});
        return;
    }
    if (what == TraceCharge::audit || what == TraceCharge::audit_wait) {
        entry_.audited += r.x;
    }
    check_payer(at, r, what);
    if (r.id == 0) {
        return;
    }
    Budget* budget = living(at, r.id);
    if (budget == nullptr) {
        return;
    }
    budget->last_charge = at;
    if (r.y != budget->weight) {
        reject(
            "charge",
            fmt::format("budget {} is charged at weight {} and has {}", r.id, r.y, budget->weight),
            {budget->last, at});
    }
    if (runs_here(*budget)) {
        harts_[entry_.hart].pending += r.x;
    } else if (budget->weight != 0) {
        entry_.bills.push_back({.budget = index_of(*budget), .ticks = r.x, .place = at});
    }
}

void Replayer::on_freed(std::uint64_t at, const TraceRecord& r) {
    if (Budget* budget = r.id == 0 ? nullptr : living(at, r.id)) {
        budget->unclean += r.x;
    }
}

void Replayer::on_zero(std::uint64_t at, const TraceRecord& r) {
    const auto owing = by_id_.find(r.x);
    Budget* payer = living(at, r.id);
    if (payer == nullptr) {
        return;
    }
    if (owing == by_id_.end() || budgets_[owing->second].unclean == 0 || !pays_for(r.x, r.id)) {
        reject("charge",
               fmt::format("budget {} pays for zeroing a frame of budget {}, which owes none", r.id,
                           r.x),
               {at});
        return;
    }
    --budgets_[owing->second].unclean;
    entry_.zero = index_of(*payer);
}

void Replayer::lift_zeroing(std::size_t dying) {
    const auto payer = payer_for(dying);
    const std::uint64_t frames = std::exchange(budgets_[dying].unclean, 0);
    if (payer) {
        budgets_[*payer].unclean += frames;
    }
}

void Replayer::on_answer(std::uint64_t at, const TraceRecord& r) {
    Hart& hart = harts_[r.hart];
    if (!entry_.open || r.hart == entry_.hart || r.y < entry_.locked || !hart.entered) {
        reject("structure", "an answer stands outside of the entry that asked for it",
               {entry_.place, at});
        return;
    }
    tell(at, r.y + r.x);
    hart.charged += r.x;
    hart.answered += r.x;
    entry_.answers += r.x;
}

void Replayer::on_charge_abroad(std::uint64_t at, const TraceRecord& r) {
    Hart& hart = harts_[r.hart];
    hart.answered = 0;
    Budget* budget = living(at, r.id);
    entry_.abroad.push_back(at);
    hart.charged += r.x;
    if (hart.run) {
        out_.runs[*hart.run].user += r.x;
    }
    if (budget == nullptr) {
        return;
    }
    budget->last_charge = at;
    if (static_cast<TraceCharge>(r.what) == TraceCharge::zeroing) {
        check_payer(at, r, TraceCharge::zeroing);
        entry_.bills.push_back({.budget = index_of(*budget), .ticks = r.x, .place = at});
        return;
    }
    const bool runs = hart.runner == index_of(*budget);
    if (!hart.runner || !pays_for(budgets_[*hart.runner].id, r.id)) {
        reject("charge",
               fmt::format("hart {}'s user time goes to budget {}, which it does not run", r.hart,
                           r.id),
               {entry_.place, at});
        return;
    }
    if (r.y != budget->weight) {
        reject(
            "charge",
            fmt::format("budget {} is charged at weight {} and has {}", r.id, r.y, budget->weight),
            {budget->last, at});
    }
    if (runs) {
        hart.pending += r.x;
    } else {
        entry_.bills.push_back({.budget = index_of(*budget), .ticks = r.x, .place = at});
    }
}

void Replayer::check_payer(std::uint64_t at, const TraceRecord& r, TraceCharge what) {
    const std::uint64_t interrupted = entry_.interrupted ? budgets_[*entry_.interrupted].id : 0;
    std::string owed;
    switch (what) {
    case TraceCharge::user:
    case TraceCharge::call:
    case TraceCharge::fault: {
        // Of a budget that had ended, the rest of an entry that found something due is the last found item's.
        const bool last_item = entry_.behind_its_end && !entry_.expiries.empty();
        const std::uint64_t owing = last_item ? entry_.expiries.back().payer : interrupted;
        if (owing == 0 || !pays_for(owing, r.id)) {
            owed = fmt::format("budget {}", owing);
        }
        break;
    }
    case TraceCharge::lock_wait:
        if (!pays_for(interrupted, r.id)) {
            owed = fmt::format("budget {}", interrupted);
        }
        break;
    case TraceCharge::expiry:
    case TraceCharge::destruction: {
        if (entry_.expiries.empty() || !pays_for(entry_.expiries.back().payer, r.id)) {
            owed = "the payer of the item that this entry found last";
        }
        break;
    }
    case TraceCharge::pick:
        if (entry_.pick == kNowhere || !pays_for(trace_.records[entry_.pick].id, r.id)) {
            owed = "the budget picked";
        }
        break;
    case TraceCharge::idle:
    case TraceCharge::kick:
    case TraceCharge::nothing:
    case TraceCharge::no_pick:
    case TraceCharge::boot:
    case TraceCharge::audit:
    case TraceCharge::audit_wait:
        if (r.id != 0) {
            owed = "nobody";
        }
        break;
    case TraceCharge::interrupt:
        if (entry_.cause != TraceCause::external) {
            owed = "no device interrupt";
        }
        break;
    case TraceCharge::zeroing: {
        const auto payer = harts_[r.hart].zeroes_for;
        if (!payer || !pays_for(budgets_[*payer].id, r.id)) {
            owed =
                payer ? fmt::format("budget {}", budgets_[*payer].id) : "no frame that was zeroed";
        }
        break;
    }
    case TraceCharge::timer: break;
    }
    if (!owed.empty()) {
        reject("charge",
               fmt::format("{} time goes to {}, and {} owes it", name_of(what),
                           r.id == 0 ? "nobody" : fmt::format("budget {}", r.id), owed),
               {entry_.place, at});
    }
}

void Replayer::on_top_up(std::uint64_t at, const TraceRecord& r) {
    Hart& hart = harts_[entry_.hart];
    Budget* budget = living(at, r.id);
    if (budget == nullptr) {
        return;
    }
    if (!runs_here(*budget) || hart.pending != 0 || r.x != 1) {
        reject("fold",
               fmt::format("budget {} with {} ticks to be charged on hart {} is topped up by {}",
                           r.id, runs_here(*budget) ? hart.pending : 0, r.hart, r.x),
               {budget->last_charge, at});
    }
    hart.pending += r.x;
}

bool Replayer::prepares(std::uint64_t at, std::uint64_t id) const {
    for (std::uint64_t next = at + 1; next < trace_.records.size(); ++next) {
        const TraceRecord& r = trace_.records[next];
        switch (kind_at(next)) {
        case TraceKind::pass:
            if (r.id != id) {
                return false;
            }
            break;
        case TraceKind::create: return r.x == id;
        case TraceKind::reweigh: return r.id == id;
        default: return false;
        }
    }
    return false;
}

void Replayer::on_pass(std::uint64_t at, const TraceRecord& r) {
    Budget* budget = living(at, r.id);
    if (budget == nullptr) {
        return;
    }
    const U128 got = wide(r);
    if (!settle(at, *budget, got)) {
        std::uint64_t owed = 0;
        for (const Bill& bill : entry_.bills) {
            owed += bill.budget == index_of(*budget) ? bill.ticks : 0;
        }
        for (const Hart& hart : harts_) {
            owed += hart.runner == index_of(*budget) ? hart.pending : 0;
        }
        reject(
            "fold",
            fmt::format("budget {}: pass {} is not {} with remainder {} and the {} ticks it owes "
                        "at weight {}",
                        r.id, to_text(got), to_text(budget->debt.pass), to_text(budget->debt.rem),
                        owed, budget->weight),
            {budget->last, budget->last_charge, at});
        budget->debt.pass = got;
        drop_owed(at, *budget);
    }
    budget->last = at;
    if (budget->queued != Queued::no && !destruction_.open && !prepares(at, r.id)) {
        raise(at);
    }
}

bool Replayer::settle(std::uint64_t at, Budget& budget, U128 got) {
    if (budget.weight == 0) {
        return false;
    }
    const std::size_t index = index_of(budget);
    const auto matches = [&](std::uint64_t ticks) {
        const Debt after = folded(budget.debt, ticks, budget.weight);
        if (after.pass != got) {
            return false;
        }
        budget.debt = after;
        return true;
    };
    const auto bill = std::find_if(entry_.bills.begin(), entry_.bills.end(),
                                   [index](const Bill& b) { return b.budget == index; });
    if (bill != entry_.bills.end()) {
        // A bill is folded by itself, at once: nothing else may come before it.
        const bool good = matches(bill->ticks);
        if (good) {
            entry_.bills.erase(bill);
        }
        return good;
    }
    const auto try_hart = [&](std::size_t h) {
        Hart& hart = harts_[h];
        if (hart.runner != index || !matches(hart.pending)) {
            return false;
        }
        if (entry_.open && h == entry_.hart) {
            entry_.folded = at;
            entry_.folded_ticks = hart.pending;
        }
        hart.pending = 0;
        return true;
    };
    if (entry_.open && try_hart(entry_.hart)) {
        return true;
    }
    for (std::size_t h = 0; h < harts_.size(); ++h) {
        if (!(entry_.open && h == entry_.hart) && try_hart(h)) {
            return true;
        }
    }
    return false;
}

void Replayer::drop_owed(std::uint64_t at, Budget& budget) {
    const std::size_t index = index_of(budget);
    budget.debt.rem = 0;
    std::erase_if(entry_.bills, [index](const Bill& bill) { return bill.budget == index; });
    for (std::size_t h = 0; h < harts_.size(); ++h) {
        if (harts_[h].runner == index) {
            if (entry_.open && h == entry_.hart) {
                entry_.folded = at;
                entry_.folded_ticks = std::max<std::uint64_t>(harts_[h].pending, 1);
            }
            harts_[h].pending = 0;
        }
    }
}

void Replayer::must_be_folded(std::uint64_t at, const Budget& budget, const char* what) {
    const std::size_t index = index_of(budget);
    for (Hart& hart : harts_) {
        if (hart.runner == index && hart.pending != 0) {
            reject("fold",
                   fmt::format("{} ticks of budget {} are not folded before {}", hart.pending,
                               budget.id, what),
                   {budget.last_charge, budget.last, at});
            hart.pending = 0;
        }
    }
}

void Replayer::on_expire(std::uint64_t at, const TraceRecord& r) {
    if (r.y < r.x) {
        reject("timer", fmt::format("an item due at {} is found at {}: it ends early", r.x, r.y),
               {at});
    }
    if (r.id != 0) {
        static_cast<void>(living(at, r.id));
    }
    tell(at, r.y);
    check_deadline(at, r);
    entry_.expiries.push_back(
        {.payer = r.id, .what = static_cast<TraceExpiry>(r.what), .place = at});
}

void Replayer::check_deadline(std::uint64_t at, const TraceRecord& r) {
    const bool is_deadline = static_cast<TraceExpiry>(r.what) == TraceExpiry::deadline;
    const bool due = destruction_.open && destruction_.by_deadline && !destruction_.expired;
    if (is_deadline != due) {
        reject("destruction",
               due ? "a destruction by deadline has no deadline"
                   : "a deadline is found and destroys nothing",
               {destruction_.open ? destruction_.place : kNowhere, at});
    }
    if (!is_deadline || !due) {
        return;
    }
    destruction_.expired = true;
    const auto parent = budgets_[destruction_.top].parent;
    const auto payer = parent ? payer_for(*parent) : std::nullopt;
    const std::uint64_t owes = payer ? budgets_[*payer].id : 0;
    if (r.id != owes) {
        reject("charge",
               fmt::format("budget {} pays for a deadline of a child of budget {}, and budget {} "
                           "owes it",
                           r.id, parent ? budgets_[*parent].id : 0, owes),
               {destruction_.place, at});
    }
}

void Replayer::on_claim(std::uint64_t at, const TraceRecord& r) {
    if (entry_.cause != TraceCause::external || entry_.claim != kNowhere) {
        reject("interrupt", "a claim stands outside of a device interrupt, or behind its claim",
               {entry_.place, entry_.claim, at});
    }
    entry_.claim = at;
    if (r.x == 0) {
        ++out_.lost_claims;
        if (r.id != 0) {
            reject("interrupt", fmt::format("budget {} pays for a claim that found nothing", r.id),
                   {at});
        }
        return;
    }
    ++out_.claims;
    const auto last = sources_.find(r.x);
    const bool known = last != sources_.end();
    if (known && (!last->second.owned || last->second.receives == receives_)) {
        reject("interrupt",
               fmt::format("source {} fires again and nothing can have unmasked it", r.x),
               {last->second.place, at});
    }
    const bool system_lives = budgets_.size() > 1 && budgets_[1].alive;
    const std::uint64_t system = system_lives ? budgets_[1].id : 0;
    const bool owned = r.id != 0;
    if (owned ? !system_lives || !pays_for(system, r.id) : system_lives) {
        reject("interrupt",
               fmt::format("source {} is paid for by budget {}, and its owner is budget {}", r.x,
                           r.id, system),
               {known ? last->second.place : kNowhere, at});
    }
    sources_[r.x] = {.place = at, .owned = owned, .receives = receives_};
}

}  // namespace ravelin::oracle::detail
