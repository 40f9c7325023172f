// The executable reference of the stride queue (R12), written from the specification alone.
//
// It shares nothing with the kernel: no header, no type, no code. Clarity comes before speed: every
// question (the floor, the cap set, the pick) is answered by a scan over all budgets, and nothing
// is cached. A differential drives it step by step beside the kernel's own queue and compares
// `Budget` (pass, entry, rem, tie, queued, capped, lag), floor(), front(), back(), cap_set(),
// lift_target() and the answers of pick() after every step.
//
// How a kernel entry maps to steps, in this order:
//   run(h, t)              the user time since the hart's last return
//   bill, ready, unready, create, destroy, carve, give_back   the entry's work, in its own order
//   deschedule(h, how)     if the hart's thread leaves the CPU
//   reconcile(h)           once, always
//   pick(h)                if the hart has no runner now
// `slice_end(h)` is the slice end that is handled where the trap is: deschedule, reconcile, pick.
//
// Invariants: a runner's budget is queued; the floor never falls; at one hart no queued budget is
// below the floor and none is capped; the capped budgets' threads total at most harts - 1.
// Bounds: pass, floor and products are 128-bit and saturate; a remainder is below the weight it
// was folded at; a weight is 32-bit. Misuse (an unknown budget, a thread that is not there) throws
// std::logic_error, so a broken driver cannot look like a broken scheduler.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "rules.h"

namespace ravelin::model {

using BudgetId = std::uint64_t;
using Ticks = std::uint64_t;
using Weight = std::uint32_t;
using Pass = unsigned __int128;

inline constexpr Ticks kStride = Ticks{1} << 20;      // pass units of one tick at weight 1
inline constexpr Ticks kRuntimeCap = Ticks{1} << 40;  // most ticks one fold counts
inline constexpr Ticks kMinCharge = 1;                // least ticks a deschedule charges
inline constexpr Pass kPassMax = ~Pass{0};            // where every sum and product saturates

enum class Class { kUser, kSystem };  // trust only; no rule of the unbroken model reads it

// How a thread leaves its hart.
enum class Leave {
    kSliceEnd,   // its slice ended; it stays ready
    kPreempted,  // a deadline's destruction took the hart; it stays ready
    kBlocked,    // it waits for something; not ready
    kExited,     // it ended (exit, fault, kill); not ready
};

// One budget. Everything a differential compares is here.
struct Budget {
    BudgetId id = 0;
    std::optional<BudgetId> parent;
    std::set<BudgetId> children;
    Class cls = Class::kUser;
    Weight limit = 0;
    Weight carved = 0;  // what its children hold; limit - carved is the free weight

    Pass pass = 0;
    Pass entry = 0;  // the pass it was created with
    std::uint64_t rem = 0;
    std::int64_t tie = 0;  // meaningful while queued
    bool queued = false;

    std::uint32_t waiting = 0;  // ready threads that no hart runs
    std::uint32_t running = 0;  // harts that run it

    bool capped = false;
    Pass lag = 0;  // how far it was below the floor of the raise that capped it
    bool changed =
        false;  // its thread counts changed since the last reconcile (a pick is no change)

    // Runnable threads, waiting or on a hart.
    std::uint32_t threads() const { return waiting + running; }
};

// The stride queue, its budgets and its harts. Harts are numbered from 0.
class Scheduler {
  public:
    // `harts`: harts online at the start, at least 1.
    explicit Scheduler(unsigned harts, Rules rules = {});

    // The length of a slice: a lag that outlives the cap is at most that on every hart.
    void set_slice(Ticks slice) { slice_ = slice; }

    // ---- budgets -------------------------------------------------------------------------------

    // A budget without a parent, at max(floor, pass). Ids count from 1 and are never reused; `id`
    // overrides the counter (it must be above every id so far).
    BudgetId create_root(Weight limit, Class cls = Class::kUser, BudgetId id = 0, Pass pass = 0);

    // A child of `parent` with `limit` carved out of the parent's free weight (R7). The parent's
    // pending runtime is folded, the child enters at max(floor, parent's pass), then the carve
    // changes the parent's weight. No raise.
    BudgetId create(BudgetId parent, Weight limit, Class cls = Class::kUser, BudgetId id = 0);

    // Destroys `top` with its subtree (R10's part of R12): its threads are gone, harts that ran one
    // have no runner, the work since entry is lifted bottom-up. One raise at the end. `top` must
    // have a parent. Returns the destroyed ids in the order of their lifts.
    std::vector<BudgetId> destroy(BudgetId top);

    // The same two in their parts, for a driver that follows a kernel's own steps: the child alone,
    // whose carve the caller makes next; and, between begin_destruction and end_destruction, which
    // makes the one raise, each dying budget after its children and after its limit is given back.
    // A bill between the two raises nothing.
    BudgetId enter(BudgetId parent, Weight limit, Class cls = Class::kUser, BudgetId id = 0);
    void begin_destruction() { in_destruction_ = true; }
    void bury(BudgetId dying);
    void end_destruction();

