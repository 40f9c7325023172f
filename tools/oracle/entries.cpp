// Entries: what each did with its hart and when it let go; see replayer.h.
#include "tools/oracle/replayer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ravelin::oracle::detail {

void Replayer::on_enter(std::uint64_t at, const TraceRecord& r) {
    if (entry_.open) {
        reject("structure", fmt::format("entry {} has no leave", entry_.number),
               {entry_.place, at});
    }
    if (r.entry != entry_.number + 1) {
        reject("structure", fmt::format("entry {} follows entry {}", r.entry, entry_.number),
               {entry_.place, at});
    }
    Hart& hart = harts_[r.hart];
    entry_ = {};
    entry_.open = true;
    entry_.number = r.entry;
    entry_.hart = r.hart;
    entry_.place = at;
    entry_.cause = static_cast<TraceCause>(r.what & 0xff);
    entry_.trapped = r.x;
    entry_.locked = r.y;
    entry_.interrupted = hart.runner;
    entry_.behind_its_end = hart.runner && !budgets_[*hart.runner].alive;
    entry_.thread_ended = hart.thread_ended;
    entry_.first = !hart.entered;
    entry_.first_wake = out_.wakes.size();
    last_harts_[r.entry % last_harts_.size()] = r.hart;
    if (entry_.cause == TraceCause::call && may_unmask(r.what >> 8)) {
        ++receives_;
    }

    if (r.y < r.x || r.x < (hart.entered ? hart.left : time_)) {
        reject("time",
               fmt::format("hart {} trapped at {} and took the lock at {}, and had returned at {}",
                           r.hart, r.x, r.y, hart.entered ? hart.left : time_),
               {at});
    }
    if (r.y < section_end_) {
        reject("time",
               fmt::format("the lock was taken at {} in a section that ended at {}", r.y,
                           section_end_),
               {section_place_, at});
    }
    const std::uint64_t runner = hart.runner ? budgets_[*hart.runner].id : 0;
    const bool dead = hart.runner && !budgets_[*hart.runner].alive;
    if (r.id != runner && !(dead && r.id == 0)) {
        reject("queue",
               fmt::format("hart {} ran budget {}, and budget {} was interrupted", r.hart, runner,
                           r.id),
               {at});
    }
    if (hart.run && hart.runner) {
        Run& run = out_.runs[*hart.run];
        run.trapped = r.x;
        // What its own call held the kernel for past that end is no user time.
        const std::uint64_t due = std::max(hart.slice_end, hart.left);
        const std::uint64_t late = r.x > due ? r.x - due : 0;
        out_.late_longest = std::max(out_.late_longest, late);
        if (options_.late_ticks && late > *options_.late_ticks) {
            reject("slice",
                   fmt::format("budget {} ran {} ticks past its slice's end at {}", runner, late,
                               hart.slice_end),
                   {run.began, at});
        }
    }
    hart.entered = true;
    if (hart.idle) {
        end_idling(at, r.x);
        hart.idle = false;
    }
}

bool Replayer::may_unmask(std::uint32_t call) {
    return call == static_cast<std::uint32_t>(abi::Call::receive) ||
           call == static_cast<std::uint32_t>(abi::Call::reply_receive);
}

void Replayer::tell(std::uint64_t at, std::uint64_t time) {
    if (time > entry_.told) {
        entry_.told = time;
        entry_.told_place = at;
    }
}

void Replayer::on_leave(std::uint64_t at, const TraceRecord& r) {
    Hart& hart = harts_[entry_.hart];
    const auto how = static_cast<TraceLeave>(r.what);
    if (r.x < entry_.locked) {
        reject("time", fmt::format("entry {} ends before it took the lock", entry_.number),
               {entry_.place, at});
    }
    if (r.x < entry_.told) {
        reject("time",
               fmt::format("entry {} ends at {} and tells of {}", entry_.number, r.x, entry_.told),
               {entry_.told_place, at});
    }
    if (entry_.cause != TraceCause::boot) {
        out_.section_longest = std::max(out_.section_longest, r.x - std::min(r.x, entry_.locked));
    }
    check_conservation(at, r);
    check_lock_wait(at);
    check_carves(at);
    check_timer(at, how);
    check_interrupt(at, how);
    check_counts(at);
    check_leave(at, r, how);
    for (std::size_t wake = entry_.first_wake; wake < out_.wakes.size(); ++wake) {
        out_.wakes[wake].resumed = how == TraceLeave::resumed;
    }
    for (const std::uint64_t place : entry_.charges) {
        const TraceRecord& charge = trace_.records[place];
        if (static_cast<TraceCharge>(charge.what) == TraceCharge::user && hart.run) {
            out_.runs[*hart.run].user += charge.x;
        }
    }
    end_run(at, how);
    begin_run(at, r);
    if (destruction_.open) {
        reject("destruction", "a destruction does not end in the entry it began in",
               {destruction_.place, at});
        destruction_ = {};
    }
    hart.left = r.x;
    hart.charged = r.x;
    hart.answered = 0;
    hart.idle = r.id == 0;
    hart.zeroes_for = entry_.zero;
    watch_idle(at, r);
    section_end_ = r.x;
    section_place_ = at;
    entry_.open = false;
}

