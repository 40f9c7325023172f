// The replay's own state and rules, one room each: order.cpp (the queue, the floor and the cap set),
// tree.cpp (creation, weight changes, destruction), bills.cpp (who pays for what, and the folds),
// entries.cpp (what an entry did with its hart), replay.cpp (the records in turn). Includes nothing
// of the core but its ABI; only those files include this.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/abi/calls.h"
#include "tools/oracle/replay.h"

namespace ravelin::oracle::detail {

using abi::TraceCause;
using abi::TraceCharge;
using abi::TraceExpiry;
using abi::TraceKind;
using abi::TraceLeave;
using abi::TraceRecord;

inline constexpr std::uint64_t kStride = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kRuntimeCap = std::uint64_t{1} << 40;
inline constexpr std::size_t kMaxHarts = 64;
inline constexpr std::uint16_t kDestroyed = 1;
inline constexpr std::uint16_t kByDeadline = 1;
inline constexpr U128 kMost = ~U128{0};

inline U128 add(U128 a, U128 b) {
    return a > kMost - b ? kMost : a + b;
}

inline U128 multiply(U128 a, std::uint64_t b) {
    return b != 0 && a > kMost / b ? kMost : a * b;
}

inline U128 above(U128 a, U128 b) {
    return a > b ? a - b : 0;
}

/// A pass with its exact remainder.
struct Debt {
    U128 pass = 0;
    U128 rem = 0;
};

/// The fold of ticks at a weight that is not 0.
inline Debt folded(Debt debt, std::uint64_t ticks, std::uint64_t weight) {
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
    std::uint64_t unclean = 0;  ///< frames whose zeroing it may owe
};

struct Hart {
    bool entered = false;
    std::uint64_t left = 0;      ///< time of its last return
    std::uint64_t charged = 0;   ///< its time is charged up to here
    std::uint64_t answered = 0;  ///< ticks of the wait it is in that other entries pay for
    std::optional<std::size_t> runner;
    std::optional<std::size_t> thread_budget;  ///< of the runner record
    bool online = false;
    std::uint64_t thread = 0;
    bool thread_ended = false;
    std::uint64_t pending = 0;  ///< ticks charged to the runner and not folded
    std::uint64_t slice_end = 0;
    std::optional<std::size_t> run;
    std::optional<std::size_t>
        zeroes_for;     ///< who pays for the frame it zeroes, or did until this entry
    bool idle = false;  ///< it went idle at its last leave, and has not entered since
};

/// A stretch in which a hart idled and a queued budget had a thread that no hart ran.
struct Idled {
    std::uint64_t from = 0;
    std::uint64_t until = kNowhere;  ///< kNowhere: it goes on
    std::uint64_t place = 0;         ///< of the leave it began with
    std::uint32_t entry = 0;         ///< which is that entry's
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
    bool expired = false;              ///< its deadline's record stands
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
    bool behind_its_end =
        false;           ///< who was interrupted had ended before the trap itself was answered
    bool first = false;  ///< of its hart
    bool thread_ended = false;  ///< its hart's thread had ended when it began
    bool counts_changed = false;
    std::uint64_t told = 0;               ///< the latest time that one of its records tells
    std::uint64_t told_place = kNowhere;  ///< of that record
    bool woke = false;
    bool left_queue = false;           ///< a budget left in the reconcile
    bool raised_behind_wakes = false;  ///< the reconcile is over, and with it its raise
    std::uint64_t last_wake_id = 0;
    std::uint64_t last_wake = kNowhere;
    std::vector<Expiry> expiries;
    std::vector<std::uint64_t> charges;  ///< places, of this hart's time
    std::vector<std::uint64_t> abroad;   ///< places of charges of other harts' user time
    std::optional<std::size_t> zero;     ///< who pays for the frame its hart zeroes behind it
    std::uint64_t answers = 0;           ///< ticks of other harts' answers, which it pays for
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
    std::vector<Idled> idled_;          ///< stretches that no idle hart's entry has ended yet
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
    void reject(const char* check, std::string text, Places places);

    // --- budgets and the queue ---

    /// The budget a record names; rejects one that was never created or is gone.
    Budget* living(std::uint64_t at, std::uint64_t id);

    std::size_t index_of(const Budget& budget) const;

    void put(Budget& budget, Queued how, std::uint64_t turn);

    void take(Budget& budget);

    /// Does a rank ahead of b? The four tie clauses, at an equal pass: a waker ahead of a requeued
    /// budget; of two wakers the later entry's; within one entry the lower id; requeued budgets in
    /// the order of their requeues.
    static bool ahead(const Budget& a, const Budget& b);

