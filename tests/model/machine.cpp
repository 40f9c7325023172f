// The steps of a kernel entry around the model's queue. See machine.h for the order and the rules.
#include "machine.h"

#include <algorithm>
#include <stdexcept>

namespace ravelin::model {

Machine::Machine(unsigned harts, Rules rules, Costs costs)
    : queue_(harts, rules), costs_(costs), harts_(harts), ran_before_(harts) {
    queue_.set_slice(kSlice);
}

// ---- the scene ---------------------------------------------------------------------------------

BudgetId Machine::create_root(Weight limit, Class cls) {
    return queue_.create_root(limit, cls);
}

BudgetId Machine::create(BudgetId parent, Weight limit, Class cls, Ticks deadline) {
    const BudgetId id = queue_.create(parent, limit, cls);
    if (deadline != kForever) {
        deadlines_[id] = deadline;
    }
    return id;
}

void Machine::destroy(BudgetId top) {
    bury(top);
}

// A thread of the dying subtree on another hart is stopped by the destruction: its user time up to
// now counts, as at any way out of user mode, before the queue lifts what it did.
void Machine::bury(BudgetId top) {
    for (unsigned hart = 0; hart < harts_.size(); ++hart) {
        std::optional<BudgetId> id = queue_.runner(hart);
        while (id && *id != top) {
            id = queue_.budget(*id).parent;
        }
        if (id && !broken(Mutation::kDestroyForgetsOtherHarts)) {
            account_user(hart);
        }
    }
    const std::vector<BudgetId> dead = queue_.destroy(top);
    const std::set<BudgetId> gone(dead.begin(), dead.end());
    for (Hart& hart : harts_) {
        if (hart.thread && gone.contains(threads_.at(*hart.thread).budget)) {
            hart.thread.reset();
        }
    }
    std::erase_if(threads_, [&](const auto& item) { return gone.contains(item.second.budget); });
    std::erase_if(deadlines_, [&](const auto& item) { return gone.contains(item.first); });
    tell({Event::Kind::kDestroy, now_, 0, top, {}});
}

ThreadId Machine::spawn_asleep(BudgetId budget, std::uint32_t pid, Program program, Ticks until) {
    const ThreadId id{pid, ++next_tid_[pid]};
    Thread thread;
    thread.budget = budget;
    thread.program = std::move(program);
    thread.timeout = until;
    threads_.emplace(id, std::move(thread));
    return id;
}

ThreadId Machine::spawn(BudgetId budget, std::uint32_t pid, Program program) {
    const ThreadId id = spawn_asleep(budget, pid, std::move(program), kForever);
    wake(id);
    settle();
    return id;
}

void Machine::wake(ThreadId id) {
    const auto it = threads_.find(id);
    if (it == threads_.end() || it->second.ready) {
        return;
    }
    it->second.ready = true;
    it->second.timeout = kForever;
    queue_.ready(it->second.budget);
    tell({Event::Kind::kWake, now_, 0, it->second.budget, id});
}

unsigned Machine::hart_online() {
    const unsigned hart = queue_.hart_online();
    harts_.emplace_back();
    harts_.back().user_since = now_;
    ran_before_.emplace_back();
    kick_idle();
    return hart;
}

void Machine::settle() {
    if (in_entry_) {
        return;
    }
    reconcile(0);
    kick_idle();
}

// ---- timers ------------------------------------------------------------------------------------

BudgetId Machine::deadline_payer(BudgetId top) const {
    // The carve is back first, so the parent's free weight counts the top's limit.
    BudgetId id = queue_.budget(top).parent.value();
    Weight weight = queue_.free_weight(id) + queue_.budget(top).limit;
    while (weight == 0 && queue_.budget(id).parent) {
        id = *queue_.budget(id).parent;
        weight = queue_.free_weight(id);
    }
    return id;
}

// On the hart that runs the payer; if it runs on several, the lowest of them; if it runs nowhere,
// one hart: the lowest idle one, which takes no one's time, else hart 0.
std::set<unsigned> Machine::armed_on(BudgetId payer) const {
    std::set<unsigned> every;
    std::optional<unsigned> runs;
    std::optional<unsigned> idles;
    for (unsigned hart = 0; hart < harts_.size(); ++hart) {
        every.insert(hart);
        const auto runner = queue_.runner(hart);
        if (runner == payer && !runs) {
            runs = hart;
        }
        if (!runner && !idles) {
            idles = hart;
        }
    }
    if (broken(Mutation::kTimerArmedOnAnyHart)) {
        return every;
    }
    return {runs ? *runs : idles.value_or(0)};
}

Ticks Machine::next_item(unsigned hart) const {
    Ticks earliest = kForever;
    for (const auto& [id, thread] : threads_) {
        if (thread.timeout < earliest && armed_on(thread.budget).contains(hart)) {
            earliest = thread.timeout;
        }
    }
    for (const auto& [id, deadline] : deadlines_) {
        if (deadline < earliest && armed_on(deadline_payer(id)).contains(hart)) {
            earliest = deadline;
        }
    }
    return earliest;
}

Ticks Machine::next_event(unsigned hart) const {
    const Hart& h = harts_[hart];
    Ticks time = next_item(hart);
    if (h.thread) {
        const Ticks left = threads_.at(*h.thread).step_left;
        time = std::min(time, h.slice_end);
        if (left != kForever) {
            time = std::min(time, h.user_since + left);
        }
    }
    return time == kForever ? kForever : std::max(time, h.user_since);
}

// ---- time --------------------------------------------------------------------------------------

void Machine::run_until(Ticks end) {
    unsigned at_instant = 0;
    for (;;) {
        Ticks time = kForever;
        unsigned hart = 0;
        for (unsigned h = 0; h < harts_.size(); ++h) {
            const Ticks t = next_event(h);
            if (t < time) {
                time = t;
                hart = h;
            }
        }
        const bool done = time > end;
        const Ticks to = done ? end : time;
        if (to > now_) {
            const bool waits = queue_.would_pick().has_value();
            for (const Hart& h : harts_) {
                if (!h.thread) {
                    const Ticks from = std::max(now_, h.user_since);
                    const Ticks idle = to > from ? to - from : 0;
                    idle_ticks_ += idle;
                    wasted_ticks_ += waits ? idle : 0;
                }
            }
            if (on_interval) {
                on_interval(now_, to);
            }
            now_ = to;
            at_instant = 0;
        }
        if (done) {
            return;
        }
        if (++at_instant > kEventsPerInstant) {
            throw std::logic_error("a program lets no time pass");
        }
        entry(hart);
    }
}

void Machine::account_user(unsigned hart) {
    Hart& h = harts_[hart];
    if (!h.thread || now_ <= h.user_since) {
        return;
    }
    const Ticks ran = now_ - h.user_since;
    Thread& thread = threads_.at(*h.thread);
    if (thread.step_left != kForever) {
        thread.step_left -= ran;
    }
    user_[thread.budget] += ran;
    h.ran += ran;
    h.user_since = now_;
    queue_.run(hart, ran);
}

Ticks Machine::user_ticks(BudgetId budget) const {
    const auto it = user_.find(budget);
    Ticks ticks = it == user_.end() ? 0 : it->second;
    for (const Hart& h : harts_) {
        if (h.thread && threads_.at(*h.thread).budget == budget && now_ > h.user_since) {
            ticks += now_ - h.user_since;
        }
    }
    return ticks;
}

Ticks Machine::kernel_ticks(BudgetId payer) const {
    const auto it = kernel_.find(payer);
    return it == kernel_.end() ? 0 : it->second;
}

Ticks Machine::foreign_ticks(BudgetId victim) const {
    const auto it = foreign_.find(victim);
    return it == foreign_.end() ? 0 : it->second;
}

// ---- one entry ---------------------------------------------------------------------------------

void Machine::bill(unsigned hart, BudgetId payer, Ticks ticks, bool unbilled) {
    kernel_now_ += ticks;
    kernel_[payer] += ticks;
    const auto runner = queue_.runner(hart);
    if (runner && *runner != payer) {
        foreign_[*runner] += ticks;
    }
    if (ticks > 0 && !unbilled) {
        queue_.bill(hart, payer, ticks);
    }
    tell({Event::Kind::kBill, now_, hart, payer, {}, Leave::kSliceEnd, ticks});
}

// Answers what is due, earliest first, timeouts before deadlines at an equal instant. Returns
// whether a deadline destroyed something.
bool Machine::expire(unsigned hart, std::optional<BudgetId>& last_payer, bool& woke) {
    bool destroyed = false;
    for (;;) {
        Ticks timeout = kForever;
        Ticks deadline = kForever;
        ThreadId sleeper;
        BudgetId top = 0;
        for (const auto& [id, thread] : threads_) {
            if (thread.timeout < timeout) {
                timeout = thread.timeout;
                sleeper = id;
            }
        }
        for (const auto& [id, instant] : deadlines_) {
            if (instant < deadline) {
                deadline = instant;
                top = id;
            }
        }
        if (std::min(timeout, deadline) > now_) {
            return destroyed;
        }
        if (timeout <= deadline) {
            const BudgetId payer = threads_.at(sleeper).budget;
            wake(sleeper);
            woke = true;
            bill(hart, payer, costs_.timeout, broken(Mutation::kTimerWorkUnbilled));
            last_payer = payer;
        } else {
            const BudgetId payer = deadline_payer(top);
            bury(top);
            destroyed = true;
            bill(hart, payer, costs_.deadline, broken(Mutation::kDeadlineWorkUnbilled));
            last_payer = payer;
        }
    }
}

void Machine::leave_hart(unsigned hart, Leave how) {
    Hart& h = harts_[hart];
    const ThreadId id = *h.thread;
    Thread& thread = threads_.at(id);
    thread.on_hart = false;
    thread.ready = how == Leave::kSliceEnd || how == Leave::kPreempted;
    tell({Event::Kind::kLeave, now_, hart, thread.budget, id, how, h.ran});
    ran_before_[hart] = thread.budget;
    queue_.deschedule(hart, how);
    h.thread.reset();
    if (how == Leave::kExited) {
        threads_.erase(id);
    }
}

void Machine::entry(unsigned hart) {
    Hart& h = harts_[hart];
    const Ticks entered = now_;
    in_entry_ = true;
    kernel_now_ = 0;
    account_user(hart);

    std::optional<BudgetId> last_payer;
    bool woke = false;
    const bool destroyed = expire(hart, last_payer, woke);
    const bool preempted = destroyed || (woke && broken(Mutation::kTimeoutWakePreempts));

    const bool at_step_end = h.thread && threads_.at(*h.thread).step_left == 0;
    const bool at_slice_end = h.thread && now_ >= h.slice_end;
    const bool by_timer = !at_step_end;
    if (last_payer && queue_.exists(*last_payer)) {
        bill(hart, *last_payer, by_timer ? costs_.rest : 0, broken(Mutation::kTimerWorkUnbilled));
    } else if (by_timer && at_slice_end) {
        bill(hart, threads_.at(*h.thread).budget, costs_.rest, false);
    }

    if (h.thread && preempted) {
        leave_hart(hart, Leave::kPreempted);
    } else if (at_step_end) {
        const ThreadId id = *h.thread;
        const Step step = threads_.at(id).step;
        threads_.at(id).has_step = false;
        if (step.call_cost > 0) {
            bill(hart, threads_.at(id).budget, step.call_cost, false);
        }
        if (step.call) {
            step.call(*this);
        }
        if (h.thread) {  // its own call may have ended it
            if (step.after == After::kExit) {
                leave_hart(hart, Leave::kExited);
            } else if (step.after == After::kBlock || (step.after == After::kSleep && step.sleep)) {
                if (step.after == After::kSleep) {
                    threads_.at(id).timeout = now_ + step.sleep;
                }
                leave_hart(hart, Leave::kBlocked);
            }
        }
    } else if (at_slice_end) {
        leave_hart(hart, Leave::kSliceEnd);
    }
    finish(hart, entered);
    in_entry_ = false;
    kick_idle();
}

void Machine::reconcile(unsigned hart) {
    Hart& h = harts_[hart];
    queue_.reconcile(hart);
    if (h.thread && !queue_.runner(hart)) {
        // Only a broken reconcile takes the hart from its thread.
        threads_.at(*h.thread).on_hart = false;
        h.thread.reset();
    }
}

// The end of an entry: reconcile, pick if the hart has no runner, return.
void Machine::finish(unsigned hart, Ticks entered) {
    Hart& h = harts_[hart];
    reconcile(hart);
    if (!h.thread) {
        pick(hart);
    } else {
        next_step(*h.thread);
    }
    h.user_since = now_ + kernel_now_;
    if (h.thread && h.slice_end == kForever) {
        // The slice is user time: it starts at the return that follows the pick.
        const Ticks start = broken(Mutation::kSliceCountsExitWork) ? entered : h.user_since;
        h.slice_end = start + kSlice;
    }
}

// The queue's pick, and the budget's next ready thread after the one it picked last.
void Machine::pick(unsigned hart) {
    Hart& h = harts_[hart];
    const auto budget = queue_.pick(hart);
    if (!budget) {
        return;
    }
    std::optional<ThreadId> first;
    std::optional<ThreadId> after_cursor;
    const auto cursor = cursor_.find(*budget);
    for (const auto& [id, thread] : threads_) {
        if (thread.budget != *budget || !thread.ready || thread.on_hart) {
            continue;
        }
        if (!first) {
            first = id;
        }
        if (!after_cursor && (cursor == cursor_.end() || id > cursor->second)) {
            after_cursor = id;
        }
    }
    if (!first) {
        throw std::logic_error("the queue picked a budget without a ready thread");
    }
    const ThreadId id = after_cursor.value_or(*first);
    cursor_[*budget] = id;
    threads_.at(id).on_hart = true;
    h.thread = id;
    h.ran = 0;
    h.slice_end = kForever;
    const auto before = ran_before_[hart];
    if (broken(Mutation::kSwitchBilledToPrevious) && before && queue_.exists(*before)) {
        kernel_now_ += costs_.pick;
        kernel_[*budget] += costs_.pick;
        if (costs_.pick > 0) {
            queue_.bill(hart, *before, costs_.pick);
        }
    } else {
        bill(hart, *budget, costs_.pick, false);
    }
    tell({Event::Kind::kPick, now_, hart, *budget, id});
    next_step(id);
}

void Machine::next_step(ThreadId id) {
    Thread& thread = threads_.at(id);
    if (!thread.has_step) {
        thread.step = thread.program(*this);
        thread.has_step = true;
        thread.step_left = thread.step.run;
    }
}

// Idle harts take the work that an entry left.
void Machine::kick_idle() {
    for (unsigned hart = 0; hart < harts_.size(); ++hart) {
        if (harts_[hart].thread || !queue_.would_pick()) {
            continue;
        }
        kernel_now_ = harts_[hart].user_since > now_ ? harts_[hart].user_since - now_ : 0;
        in_entry_ = true;
        pick(hart);
        harts_[hart].user_since = now_ + kernel_now_;
        const Ticks start = broken(Mutation::kSliceCountsExitWork) ? now_ : harts_[hart].user_since;
        harts_[hart].slice_end = start + kSlice;
        in_entry_ = false;
    }
}

}  // namespace ravelin::model