std::uint64_t Replayer::since(std::uint64_t to, std::uint64_t from) {
    return to > from ? to - from : 0;
}

void Replayer::check_lock_wait(std::uint64_t at) {
    std::uint64_t charged = 0;
    Places places{entry_.place};
    for (const std::uint64_t place : entry_.charges) {
        const auto what = static_cast<TraceCharge>(trace_.records[place].what);
        if (what == TraceCharge::lock_wait || what == TraceCharge::audit_wait) {
            charged += trace_.records[place].x;
            places.push_back(place);
        }
    }
    const std::uint64_t waited =
        entry_.lock_wait == kNowhere ? 0 : trace_.records[entry_.lock_wait].x;
    if (entry_.lock_wait == kNowhere && entry_.locked != entry_.trapped) {
        reject("lock",
               fmt::format("hart {} trapped at {}, waited for nobody and took the lock at {}",
                           entry_.hart, entry_.trapped, entry_.locked),
               {entry_.place, at});
    }
    // What other entries pay for is paid, and what lies before the point up to which its time was charged
    // from another hart.
    const Hart& hart = harts_[entry_.hart];
    const std::uint64_t paid =
        entry_.first || waited == 0
            ? 0
            : since(std::min(hart.charged - hart.answered, entry_.locked), entry_.trapped) +
                  hart.answered;
    if (charged != since(waited, paid)) {
        places.push_back(entry_.lock_wait);
        places.push_back(at);
        reject("lock",
               fmt::format("hart {} waited {} ticks for the lock and {} are charged as that",
                           entry_.hart, since(waited, paid), charged),
               places);
    }
}

void Replayer::check_counts(std::uint64_t at) {
    for (const std::size_t index : entry_.counted) {
        const Budget& budget = budgets_[index];
        if (!budget.alive) {
            continue;
        }
        const auto runs = [index](const Hart& hart) { return hart.runner == index; };
        const auto running =
            static_cast<std::uint64_t>(std::count_if(harts_.begin(), harts_.end(), runs));
        if (running != budget.running) {
            reject("queue",
                   fmt::format("{} harts run budget {} and its count says {}", running, budget.id,
                               budget.running),
                   {entry_.place, at});
        }
        if ((budget.queued != Queued::no) != (budget.waiting + budget.running != 0)) {
            reject("queue",
                   fmt::format("budget {} with {} threads waiting and {} running is {}", budget.id,
                               budget.waiting, budget.running,
                               budget.queued != Queued::no ? "queued" : "not queued"),
                   {budget.last, entry_.place, at});
        }
    }
}