    /// Checks that a record shows the pass the replay holds, and takes the record's.
    void same_pass(std::uint64_t at, const char* check, Budget& budget, U128 want,
                   const char* rule);

    /// R7: a budget without free weight holds no process, so that none of its threads may run.
    void has_weight(std::uint64_t at, const Budget& budget, const char* what);

    /// The nearest living ancestor of a budget (or itself) that has free weight.
    std::optional<std::size_t> payer_for(std::size_t index) const;

    bool is_below(std::size_t index, std::size_t top) const;

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
    std::vector<std::size_t> cap_set() const;

    /// Raises the floor behind record `cause`: what must show is checked against the records next.
    void raise(std::uint64_t cause);

    /// Ends a raise: what it must have shown by now is missing.
    void close_raise(std::uint64_t at);

    /// Raises behind the reconcile if it is due and was not made; at most once an entry.
    void raise_behind_wakes(std::uint64_t cause);

    // --- one record ---

    void step(std::uint64_t at, const TraceRecord& r);

    /// Order rules 1 and 2: does the record stand in an entry of its number and hart?
    bool place_in_order(std::uint64_t at, const TraceRecord& r, TraceKind kind);

    /// Rejects a record of a group that does not stand behind the group's record before it.
    void part_of(std::uint64_t at, const TraceRecord&, TraceKind before,
                 std::optional<TraceKind> or_before = std::nullopt);

    TraceKind kind_at(std::uint64_t at) const;

    /// The record at `at` if it is of that kind and budget; rejects its absence.
    const TraceRecord* member(std::uint64_t at, TraceKind kind, std::uint64_t id,
                              std::uint64_t group);

    // --- entries ---

    void on_enter(std::uint64_t at, const TraceRecord& r);

    static bool may_unmask(std::uint32_t call);

    /// Whether this entry is a call that destroys budgets.
    bool destroys() const;

    /// A record of the entry tells of this time, which its leave may not precede.
    void tell(std::uint64_t at, std::uint64_t time);
    void on_leave(std::uint64_t at, const TraceRecord& r);

    static std::uint64_t since(std::uint64_t to, std::uint64_t from);

    /// Every tick from the hart's last return to this one is in exactly one charge.
    void check_conservation(std::uint64_t at, const TraceRecord& r);

    /// A wait for the lock is charged as long as it was, to whoever the hart ran.
    void check_lock_wait(std::uint64_t at);

    /// What was billed to a budget that no hart's pending ticks hold is folded at once, by the record behind
    /// its charge.
    void bills_are_folded(std::uint64_t at);

    /// A parent gave up what its children of this entry were given.
    void check_carves(std::uint64_t at);

    /// A deadline's record is the one of the destruction it began, and its payer is who pays for the parent.
    void check_deadline(std::uint64_t at, const TraceRecord& r);

    /// Who pays for a timer interrupt: the items it found, and for the rest the one it found last;
    /// with none, the budget whose slice it ended, else nobody.
    void check_timer(std::uint64_t at, TraceLeave how);

    /// A device interrupt claims once, unless a deadline took the entry first; its time is the owner's
    /// of the source it claimed. One that claimed nothing is as a timer interrupt that ended no slice.
    void check_interrupt(std::uint64_t at, TraceLeave how);

    /// May `got` be the payer where `owed` owes? Itself, or the ancestor that stands in for it.
    bool pays_for(std::uint64_t owed, std::uint64_t got) const;

    /// Who is queued and who runs, against the counts.
    void check_counts(std::uint64_t at);

    /// How the interrupted thread left, and what goes on.
    void check_leave(std::uint64_t at, const TraceRecord& r, TraceLeave how);

    /// The thread that runs on is the one of the last runner record.
    void check_runner(std::uint64_t at, const TraceRecord& r);

    /// A hart goes idle only when no queued budget has a thread that waits for one.
    void check_idle(std::uint64_t at);

    void end_run(std::uint64_t at, TraceLeave how);

    void begin_run(std::uint64_t at, const TraceRecord& r);

    // --- the queue ---

    void on_wake(std::uint64_t at, const TraceRecord& r);

    /// This hart's runner leaves it. Rejects one that was not charged for its run.
    void deschedule(std::uint64_t at, const Budget& budget);

    bool runs_here(const Budget& budget) const;

    void on_requeue(std::uint64_t at, const TraceRecord& r);

