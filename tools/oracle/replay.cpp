#include "tools/oracle/replay.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include <fmt/format.h>

#include "core/abi/calls.h"

namespace ravelin::oracle {

using abi::TraceCause;
using abi::TraceCharge;
using abi::TraceExpiry;
using abi::TraceKind;
using abi::TraceLeave;
using abi::TraceRecord;

namespace {

constexpr std::uint64_t kStride = std::uint64_t{1} << 20;
constexpr std::uint64_t kRuntimeCap = std::uint64_t{1} << 40;
constexpr std::size_t kMaxHarts = 64;
constexpr std::uint16_t kDestroyed = 1;
constexpr std::uint16_t kByDeadline = 1;
constexpr U128 kMost = ~U128{0};

U128 add(U128 a, U128 b) {
    return a > kMost - b ? kMost : a + b;
}

U128 multiply(U128 a, std::uint64_t b) {
    return b != 0 && a > kMost / b ? kMost : a * b;
}

U128 above(U128 a, U128 b) {
    return a > b ? a - b : 0;
}

/// A pass with its exact remainder.
struct Debt {
    U128 pass = 0;
    U128 rem = 0;
};

/// The fold of ticks at a weight that is not 0.
Debt folded(Debt debt, std::uint64_t ticks, std::uint64_t weight) {
    const U128 t = add(debt.rem, multiply(std::min(ticks, kRuntimeCap), kStride));
    return {.pass = add(debt.pass, t / weight), .rem = t % weight};
}

/// Where a queued budget stands among those of its pass.
enum class Queued : std::uint8_t { no, woken, requeued };

struct Budget {
    std::size_t info = 0;  ///< index of its BudgetInfo
    std::uint64_t id = 0;
    std::optional<std::size_t> parent;
    std::vector<std::size_t> children;  ///< living
    std::uint64_t limit = 0;
    std::uint64_t weight = 0;  ///< free
    Debt debt;
    U128 entry = 0;
    bool alive = true;
    bool returned = false;  ///< dying, and its limit is back at its parent
    Queued queued = Queued::no;
    std::uint64_t turn = 0;  ///< woken: the entry; requeued: the number of the requeue
    std::uint64_t waiting = 0;
    std::uint64_t running = 0;
    bool capped = false;
    U128 lag = 0;                   ///< of a capped budget: what it lagged behind the floor
    std::uint64_t carve_due = 0;    ///< weight that a creation must still take from it
    std::uint64_t last = kNowhere;  ///< its last record that set the pass
    std::uint64_t last_charge = kNowhere;
};

struct Hart {
    bool entered = false;
    std::uint64_t left = 0;     ///< time of its last return
    std::uint64_t charged = 0;  ///< its time is charged up to here
    std::optional<std::size_t> runner;
    std::optional<std::size_t> thread_budget;  ///< of the runner record
    std::uint64_t thread = 0;
    bool thread_ended = false;
    std::uint64_t pending = 0;  ///< ticks charged to the runner and not folded
    std::uint64_t slice_end = 0;
    std::optional<std::size_t> run;
};

/// A charge to a budget this hart does not run, to be folded in the same entry.
struct Bill {
    std::size_t budget = 0;
    std::uint64_t ticks = 0;
    std::uint64_t place = 0;
};

/// A raise whose visible results must stand next.
struct Raise {
    bool open = false;
    std::uint64_t cause = 0;  ///< place of the record behind which the floor was raised
    bool rises = false;
    U128 floor = 0;
    struct Lift {
        std::size_t budget = 0;
        U128 pass = 0;
    };
    std::vector<Lift> lifts;
};

struct Destruction {
    bool open = false;
    std::size_t top = 0;
    std::uint64_t place = kNowhere;
    bool by_deadline = false;
    bool raised = false;               ///< its one raise was made
    std::vector<std::size_t> subtree;  ///< of the top, when it began
};

struct Expiry {
    std::uint64_t payer = 0;
    TraceExpiry what{};
    std::uint64_t place = 0;
};

/// The last claim of an interrupt source.
struct Claim {
    std::uint64_t place = 0;
    bool owned = false;
    std::uint64_t receives = 0;  ///< calls up to then that may unmask a source
};

/// What one entry did so far.
struct Entry {
    bool open = false;
    std::uint32_t number = 0;
    std::uint8_t hart = 0;
    std::uint64_t place = 0;  ///< of its enter
    TraceCause cause{};
    std::uint64_t trapped = 0;
    std::uint64_t locked = 0;
    std::optional<std::size_t> interrupted;
    bool first = false;         ///< of its hart
    bool thread_ended = false;  ///< its hart's thread had ended when it began
    bool counts_changed = false;
    bool woke = false;
    bool left_queue = false;           ///< a budget left in the reconcile
    bool raised_behind_wakes = false;  ///< the reconcile is over, and with it its raise
    std::uint64_t last_wake_id = 0;
    std::uint64_t last_wake = kNowhere;
    std::vector<Expiry> expiries;
    std::vector<std::uint64_t> charges;  ///< places, of this hart's time
    std::vector<std::uint64_t> abroad;   ///< places of charges of other harts' user time
    std::vector<Bill> bills;
    bool deadline_destroyed = false;
    std::uint64_t descheduled = kNowhere;
    std::uint64_t folded = kNowhere;  ///< last fold of what this hart's runner had pending
    std::uint64_t folded_ticks = 0;
    std::uint64_t pick = kNowhere;
    std::uint64_t runner = kNowhere;
    std::uint64_t lock_wait = kNowhere;
    std::uint64_t claim = kNowhere;
    std::uint64_t audited = 0;         ///< ticks by which the slice's end moves
    std::vector<std::size_t> counted;  ///< budgets whose counts its leave compares
    std::size_t first_wake = 0;        ///< index of its first Wake
};

class Replayer {
  public:
    Replayer(const Trace& trace, const Options& options) : trace_(trace), options_(options) {
        out_.budgets.reserve(64);
    }