void Replayer::check_leave(std::uint64_t at, const TraceRecord& r, TraceLeave how) {
    Hart& hart = harts_[entry_.hart];
    const bool had = entry_.interrupted.has_value();
    const bool dead = had && !budgets_[*entry_.interrupted].alive;
    const std::uint64_t was = had ? budgets_[*entry_.interrupted].id : 0;
    const bool descheduled = entry_.descheduled != kNowhere || dead;
    const std::uint64_t slice_end = hart.slice_end + entry_.audited;

    if (had != (how != TraceLeave::from_idle)) {
        reject("structure",
               fmt::format("entry {} interrupted {} and left {}", entry_.number,
                           had ? "a thread" : "nothing", name_of(how)),
               {entry_.place, at});
    }
    if (had && (how == TraceLeave::resumed) == descheduled) {
        reject("queue",
               fmt::format("budget {} {} and its thread left {}", was,
                           descheduled ? "was descheduled" : "was not descheduled", name_of(how)),
               {entry_.place, entry_.descheduled, at});
    }
    switch (had ? how : TraceLeave::from_idle) {
    case TraceLeave::resumed:
        if (entry_.deadline_destroyed) {
            reject("preempt",
                   fmt::format("a deadline destroyed a budget in entry {} and budget {} goes on",
                               entry_.number, was),
                   {entry_.place, entry_.expiries.back().place, at});
        }
        if (entry_.cause == TraceCause::timer && entry_.locked >= slice_end) {
            reject("slice",
                   fmt::format("budget {}'s slice ended at {} and its thread goes on at {}", was,
                               slice_end, r.x),
                   {entry_.place, at});
        }
        break;
    case TraceLeave::slice_end:
        if (r.x < slice_end) {
            reject("preempt",
                   fmt::format("budget {} lost hart {} at {} to the end of a slice that ends at {}",
                               was, entry_.hart, r.x, slice_end),
                   {entry_.place, entry_.descheduled, at});
        }
        break;
    case TraceLeave::gave_up:
        if (entry_.cause != TraceCause::call && entry_.cause != TraceCause::fault &&
            !entry_.thread_ended && !hart.thread_ended && !dead) {
            reject("preempt",
                   fmt::format("budget {} lost hart {} at an entry that neither its thread made "
                               "nor ended it",
                               was, entry_.hart),
                   {entry_.place, entry_.last_wake, entry_.descheduled, at});
        }
        break;
    case TraceLeave::preempted:
        if (!entry_.deadline_destroyed) {
            reject("preempt",
                   fmt::format("budget {} lost hart {} and no deadline destroyed anything", was,
                               entry_.hart),
                   {entry_.place, entry_.last_wake, entry_.descheduled, at});
        }
        break;
    case TraceLeave::from_idle: break;
    default: reject("structure", fmt::format("no thread leaves by {}", r.what), {at}); break;
    }

    const bool picked = entry_.pick != kNowhere;
    const bool continues = how == TraceLeave::resumed && had;
    if (continues && picked) {
        reject("structure", "an entry that resumes its thread picks nothing", {entry_.pick, at});
    }
    if (!continues && !picked && r.id != 0) {
        reject("order", fmt::format("budget {} runs on hart {} without a pick", r.id, entry_.hart),
               {entry_.place, at});
    }
    const std::uint64_t runner =
        hart.runner && budgets_[*hart.runner].alive ? budgets_[*hart.runner].id : 0;
    if (r.id != runner) {
        reject("queue",
               fmt::format("hart {} leaves for budget {} and budget {} is its runner", entry_.hart,
                           r.id, runner),
               {entry_.pick, entry_.runner, at});
    }
    check_runner(at, r);
    if (r.id == 0) {
        check_idle(at);
    } else {
        const std::uint64_t want = continues ? slice_end : r.x + trace_.head.slice_ticks;
        if (r.y != want) {
            reject("slice", fmt::format("budget {}'s slice ends at {}, not {}", r.id, want, r.y),
                   {hart.run && continues ? out_.runs[*hart.run].began : entry_.pick, at});
        }
        hart.slice_end = r.y;
    }
}