    void on_out(std::uint64_t at, const TraceRecord& r);

    void on_pick(std::uint64_t at, const TraceRecord& r);

    static std::string why_ahead(const Budget& other, const Budget& budget);

    void on_uncap(std::uint64_t at, const TraceRecord& r);

    void on_floor(std::uint64_t at, const TraceRecord& r);

    void on_counts(std::uint64_t at, const TraceRecord& r);

    /// Has the leave of this entry compare the budget's counts with the harts and the queue.
    void compare_counts_of(const Budget& budget);

    /// A count changes for a reason: this hart picked the budget or takes its thread off, or threads
    /// that wait came and went.
    void check_change(std::uint64_t at, const TraceRecord& r, const Budget& budget);

    void on_runner(std::uint64_t at, const TraceRecord& r);
    void on_online(std::uint64_t at, const TraceRecord& r);

    // --- work conservation ---

    /// An idle hart has trapped: what it idled past ends.
    void end_idling(std::uint64_t at, std::uint64_t trapped);

    /// Behind each leave: does a hart idle past a thread that no hart runs?
    void watch_idle(std::uint64_t at, const TraceRecord& r);

    /// Holds a stretch to what one interrupt between harts may take.
    void judge_idling(std::uint64_t at, const Idled& idled, std::uint64_t end, bool zeroes);

    // --- charges and folds ---

    void on_charge(std::uint64_t at, const TraceRecord& r);

    /// Frames were freed while the budget paid.
    void on_freed(std::uint64_t at, const TraceRecord& r);

    /// This hart zeroes a frame from its leave to its next entry.
    void on_zero(std::uint64_t at, const TraceRecord& r);

    /// What a dying budget owes goes to who pays for its end.
    void lift_zeroing(std::size_t dying);

    /// What another hart's answer to a shootdown took goes from its time to this entry's.
    void on_answer(std::uint64_t at, const TraceRecord& r);

    /// Another hart's runner, or who pays for it once it is destroyed, is charged for its user time up
    /// to now, to be folded before the payer changes or dies.
    void on_charge_abroad(std::uint64_t at, const TraceRecord& r);

    /// Is the payer one that the kind of charge may have?
    void check_payer(std::uint64_t at, const TraceRecord& r, TraceCharge what);

    void on_top_up(std::uint64_t at, const TraceRecord& r);

    /// Does this fold prepare a creation or a weight change, and so raise no floor?
    bool prepares(std::uint64_t at, std::uint64_t id) const;

    void on_pass(std::uint64_t at, const TraceRecord& r);

    /// Takes the fold as the exact arithmetic of one thing the budget owes: the first bill of this
    /// entry, or what one hart has pending. False if nothing it owes makes this pass.
    bool settle(std::uint64_t at, Budget& budget, U128 got);

    /// Behind a rejected fold: takes all the budget owes as settled.
    void drop_owed(std::uint64_t at, Budget& budget);

    /// Rejects ticks that must be folded before `what` and are not.
    void must_be_folded(std::uint64_t at, const Budget& budget, const char* what);

    // --- the tree ---

    void on_create(std::uint64_t at, const TraceRecord& r);

    /// Is the change of a budget's free weight a carve that is due, or the return of a dying child's?
    bool explains(const Budget& budget, std::uint64_t to);

    void on_reweigh(std::uint64_t at, const TraceRecord& r);

    /// The pass and the remainder that end a group.
    void check_group(std::uint64_t group, Budget& budget, Debt want, const char* check,
                     const char* rule, TraceKind kind, std::uint64_t at);

    void on_destroy_begin(std::uint64_t at, const TraceRecord& r);

    void die(std::size_t index, std::uint64_t at);

    void on_lift(std::uint64_t at, const TraceRecord& r);

    void on_destroy_end(std::uint64_t at, const TraceRecord& r);

    // --- the rest ---

    void on_expire(std::uint64_t at, const TraceRecord& r);

    /// R78: behind fewer sections than harts, and those sections are of as many other harts: were
    /// one of them served twice, or this hart, the lock would not be first come, first served.
    void on_lock_wait(std::uint64_t at, const TraceRecord& r);

    void on_thread_end(const TraceRecord& r);

    /// R5: a source that fired is masked until the next receive on it, and for good if no object owns
    /// it. Every device object is the system budget's, which is the second that boot makes.
    void on_claim(std::uint64_t at, const TraceRecord& r);

    void on_end(std::uint64_t at, const TraceRecord& r);

    void finish();
};

}  // namespace ravelin::oracle::detail