    Replay run() {
        const auto& records = trace_.records;
        for (std::uint64_t at = 0; at < records.size(); ++at) {
            step(at, records[at]);
        }
        finish();
        return std::move(out_);
    }

  private:
    using Places = std::vector<std::uint64_t>;

    const Trace& trace_;
    const Options& options_;
    Replay out_;
    std::vector<Budget> budgets_;
    std::unordered_map<std::uint64_t, std::size_t> by_id_;
    std::vector<std::size_t> queue_;
    std::vector<std::size_t> carving_;  ///< budgets that made a child in this entry
    std::array<Hart, kMaxHarts> harts_;
    std::array<std::uint8_t, 2 * kMaxHarts> last_harts_{};  ///< of entries, by number
    U128 floor_ = 0;
    std::uint64_t floor_place_ = kNowhere;
    std::uint64_t requeues_ = 0;
    std::uint32_t online_ = 0;
    std::uint64_t section_end_ = 0;
    std::uint64_t section_place_ = kNowhere;
    std::uint64_t time_ = 0;  ///< of `start`
    std::unordered_map<std::uint64_t, Claim> sources_;
    std::uint64_t receives_ = 0;
    Entry entry_;
    Raise raise_;
    Destruction destruction_;

    // --- findings ---

    /// Rejects the trace for `check`, decided by `places`, the last of them the one being replayed.
    void reject(const char* check, std::string text, Places places) {
        ++out_.rejected;
        if (out_.findings.size() < options_.max_findings) {
            std::erase(places, kNowhere);
            out_.findings.push_back(
                {.check = check, .text = std::move(text), .records = std::move(places)});
        }
    }

    // --- budgets and the queue ---