void Replayer::check_runner(std::uint64_t at, const TraceRecord& r) {
    Hart& hart = harts_[entry_.hart];
    if (!hart.online) {
        reject("structure", fmt::format("hart {} runs and has not come online", entry_.hart),
               {entry_.place, at});
        hart.online = true;
    }
    if (entry_.pick != kNowhere && (entry_.runner == kNowhere || entry_.runner < entry_.pick)) {
        reject("structure", "a pick is not followed by the thread that runs", {entry_.pick, at});
    }
    const std::uint64_t known = hart.thread_budget ? budgets_[*hart.thread_budget].id : 0;
    if (known != r.id) {
        reject("structure",
               fmt::format("hart {} runs budget {} and its last runner record is of budget {}",
                           entry_.hart, r.id, known),
               {entry_.runner, at});
        const auto found = by_id_.find(r.id);
        hart.thread_budget = found == by_id_.end() ? std::nullopt : std::optional(found->second);
    }
    if (r.id != 0 && hart.thread_ended) {
        reject("queue",
               fmt::format("thread {}.{} has ended and runs on hart {}", hart.thread >> 32,
                           hart.thread & 0xffff'ffff, entry_.hart),
               {entry_.pick, at});
        hart.thread_ended = false;
    }
}

void Replayer::on_online(std::uint64_t at, const TraceRecord& r) {
    if (harts_[r.hart].online) {
        reject("structure", fmt::format("hart {} comes online twice", r.hart), {at});
    }
    harts_[r.hart].online = true;
    ++online_;
}

void Replayer::check_idle(std::uint64_t at) {
    for (const std::size_t index : queue_) {
        const Budget& budget = budgets_[index];
        if (budget.waiting != 0) {
            reject("idle",
                   fmt::format("hart {} goes idle and budget {} has {} threads waiting",
                               entry_.hart, budget.id, budget.waiting),
                   {budget.last, entry_.place, at});
            return;
        }
    }
}

void Replayer::watch_idle(std::uint64_t at, const TraceRecord& r) {
    const auto waits = [this](std::size_t index) { return budgets_[index].waiting != 0; };
    const bool idles =
        std::any_of(harts_.begin(), harts_.end(), [](const Hart& h) { return h.idle; });
    const bool past = idles && std::any_of(queue_.begin(), queue_.end(), waits);
    const bool open = !idled_.empty() && idled_.back().until == kNowhere;
    if (past && !open) {
        idled_.push_back({.from = r.x, .place = at, .entry = entry_.number});
    } else if (!past && open) {
        idled_.back().until = r.x;
    }
}

void Replayer::end_idling(std::uint64_t at, std::uint64_t trapped) {
    const bool zeroes = std::any_of(harts_.begin(), harts_.end(),
                                    [](const Hart& h) { return h.idle && h.zeroes_for; });
    for (const Idled& idled : std::exchange(idled_, {})) {
        judge_idling(at, idled, trapped, zeroes);
    }
}

void Replayer::judge_idling(std::uint64_t at, const Idled& idled, std::uint64_t end, bool zeroes) {
    const std::uint64_t ticks = since(std::min(end, idled.until), idled.from);
    out_.idle_past_longest = std::max(out_.idle_past_longest, ticks);
    const std::uint64_t more = zeroes ? options_.zeroing_ticks : 0;
    if (options_.idle_ticks && ticks > *options_.idle_ticks + more) {
        reject("idle",
               fmt::format(
                   "a hart idles for {} ticks and a queued budget has a thread that no hart runs",
                   ticks),
               {idled.place, at});
    }
}

void Replayer::end_run(std::uint64_t at, TraceLeave how) {
    Hart& hart = harts_[entry_.hart];
    const bool lost = entry_.descheduled != kNowhere ||
                      (entry_.interrupted && !budgets_[*entry_.interrupted].alive);
    if (hart.run && lost) {
        out_.runs[*hart.run].lost = at;
        out_.runs[*hart.run].how = how;
        hart.run.reset();
    }
    if (hart.runner && !budgets_[*hart.runner].alive) {
        hart.runner.reset();
        hart.pending = 0;
    }
}

void Replayer::begin_run(std::uint64_t at, const TraceRecord& r) {
    Hart& hart = harts_[entry_.hart];
    if (entry_.pick == kNowhere || !hart.runner) {
        return;
    }
    hart.run = out_.runs.size();
    out_.runs.push_back({.hart = entry_.hart,
                         .budget = budgets_[*hart.runner].id,
                         .thread = hart.thread,
                         .picked = entry_.pick,
                         .began = at,
                         .lost = kNowhere,
                         .user = 0,
                         .slice_end = r.y,
                         .trapped = r.x,
                         .how = TraceLeave::resumed});
}

void Replayer::on_lock_wait(std::uint64_t at, const TraceRecord& r) {
    entry_.lock_wait = at;
    const std::uint64_t runner = trace_.records[entry_.place].id;
    if (r.id != runner && !pays_for(runner, r.id)) {
        reject("lock",
               fmt::format("budget {} waits for the lock and hart {} runs budget {}", r.id, r.hart,
                           runner),
               {entry_.place, at});
    }
    if (r.x != entry_.locked - entry_.trapped) {
        reject("lock",
               fmt::format("hart {} waited {} ticks for the lock, not {}", r.hart,
                           entry_.locked - entry_.trapped, r.x),
               {entry_.place, at});
    }
    if (r.y >= trace_.head.harts || r.y >= entry_.number) {
        reject("lock",
               fmt::format("hart {} waits behind {} sections with {} harts", r.hart, r.y,
                           trace_.head.harts),
               {entry_.place, at});
        return;
    }
    std::uint64_t seen = std::uint64_t{1} << r.hart;
    for (std::uint32_t back = 1; back <= r.y; ++back) {
        const std::uint8_t hart = last_harts_[(entry_.number - back) % last_harts_.size()];
        if ((seen >> hart & 1) != 0) {
            reject("lock",
                   fmt::format("hart {} took the lock twice while hart {} waited behind {} "
                               "sections",
                               hart, r.hart, r.y),
                   {entry_.place, at});
            return;
        }
        seen |= std::uint64_t{1} << hart;
    }
}

void Replayer::on_thread_end(const TraceRecord& r) {
    for (Hart& hart : harts_) {
        if (hart.runner && hart.thread == (r.x << 32 | r.y)) {
            hart.thread_ended = true;
        }
    }
}

}  // namespace ravelin::oracle::detail