    // A weight change alone: `amount` leaves or returns to the free weight of `budget`, as by a
    // child's creation and destruction. No raise.
    void carve(BudgetId budget, Weight amount);
    void give_back(BudgetId budget, Weight amount);

    // ---- threads -------------------------------------------------------------------------------

    // A thread that no hart runs became ready, or stopped being ready. The queue hears of it at
    // the entry's reconcile.
    void ready(BudgetId budget);
    void unready(BudgetId budget);

    // ---- an entry's steps ----------------------------------------------------------------------

    // Adds `ticks` of user time to the pending runtime of the hart's runner.
    void run(unsigned hart, Ticks ticks);

    // Kernel time billed on `hart` to `payer`: pending if the hart runs it, else folded at once,
    // and the floor raised if the payer is queued. Weight 0 pays nothing.
    void bill(unsigned hart, BudgetId payer, Ticks ticks);

    // The hart's runner leaves the CPU: charged (at least kMinCharge), floor raised while its
    // thread still counts as running, then requeued behind its equals if it has a runnable thread
    // left, else out of the queue (and the floor raised again).
    void deschedule(unsigned hart, Leave how);

    // Once per entry: of the budgets whose counts changed, those without a thread leave, then those
    // that gained one wake in descending id; then, if any count changed in the entry, a destroyed
    // budget's included, the floor is raised. A waker meets the floor as it stood before.
    void reconcile(unsigned hart);

    // The lowest (pass, tie, id) of the queued budgets with a waiting thread becomes the runner of
    // `hart`, which must have none. Returns it, or nothing if the hart idles.
    std::optional<BudgetId> pick(unsigned hart);

    // What pick would answer, without doing it.
    std::optional<BudgetId> would_pick() const;

    // deschedule(kSliceEnd), reconcile and pick in one.
    std::optional<BudgetId> slice_end(unsigned hart);

    // One more hart online; it has no runner. No raise. Returns its index.
    unsigned hart_online();

    // ---- what it holds -------------------------------------------------------------------------

    const Budget& budget(BudgetId id) const;
    bool exists(BudgetId id) const { return budgets_.contains(id); }
    const std::map<BudgetId, Budget>& budgets() const { return budgets_; }
    Weight free_weight(BudgetId id) const;  // limit less carved
    unsigned harts() const { return static_cast<unsigned>(harts_.size()); }
    std::optional<BudgetId> runner(unsigned hart) const { return harts_.at(hart).runner; }
    Ticks pending(unsigned hart) const { return harts_.at(hart).pending; }
    Pass floor() const { return floor_; }
    std::int64_t front() const { return front_; }
    std::int64_t back() const { return back_; }
    std::set<BudgetId> queued() const;
    std::set<BudgetId> cap_set() const;                  // the budgets marked capped
    std::optional<Pass> lift_target(BudgetId id) const;  // where an uncap would lift it now
    const Rules& rules() const { return rules_; }

  private:
    struct Hart {
        std::optional<BudgetId> runner;
        Ticks pending = 0;
    };
    struct Rank {
        int tier;  // always 0 in the unbroken model
        Pass pass;
        std::int64_t tie;
        BudgetId id;
        auto operator<=>(const Rank&) const = default;
    };

    bool broken(Mutation m) const { return rules_.broken(m); }
    Budget& at(BudgetId id);
    BudgetId add(std::optional<BudgetId> parent, Weight limit, Class cls, BudgetId id, Pass pass);
    Weight weight(const Budget& b) const;  // the stride weight
    void fold(Budget& b, Weight w, Ticks ticks) const;
    void fold_pending(Budget& b, Weight w);
    void change_weight(Budget& b, Weight new_carved);
    void lift(const Budget& dying);
    void bury_below(BudgetId id, bool is_top, std::vector<BudgetId>& order);
    void note_change(Budget& b);
    void leave_queue(Budget& b);
    void requeue(Budget& b);
    void wake(Budget& b);
    Rank rank(const Budget& b) const;
    std::set<BudgetId> find_cap_set() const;
    std::vector<Budget*> with_threads();
    Pass kept_lag(const Budget& b) const;
    void raise();

    Rules rules_;
    std::map<BudgetId, Budget> budgets_;
    std::vector<Hart> harts_;
    BudgetId next_id_ = 1;
    Ticks slice_ = kRuntimeCap;
    Pass floor_ = 0;
    std::int64_t front_ = 0;
    std::int64_t back_ = 0;
    bool counts_changed_ = false;  // of any budget, since the last reconcile
    bool in_destruction_ = false;
    std::optional<BudgetId> hidden_wait_;  // set only by a broken block, during its raise
};

}  // namespace ravelin::model