    /// The budget a record names; rejects one that was never created or is gone.
    Budget* living(std::uint64_t at, std::uint64_t id) {
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

    std::size_t index_of(const Budget& budget) const {
        return static_cast<std::size_t>(&budget - budgets_.data());
    }

    void put(Budget& budget, Queued how, std::uint64_t turn) {
        if (budget.queued == Queued::no) {
            queue_.push_back(index_of(budget));
        }
        budget.queued = how;
        budget.turn = turn;
    }

    void take(Budget& budget) {
        if (budget.queued != Queued::no) {
            std::erase(queue_, index_of(budget));
        }
        budget.queued = Queued::no;
        budget.capped = false;
    }

    /// Does a rank ahead of b? The four tie clauses, at an equal pass: a waker ahead of a requeued
    /// budget; of two wakers the later entry's; within one entry the lower id; requeued budgets in
    /// the order of their requeues.
    static bool ahead(const Budget& a, const Budget& b) {
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

    /// Checks that a record shows the pass the replay holds, and takes the record's.
    void same_pass(std::uint64_t at, const char* check, Budget& budget, U128 want,
                   const char* rule) {
        const U128 got = wide(trace_.records[at]);
        if (got != want) {
            reject(check,
                   fmt::format("budget {}: pass {} where {} makes {}", budget.id, to_text(got),
                               rule, to_text(want)),
                   {budget.last, budget.last_charge, floor_place_, at});
        }
        budget.debt.pass = got;
        budget.last = at;
    }

    /// The nearest living ancestor of a budget (or itself) that has free weight.
    std::optional<std::size_t> payer_for(std::size_t index) const {
        std::optional<std::size_t> at = index;
        while (at && (!budgets_[*at].alive || budgets_[*at].weight == 0)) {
            at = budgets_[*at].parent;
        }
        return at;
    }

    bool is_below(std::size_t index, std::size_t top) const {
        for (std::optional<std::size_t> at = index; at; at = budgets_[*at].parent) {
            if (*at == top) {
                return true;
            }
        }
        return false;
    }

    // --- the raise ---

    /// The lowest (or highest) pass over budgets, after the lifts a raise found.
    template <class Select>
    std::optional<U128> extreme(bool lowest, Select select) const {
        std::optional<U128> found;
        for (const std::size_t index : queue_) {
            const Budget& budget = budgets_[index];
            if (!select(budget)) {
                continue;
            }
            U128 pass = budget.debt.pass;
            for (const Raise::Lift& lift : raise_.lifts) {
                if (lift.budget == index) {
                    pass = lift.pass;
                }
            }
            if (!found || (lowest ? pass < *found : pass > *found)) {
                found = pass;
            }
        }
        return found;
    }

    /// The cap set, by removing until nothing more qualifies: a budget is out of the shares when its
    /// weight's part of the harts left is more than its threads. Removing one lowers the weight per
    /// hart that is left, so the order of removing does not matter.
    std::vector<std::size_t> cap_set() const {
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

    /// Raises the floor behind record `cause`: what must show is checked against the records next.
    void raise(std::uint64_t cause) {
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
                    const U128 pass = std::max(budget.debt.pass, above(floor_, budget.lag));
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

    /// Ends a raise: what it must have shown by now is missing.
    void close_raise(std::uint64_t at) {
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

    /// Raises behind the reconcile if it is due and was not made; at most once an entry.
    void raise_behind_wakes(std::uint64_t cause) {
        if (entry_.open && !entry_.raised_behind_wakes &&
            (entry_.woke || entry_.left_queue || entry_.counts_changed)) {
            entry_.raised_behind_wakes = true;
            raise(cause);
        }
    }

    // --- one record ---

    void step(std::uint64_t at, const TraceRecord& r) {
        const auto kind = static_cast<TraceKind>(r.kind);
        if (!place_in_order(at, r, kind)) {
            return;
        }
        if (kind == TraceKind::uncap || kind == TraceKind::floor) {
            if (!raise_.open && destruction_.open && !destruction_.raised) {
                destruction_.raised = true;
                raise(at);
            } else if (!raise_.open) {
                raise_behind_wakes(at);
            }
        } else {
            close_raise(at);
            // The reconcile is over at a pick, at the way out, and at a charge that follows its wakes.
            const bool reconciled = kind == TraceKind::pick || kind == TraceKind::leave ||
                                    (kind == TraceKind::charge && entry_.woke);
            if (entry_.open && reconciled) {
                raise_behind_wakes(at);
                close_raise(at);
                entry_.raised_behind_wakes = true;
            }
        }
        switch (kind) {
        case TraceKind::enter: on_enter(at, r); break;
        case TraceKind::leave: on_leave(at, r); break;
        case TraceKind::wake: on_wake(at, r); break;
        case TraceKind::requeue: on_requeue(at, r); break;
        case TraceKind::out: on_out(at, r); break;
        case TraceKind::pass: on_pass(at, r); break;
        case TraceKind::pick: on_pick(at, r); break;
        case TraceKind::uncap: on_uncap(at, r); break;
        case TraceKind::floor: on_floor(at, r); break;
        case TraceKind::counts: on_counts(at, r); break;
        case TraceKind::runner: on_runner(at, r); break;
        case TraceKind::charge: on_charge(at, r); break;
        case TraceKind::top_up: on_top_up(at, r); break;
        case TraceKind::create: on_create(at, r); break;
        case TraceKind::reweigh: on_reweigh(at, r); break;
        case TraceKind::lift: on_lift(at, r); break;
        case TraceKind::destroy_begin: on_destroy_begin(at, r); break;
        case TraceKind::destroy_end: on_destroy_end(at, r); break;
        case TraceKind::expire: on_expire(at, r); break;
        case TraceKind::lock_wait: on_lock_wait(at, r); break;
        case TraceKind::thread_end: on_thread_end(r); break;
        case TraceKind::claim: on_claim(at, r); break;
        case TraceKind::start: time_ = r.x; break;
        case TraceKind::online: ++online_; break;
        case TraceKind::end: on_end(at, r); break;
        case TraceKind::arm: break;
        // Parts of a group: read by its first record.
        case TraceKind::entry_pass: part_of(at, r, TraceKind::create); break;
        case TraceKind::reweighed: part_of(at, r, TraceKind::reweigh); break;
        case TraceKind::lift_work: part_of(at, r, TraceKind::lift); break;
        case TraceKind::lifted: part_of(at, r, TraceKind::lift_work); break;
        case TraceKind::rem: part_of(at, r, TraceKind::reweighed, TraceKind::lifted); break;
        default: reject("structure", fmt::format("no record is of kind {}", r.kind), {at}); break;
        }
    }

    /// Order rules 1 and 2: does the record stand in an entry of its number and hart?
    bool place_in_order(std::uint64_t at, const TraceRecord& r, TraceKind kind) {
        const bool last = at + 1 == trace_.records.size();
        if ((kind == TraceKind::start) != (at == 0) || (kind == TraceKind::end) != last) {
            reject("structure",
                   fmt::format("a trace begins with its only start and ends with its only end, and "
                               "record {} is {}",
                               at, name_of(kind)),
                   {at});
            return kind != TraceKind::start && kind != TraceKind::end;
        }
        if (r.hart >= kMaxHarts || r.hart >= trace_.head.harts) {
            reject("structure", fmt::format("hart {} of {}", r.hart, trace_.head.harts), {at});
            return false;
        }
        if (kind == TraceKind::enter) {
            return true;
        }
        if (!entry_.open) {
            const bool boot = r.entry == 0 && entry_.number == 0;
            if (!boot && kind != TraceKind::end) {
                reject("structure", "a record stands outside of its entry", {entry_.place, at});
            }
            return true;
        }
        const bool abroad =
            kind == TraceKind::charge && r.what == static_cast<std::uint16_t>(TraceCharge::user);
        if (r.entry != entry_.number || (r.hart != entry_.hart && !abroad)) {
            reject("structure",
                   fmt::format("a record of entry {} on hart {} stands within entry {} of hart {}",
                               r.entry, r.hart, entry_.number, entry_.hart),
                   {entry_.place, at});
        }
        return true;
    }

    /// Rejects a record of a group that does not stand behind the group's record before it.
    void part_of(std::uint64_t at, const TraceRecord&, TraceKind before,
                 std::optional<TraceKind> or_before = std::nullopt) {
        const auto previous = static_cast<TraceKind>(trace_.records[at - 1].kind);
        if (previous != before && (!or_before || previous != *or_before)) {
            reject("structure",
                   fmt::format("{} stands behind {}", name_of(kind_at(at)), name_of(previous)),
                   {at - 1, at});
        }
    }

    TraceKind kind_at(std::uint64_t at) const {
        return static_cast<TraceKind>(trace_.records[at].kind);
    }

    /// The record at `at` if it is of that kind and budget; rejects its absence.
    const TraceRecord* member(std::uint64_t at, TraceKind kind, std::uint64_t id,
                              std::uint64_t group) {
        if (at < trace_.records.size() && kind_at(at) == kind && trace_.records[at].id == id) {
            return &trace_.records[at];
        }
        reject("structure", fmt::format("{} of budget {} must stand here", name_of(kind), id),
               {group, std::min<std::uint64_t>(at, trace_.records.size() - 1)});
        return nullptr;
    }

    // --- entries ---

    void on_enter(std::uint64_t at, const TraceRecord& r) {
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
        entry_.thread_ended = hart.thread_ended;
        entry_.first = !hart.entered;
        entry_.first_wake = out_.wakes.size();
        last_harts_[r.entry % last_harts_.size()] = r.hart;
        if (entry_.cause == TraceCause::call && may_unmask(r.what >> 8)) {
            ++receives_;
        }

        if (r.y < r.x || r.x < (hart.entered ? hart.left : time_)) {
            reject(
                "time",
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
                   fmt::format("hart {} ran budget {}, and budget {} was interrupted", r.hart,
                               runner, r.id),
                   {at});
        }
        if (hart.run && hart.runner) {
            Run& run = out_.runs[*hart.run];
            run.trapped = r.x;
            const std::uint64_t late = r.x > hart.slice_end ? r.x - hart.slice_end : 0;
            out_.late_longest = std::max(out_.late_longest, late);
            if (options_.late_ticks && late > *options_.late_ticks) {
                reject("slice",
                       fmt::format("budget {} ran {} ticks past its slice's end at {}", runner,
                                   late, hart.slice_end),
                       {run.began, at});
            }
        }
        hart.entered = true;
    }

    static bool may_unmask(std::uint32_t call) {
        return call == static_cast<std::uint32_t>(abi::Call::receive) ||
               call == static_cast<std::uint32_t>(abi::Call::reply_receive);
    }

    void on_leave(std::uint64_t at, const TraceRecord& r) {
        Hart& hart = harts_[entry_.hart];
        const auto how = static_cast<TraceLeave>(r.what);
        if (r.x < entry_.locked) {
            reject("time", fmt::format("entry {} ends before it took the lock", entry_.number),
                   {entry_.place, at});
        }
        if (entry_.cause != TraceCause::boot) {
            out_.section_longest =
                std::max(out_.section_longest, r.x - std::min(r.x, entry_.locked));
        }
        check_conservation(at, r);
        check_lock_wait(at);
        check_bills(at);
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
        section_end_ = r.x;
        section_place_ = at;
        entry_.open = false;
    }

    static std::uint64_t since(std::uint64_t to, std::uint64_t from) {
        return to > from ? to - from : 0;
    }

    /// Every tick from the hart's last return to this one is in exactly one charge.
    void check_conservation(std::uint64_t at, const TraceRecord& r) {
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
        std::uint64_t before_trap = 0;
        std::uint64_t all = 0;
        bool zeroed = false;
        for (const std::uint64_t place : entry_.charges) {
            const TraceRecord& charge = trace_.records[place];
            const auto what = static_cast<TraceCharge>(charge.what);
            all += charge.x;
            if (what == TraceCharge::user || what == TraceCharge::idle) {
                before_trap += charge.x;
            }
            zeroed = zeroed || what == TraceCharge::zeroing;
        }
        Places places = entry_.charges;
        places.insert(places.begin(), entry_.place);
        places.push_back(at);
        if (all != r.x - from) {
            reject("conservation",
                   fmt::format("{} ticks passed on hart {} and {} are charged", r.x - from,
                               entry_.hart, all),
                   places);
        } else if (!zeroed && before_trap != since(entry_.trapped, from)) {
            reject("conservation",
                   fmt::format("{} ticks passed before the trap on hart {} and {} are charged",
                               since(entry_.trapped, from), entry_.hart, before_trap),
                   places);
        }
    }

    /// A wait for the lock is charged as long as it was, to whoever the hart ran.
    void check_lock_wait(std::uint64_t at) {
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
        // What lies before the point up to which its time was charged from another hart is paid.
        const std::uint64_t paid =
            entry_.first
                ? 0
                : since(std::min(harts_[entry_.hart].charged, entry_.locked), entry_.trapped);
        if (charged != since(waited, paid)) {
            places.push_back(entry_.lock_wait);
            places.push_back(at);
            reject("lock",
                   fmt::format("hart {} waited {} ticks for the lock and {} are charged as that",
                               entry_.hart, since(waited, paid), charged),
                   places);
        }
    }

    /// What was billed to a budget that this hart does not run is folded within the entry.
    void check_bills(std::uint64_t at) {
        for (const Bill& bill : entry_.bills) {
            const Budget& budget = budgets_[bill.budget];
            if (budget.alive) {
                reject("fold",
                       fmt::format("{} ticks billed to budget {} are not folded in the entry",
                                   bill.ticks, budget.id),
                       {bill.place, at});
            }
        }
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

    /// Who pays for a timer interrupt: the items it found, and for the rest the one it found last;
    /// with none, the budget whose slice it ended, else nobody.
    void check_timer(std::uint64_t at, TraceLeave how) {
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
                    reject(
                        "timer",
                        fmt::format("the rest of a timer interrupt goes to budget {}, and the item "
                                    "it found last is budget {}'s",
                                    charge.id, last.payer),
                        {entry_.place, last.place, place, at});
                }
                continue;
            }
            const std::uint64_t interrupted =
                entry_.interrupted ? budgets_[*entry_.interrupted].id : 0;
            const bool ended = how == TraceLeave::slice_end;
            if (ended != (what == TraceCharge::timer) ||
                (ended && !pays_for(interrupted, charge.id))) {
                reject("timer",
                       fmt::format(
                           "a timer interrupt that found nothing and {} budget {}'s slice goes "
                           "to {} ({})",
                           ended ? "ended" : "did not end", interrupted,
                           charge.id == 0 ? "nobody" : fmt::format("budget {}", charge.id),
                           name_of(what)),
                       {entry_.place, place, at});
            }
        }
    }

    /// A device interrupt claims once, unless a deadline took the entry first; its time is the owner's
    /// of the source it claimed. One that claimed nothing is as a timer interrupt that ended no slice.
    void check_interrupt(std::uint64_t at, TraceLeave how) {
        if (entry_.cause != TraceCause::external) {
            return;
        }
        const bool claimed = entry_.claim != kNowhere;
        if (!claimed && !entry_.deadline_destroyed) {
            reject("interrupt", "a device interrupt returned without its claim",
                   {entry_.place, at});
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

    /// May `got` be the payer where `owed` owes? Itself, or the ancestor that stands in for it.
    bool pays_for(std::uint64_t owed, std::uint64_t got) const {
        const auto found = by_id_.find(owed);
        if (owed == got || found == by_id_.end()) {
            return owed == got;
        }
        const auto payer = payer_for(found->second);
        return got == (payer ? budgets_[*payer].id : 0);
    }

    /// Who is queued and who runs, against the counts.
    void check_counts(std::uint64_t at) {
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
                       fmt::format("{} harts run budget {} and its count says {}", running,
                                   budget.id, budget.running),
                       {entry_.place, at});
            }
            if ((budget.queued != Queued::no) != (budget.waiting + budget.running != 0)) {
                reject("queue",
                       fmt::format("budget {} with {} threads waiting and {} running is {}",
                                   budget.id, budget.waiting, budget.running,
                                   budget.queued != Queued::no ? "queued" : "not queued"),
                       {budget.last, entry_.place, at});
            }
        }
    }

    /// How the interrupted thread left, and what goes on.
    void check_leave(std::uint64_t at, const TraceRecord& r, TraceLeave how) {
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
                               descheduled ? "was descheduled" : "was not descheduled",
                               name_of(how)),
                   {entry_.place, entry_.descheduled, at});
        }
        switch (had ? how : TraceLeave::from_idle) {
        case TraceLeave::resumed:
            if (entry_.deadline_destroyed) {
                reject(
                    "preempt",
                    fmt::format("a deadline destroyed a budget in entry {} and budget {} goes on",
                                entry_.number, was),
                    {entry_.place, entry_.expiries.back().place, at});
            }
            if (entry_.cause == TraceCause::timer && entry_.locked >= slice_end) {
                reject("slice",
                       fmt::format("budget {}'s slice ended at {} and its thread goes on at {}",
                                   was, slice_end, r.x),
                       {entry_.place, at});
            }
            break;
        case TraceLeave::slice_end:
            if (r.x < slice_end) {
                reject("preempt",
                       fmt::format(
                           "budget {} lost hart {} at {} to the end of a slice that ends at {}",
                           was, entry_.hart, r.x, slice_end),
                       {entry_.place, entry_.descheduled, at});
            }
            break;
        case TraceLeave::gave_up:
            if (entry_.cause != TraceCause::call && entry_.cause != TraceCause::fault &&
                !entry_.thread_ended && !hart.thread_ended && !dead) {
                reject(
                    "preempt",
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
            reject("structure", "an entry that resumes its thread picks nothing",
                   {entry_.pick, at});
        }
        if (!continues && !picked && r.id != 0) {
            reject("order",
                   fmt::format("budget {} runs on hart {} without a pick", r.id, entry_.hart),
                   {entry_.place, at});
        }
        const std::uint64_t runner =
            hart.runner && budgets_[*hart.runner].alive ? budgets_[*hart.runner].id : 0;
        if (r.id != runner) {
            reject("queue",
                   fmt::format("hart {} leaves for budget {} and budget {} is its runner",
                               entry_.hart, r.id, runner),
                   {entry_.pick, entry_.runner, at});
        }
        check_runner(at, r);
        if (r.id == 0) {
            check_idle(at);
        } else {
            const std::uint64_t want = continues ? slice_end : r.x + trace_.head.slice_ticks;
            if (r.y != want) {
                reject("slice",
                       fmt::format("budget {}'s slice ends at {}, not {}", r.id, want, r.y),
                       {hart.run && continues ? out_.runs[*hart.run].began : entry_.pick, at});
            }
            hart.slice_end = r.y;
        }
    }

    /// The thread that runs on is the one of the last runner record.
    void check_runner(std::uint64_t at, const TraceRecord& r) {
        Hart& hart = harts_[entry_.hart];
        const std::uint64_t known = hart.thread_budget ? budgets_[*hart.thread_budget].id : 0;
        if (known != r.id) {
            reject("structure",
                   fmt::format("hart {} runs budget {} and its last runner record is of budget {}",
                               entry_.hart, r.id, known),
                   {entry_.runner, at});
            const auto found = by_id_.find(r.id);
            hart.thread_budget =
                found == by_id_.end() ? std::nullopt : std::optional(found->second);
        }
        if (r.id != 0 && hart.thread_ended) {
            reject("queue",
                   fmt::format("thread {}.{} has ended and runs on hart {}", hart.thread >> 32,
                               hart.thread & 0xffff'ffff, entry_.hart),
                   {entry_.pick, at});
            hart.thread_ended = false;
        }
    }

    /// A hart goes idle only when no queued budget has a thread that waits for one.
    void check_idle(std::uint64_t at) {
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

    void end_run(std::uint64_t at, TraceLeave how) {
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

    void begin_run(std::uint64_t at, const TraceRecord& r) {
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

    // --- the queue ---

    void on_wake(std::uint64_t at, const TraceRecord& r) {
        Budget* budget = living(at, r.id);
        if (budget == nullptr) {
            return;
        }
        if (budget->queued != Queued::no) {
            reject("queue", fmt::format("budget {} wakes and is queued", r.id), {budget->last, at});
        }
        if (entry_.woke && r.id > entry_.last_wake_id) {
            reject("wake",
                   fmt::format("budget {} wakes behind budget {} in one entry", r.id,
                               entry_.last_wake_id),
                   {entry_.last_wake, at});
        }
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
                              .over_runner = entry_.interrupted.has_value() && hart.run.has_value(),
                              .run = hart.run.value_or(0),
                              .resumed = false,
                              .by_device = entry_.cause == TraceCause::external});
    }

    /// This hart's runner leaves it. Rejects one that was not charged for its run.
    void deschedule(std::uint64_t at, const Budget& budget) {
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

    bool runs_here(const Budget& budget) const {
        return entry_.open && harts_[entry_.hart].runner == index_of(budget);
    }

    void on_requeue(std::uint64_t at, const TraceRecord& r) {
        Budget* budget = living(at, r.id);
        if (budget == nullptr) {
            return;
        }
        if (budget->queued == Queued::no || !runs_here(*budget)) {
            reject("queue",
                   fmt::format("budget {} is requeued by hart {}, which does not run it", r.id,
                               r.hart),
                   {budget->last, at});
        } else {
            deschedule(at, *budget);
        }
        same_pass(at, "fold", *budget, budget->debt.pass, "its last charge");
        put(*budget, Queued::requeued, ++requeues_);
    }

    void on_out(std::uint64_t at, const TraceRecord& r) {
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

    void on_pick(std::uint64_t at, const TraceRecord& r) {
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
                           fmt::format("budget {} is picked, and budget {} ranks ahead of it: {}",
                                       r.id, other.id, why_ahead(other, *budget)),
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

    static std::string why_ahead(const Budget& other, const Budget& budget) {
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

    void on_uncap(std::uint64_t at, const TraceRecord& r) {
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

    void on_floor(std::uint64_t at, const TraceRecord& r) {
        const U128 got = wide(r);
        if (!raise_.open) {
            reject("floor",
                   fmt::format("the floor moves to {} where no raise is due", to_text(got)),
                   {floor_place_, at});
        } else if (!raise_.rises || got != raise_.floor) {
            reject("floor",
                   fmt::format("the floor moves from {} to {} where the rule makes {}",
                               to_text(floor_), to_text(got), to_text(raise_.floor)),
                   {floor_place_, raise_.cause, at});
        }
        raise_.rises = false;
        floor_ = got;
        floor_place_ = at;
    }

    void on_counts(std::uint64_t at, const TraceRecord& r) {
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

    /// Has the leave of this entry compare the budget's counts with the harts and the queue.
    void compare_counts_of(const Budget& budget) {
        const std::size_t index = index_of(budget);
        if (std::find(entry_.counted.begin(), entry_.counted.end(), index) ==
            entry_.counted.end()) {
            entry_.counted.push_back(index);
        }
    }

    /// A count changes for a reason: this hart picked the budget or takes its thread off, or threads
    /// that wait came and went.
    void check_change(std::uint64_t at, const TraceRecord& r, const Budget& budget) {
        bool good = false;
        if (r.y == budget.running) {
            good = r.x != budget.waiting;
        } else if (r.y == budget.running + 1) {
            good = runs_here(budget) && entry_.pick != kNowhere && r.x + 1 == budget.waiting;
        } else if (r.y + 1 == budget.running) {
            good = runs_here(budget) && entry_.pick == kNowhere &&
                   (r.x == budget.waiting || r.x == budget.waiting + 1);
        }
        if (!good) {
            reject(
                "queue",
                fmt::format("budget {} goes from {} threads waiting and {} running to {} and {}, "
                            "and nothing did that",
                            budget.id, budget.waiting, budget.running, r.x, r.y),
                {entry_.place, entry_.pick, at});
        }
    }

    void on_runner(std::uint64_t at, const TraceRecord& r) {
        Hart& hart = harts_[entry_.hart];
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

    // --- charges and folds ---

    void on_charge(std::uint64_t at, const TraceRecord& r) {
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
            reject("charge",
                   fmt::format("budget {} is charged at weight {} and has {}", r.id, r.y,
                               budget->weight),
                   {budget->last, at});
        }
        if (runs_here(*budget)) {
            harts_[entry_.hart].pending += r.x;
        } else if (budget->weight != 0) {
            entry_.bills.push_back({.budget = index_of(*budget), .ticks = r.x, .place = at});
        }
    }

    /// Another hart's runner, or who pays for it once it is destroyed, is charged for its user time up
    /// to now, to be folded before the payer changes or dies.
    void on_charge_abroad(std::uint64_t at, const TraceRecord& r) {
        Hart& hart = harts_[r.hart];
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
        const bool runs = hart.runner == index_of(*budget);
        if (!hart.runner || !pays_for(budgets_[*hart.runner].id, r.id)) {
            reject("charge",
                   fmt::format("hart {}'s user time goes to budget {}, which it does not run",
                               r.hart, r.id),
                   {entry_.place, at});
            return;
        }
        if (r.y != budget->weight) {
            reject("charge",
                   fmt::format("budget {} is charged at weight {} and has {}", r.id, r.y,
                               budget->weight),
                   {budget->last, at});
        }
        if (runs) {
            hart.pending += r.x;
        } else {
            entry_.bills.push_back({.budget = index_of(*budget), .ticks = r.x, .place = at});
        }
    }

    /// Is the payer one that the kind of charge may have?
    void check_payer(std::uint64_t at, const TraceRecord& r, TraceCharge what) {
        const std::uint64_t interrupted = entry_.interrupted ? budgets_[*entry_.interrupted].id : 0;
        std::string owed;
        switch (what) {
        case TraceCharge::user:
        case TraceCharge::call:
        case TraceCharge::fault:
            if (interrupted == 0 || !pays_for(interrupted, r.id)) {
                owed = fmt::format("budget {}", interrupted);
            }
            break;
        case TraceCharge::lock_wait:
            if (!pays_for(interrupted, r.id)) {
                owed = fmt::format("budget {}", interrupted);
            }
            break;
        case TraceCharge::expiry:
        case TraceCharge::destruction: {
            const auto paid = [&](const Expiry& expiry) { return pays_for(expiry.payer, r.id); };
            if (std::none_of(entry_.expiries.begin(), entry_.expiries.end(), paid)) {
                owed = "the payer of an item this entry found";
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
        case TraceCharge::timer:
        case TraceCharge::zeroing: break;
        }
        if (!owed.empty()) {
            reject("charge",
                   fmt::format("{} time goes to {}, and {} owes it", name_of(what),
                               r.id == 0 ? "nobody" : fmt::format("budget {}", r.id), owed),
                   {entry_.place, at});
        }
    }

    void on_top_up(std::uint64_t at, const TraceRecord& r) {
        Hart& hart = harts_[entry_.hart];
        Budget* budget = living(at, r.id);
        if (budget == nullptr) {
            return;
        }
        if (!runs_here(*budget) || hart.pending != 0 || r.x != 1) {
            reject(
                "fold",
                fmt::format("budget {} with {} ticks to be charged on hart {} is topped up by {}",
                            r.id, runs_here(*budget) ? hart.pending : 0, r.hart, r.x),
                {budget->last_charge, at});
        }
        hart.pending += r.x;
    }

    /// Does this fold prepare a creation or a weight change, and so raise no floor?
    bool prepares(std::uint64_t at, std::uint64_t id) const {
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

    void on_pass(std::uint64_t at, const TraceRecord& r) {
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
            reject("fold",
                   fmt::format(
                       "budget {}: pass {} is not {} with remainder {} and the {} ticks it owes "
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

    /// Takes the fold as the exact arithmetic of one thing the budget owes: the first bill of this
    /// entry, or what one hart has pending. False if nothing it owes makes this pass.
    bool settle(std::uint64_t at, Budget& budget, U128 got) {
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

    /// Behind a rejected fold: takes all the budget owes as settled.
    void drop_owed(std::uint64_t at, Budget& budget) {
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

    /// Rejects ticks that must be folded before `what` and are not.
    void must_be_folded(std::uint64_t at, const Budget& budget, const char* what) {
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

    // --- the tree ---

    void on_create(std::uint64_t at, const TraceRecord& r) {
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
            child.parent = index_of(*parent);
            parent->carve_due += r.y;
            parent->children.push_back(budgets_.size());
            carving_.push_back(*child.parent);
            entry = std::max(floor_, parent->debt.pass);
        }
        const TraceRecord* pass = member(at + 1, TraceKind::entry_pass, r.id, at);
        if (pass != nullptr && wide(*pass) != entry) {
            reject(
                "create",
                fmt::format("budget {} enters at {} where max(floor, its parent's pass) is {}",
                            r.id, to_text(wide(*pass)), to_text(entry)),
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

    /// Is the change of a budget's free weight a carve that is due, or the return of a dying child's?
    bool explains(const Budget& budget, std::uint64_t to) {
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

    void on_reweigh(std::uint64_t at, const TraceRecord& r) {
        Budget* budget = living(at, r.id);
        if (budget == nullptr) {
            return;
        }
        ++out_.weight_changes;
        must_be_folded(at, *budget, "its weight changes");
        if (r.x != budget->weight) {
            reject("weight",
                   fmt::format("budget {} has free weight {}, not {}", r.id, budget->weight, r.x),
                   {budget->last, at});
        }
        if (!explains(*budget, r.y)) {
            reject(
                "weight",
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

    /// The pass and the remainder that end a group.
    void check_group(std::uint64_t group, Budget& budget, Debt want, const char* check,
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
                                   budget.id, rem->x, rem->y, rule, to_text(want.rem),
                                   budget.weight),
                       {budget.last, floor_place_, group, at + 1});
            }
            budget.debt.rem = rem->x;
        }
        budget.last = at;
    }

    void on_destroy_begin(std::uint64_t at, const TraceRecord& r) {
        Budget* top = living(at, r.id);
        if (top == nullptr) {
            return;
        }
        if (destruction_.open) {
            reject("destruction", "a destruction begins within another", {destruction_.place, at});
        }
        destruction_ = {.open = true,
                        .top = index_of(*top),
                        .place = at,
                        .by_deadline = r.what == kByDeadline,
                        .raised = false,
                        .subtree = {index_of(*top)}};
        for (std::size_t next = 0; next < destruction_.subtree.size(); ++next) {
            const auto& children = budgets_[destruction_.subtree[next]].children;
            destruction_.subtree.insert(destruction_.subtree.end(), children.begin(),
                                        children.end());
        }
    }

    void die(std::size_t index, std::uint64_t at) {
        Budget& budget = budgets_[index];
        budget.alive = false;
        out_.budgets[budget.info].ended = at;
        if (budget.parent) {
            std::erase(budgets_[*budget.parent].children, index);
        }
    }

    void on_lift(std::uint64_t at, const TraceRecord& r) {
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
            reject(
                "lift",
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
                       fmt::format("budget {} worked {} since its entry, not {}", r.id,
                                   to_text(work), to_text(wide(*told))),
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
            check_group(
                at, parent, {.pass = add(base.pass, t / parent.weight), .rem = t % parent.weight},
                "lift", "the child's work over the parent's weight", TraceKind::lifted, at + 2);
        }
    }

    void on_destroy_end(std::uint64_t at, const TraceRecord& r) {
        if (!destruction_.open || budgets_[destruction_.top].id != r.id) {
            reject("destruction",
                   fmt::format("a destruction of budget {} ends and did not begin", r.id),
                   {destruction_.place, at});
            return;
        }
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

    // --- the rest ---

    void on_expire(std::uint64_t at, const TraceRecord& r) {
        if (r.y < r.x) {
            reject("timer",
                   fmt::format("an item due at {} is found at {}: it ends early", r.x, r.y), {at});
        }
        entry_.expiries.push_back(
            {.payer = r.id, .what = static_cast<TraceExpiry>(r.what), .place = at});
    }

    /// R78: behind fewer sections than harts, and those sections are of as many other harts: were
    /// one of them served twice, or this hart, the lock would not be first come, first served.
    void on_lock_wait(std::uint64_t at, const TraceRecord& r) {
        entry_.lock_wait = at;
        const std::uint64_t runner = trace_.records[entry_.place].id;
        if (r.id != runner && !pays_for(runner, r.id)) {
            reject("lock",
                   fmt::format("budget {} waits for the lock and hart {} runs budget {}", r.id,
                               r.hart, runner),
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

    void on_thread_end(const TraceRecord& r) {
        for (Hart& hart : harts_) {
            if (hart.runner && hart.thread == (r.x << 32 | r.y)) {
                hart.thread_ended = true;
            }
        }
    }

    /// R5: a source that fired is masked until the next receive on it, and for good if no object owns
    /// it. Every device object is the system budget's, which is the second that boot makes.
    void on_claim(std::uint64_t at, const TraceRecord& r) {
        if (entry_.cause != TraceCause::external || entry_.claim != kNowhere) {
            reject("interrupt", "a claim stands outside of a device interrupt, or behind its claim",
                   {entry_.place, entry_.claim, at});
        }
        entry_.claim = at;
        if (r.x == 0) {
            ++out_.lost_claims;
            if (r.id != 0) {
                reject("interrupt",
                       fmt::format("budget {} pays for a claim that found nothing", r.id), {at});
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
        if (owned ? !system_lives || !pays_for(system, r.id)
                  : known && last->second.owned && system_lives) {
            reject("interrupt",
                   fmt::format("source {} is paid for by budget {}, and its owner is budget {}",
                               r.x, r.id, system),
                   {known ? last->second.place : kNowhere, at});
        }
        sources_[r.x] = {.place = at, .owned = owned, .receives = receives_};
    }

    void on_end(std::uint64_t at, const TraceRecord& r) {
        if (r.y != at) {
            reject("structure", fmt::format("the end tells of {} records, {} are there", r.y, at),
                   {at});
        }
        out_.end_kind = r.what;
    }

    void finish() {
        out_.harts_online = online_;
        if (trace_.records.empty() || !out_.end_kind) {
            reject("structure", "the trace has no end", {});
        }
    }
};

}  // namespace

const BudgetInfo* Replay::budget(std::uint64_t id) const {
    const auto found = std::find_if(budgets.begin(), budgets.end(),
                                    [id](const BudgetInfo& info) { return info.id == id; });
    return found == budgets.end() ? nullptr : &*found;
}

Replay replay(const Trace& trace, const Options& options) {
    return Replayer(trace, options).run();
}

Tally tally(const Trace& trace, std::uint64_t first, std::uint64_t last) {
    Tally sum;
    std::uint64_t interrupted = 0;
    bool timer = false;
    for (std::uint64_t at = first; at < last; ++at) {
        const TraceRecord& r = trace.records[at];
        const auto kind = static_cast<TraceKind>(r.kind);
        if (kind == TraceKind::enter) {
            interrupted = r.id;
            timer = static_cast<TraceCause>(r.what & 0xff) == TraceCause::timer && r.id != 0;
        } else if (kind == TraceKind::lock_wait) {
            sum.lock_wait_longest = std::max(sum.lock_wait_longest, r.x);
        } else if (kind == TraceKind::charge && r.what < std::size(sum.by_charge)) {
            const auto what = static_cast<TraceCharge>(r.what);
            sum.hart_ticks += r.x;
            sum.by_charge[r.what] += r.x;
            if (r.id == 0) {
                sum.nobody_by_charge[r.what] += r.x;
            } else if (timer && r.id != interrupted &&
                       (what == TraceCharge::timer || what == TraceCharge::expiry ||
                        what == TraceCharge::destruction)) {
                sum.foreign_timer_ticks += r.x;
            }
        }
    }
    return sum;
}

std::vector<std::string_view> check_names() {
    return {"structure",   "time",  "conservation", "charge", "timer",  "fold",     "floor",
            "cap",         "wake",  "order",        "queue",  "create", "weight",   "lift",
            "destruction", "slice", "preempt",      "lock",   "idle",   "interrupt"};
}

std::string to_text(const Finding& finding, const Trace& trace) {
    std::string text = fmt::format("{}: {}", finding.check, finding.text);
    for (const std::uint64_t place : finding.records) {
        if (place < trace.records.size()) {
            text += "\n    " + describe(place, trace.records[place]);
        }
    }
    return text;
}

}  // namespace ravelin::oracle
