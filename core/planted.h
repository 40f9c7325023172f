// Faults that tests plant in the core, one at a time: a row of the payer table moved to a wrong
// payer, or a rule of the scheduler removed.
//
// Rule: only a build with RAVELIN_PLANTED, made by tests from a checked kernel, can break anything;
// there the test that links the core defines `plan`. In every other build payer() is its second
// argument and broken() is false, at compile time, and nothing of either is left. Invariant: a row
// or a rule is asked for where the core keeps it, and nowhere else. Bound: one row and one rule.
#pragma once

#include "core/types.h"

namespace ravelin::planted {

/// The payer table (R12): kinds of time, and who pays for each.
enum class Row : u8 {
    none,
    user,              ///< the runner
    call,              ///< the caller
    call_destruction,  ///< a destruction by call: the caller
    fault,             ///< the faulting thread's budget
    timeout,           ///< an expired timeout: its thread's budget
    stale,             ///< a wait that ended before its timeout: its thread's budget
    deadline,          ///< a deadline's destruction: the parent
    rest,              ///< the rest of an entry that found any of them: the last one's payer
    slice_end,         ///< a timer interrupt that ends a slice: that budget
    nothing,           ///< one that found nothing: nobody
    kick,              ///< a software interrupt that found nothing: nobody
    lock_wait,         ///< the waiting hart's runner
    idle_wait,         ///< a lock wait from idle: nobody
    pick,              ///< the budget picked
    no_pick,           ///< a pick of nothing: nobody
    idle,              ///< nobody
    interrupt,         ///< a device interrupt: its device's owner
    lost_claim,        ///< one that another hart had taken: nobody
    zeroing,           ///< a frame zeroed by an idle hart: who paid when it was freed
    shootdown,         ///< an answer to a shootdown: the payer of the entry that asked
    count,
};

/// The scheduler's rules that can be removed (R12).
enum class Rule : u8 {
    none,
    // Kept by core/stride, and by its wiring.
    fold_by_weight,         ///< a fold divides by the free weight
    remainder_kept,         ///< a fold carries its remainder
    runtime_cap,            ///< a fold counts at most RUNTIME_CAP
    least_charge,           ///< a slice end charges at least MIN_CHARGE
    lead_follows_carve,     ///< a lower weight raises the lead
    lead_follows_return,    ///< a higher weight lowers it
    below_owes_nothing,     ///< a budget below the floor comes to it when its weight changes
    lift_from_entry,        ///< a lift counts only work since the entry
    lift_by_weights,        ///< a lift goes from the child's weight to the parent's
    lift_from_floor,        ///< a parent below the floor starts from it
    wake_floor,             ///< a waker enters at no less than the floor
    wakers_first,           ///< a waker ranks ahead of its requeued equals
    later_wakers_first,     ///< of two wakers the later ranks first
    requeued_last,          ///< a requeued budget ranks behind its equals
    requeued_in_order,      ///< requeued equals keep their order
    ties_start_anew,        ///< the tie counters start again when the queue is empty
    lowest_first,           ///< the lowest rank is picked
    floor_only_rises,       ///< it never falls
    floor_without_capped,   ///< capped budgets hold the floor down for nobody
    floor_of_all_capped,    ///< with all capped it is the highest pass
    floor_without_threads,  ///< a budget without threads holds no floor
    floor_of_threadless,    ///< unless there is no other
    leave_raises,           ///< the last budget's leave raises the floor
    cap_is_strict,          ///< a budget with just its share is not capped
    cap_goes_on,            ///< the next heaviest is tested when one is capped
    cap_takes_out,          ///< with the harts and the weight of those capped taken out
    cap_stays_tested,       ///< a capped budget is tested though a thread of it waits
    cap_ends_with_queue,    ///< a capped budget that leaves the queue loses the mark
    uncap_lifts,            ///< what stops being capped is lifted by what the floor rose
    uncap_keeps_lag,        ///< but keeps the lag it had
    lag_behind_raise,       ///< which is that behind the floor that leaves it out
    lag_is_bounded,         ///< and no more than what a slice on every hart moves it
    stop_is_change,         ///< the reconcile judges the cap set behind a requeue
    sum_follows_weight,     ///< the queue's sum of weights follows a weight change
    deschedule_least,       ///< a deschedule charges at least MIN_CHARGE
    // Kept by core/sched and core/object, and seen only in a whole kernel.
    child_from_parent,      ///< a child enters at no less than its parent's pass
    child_from_floor,       ///< and no less than the floor
    parent_charged_first,   ///< which is charged first
    fold_before_reweigh,    ///< what ran at the old weight is charged at it
    charged_while_running,  ///< a deschedule charges while its thread counts as running
    charge_raises,          ///< a charge raises the floor
    wakes_by_id,            ///< an entry's wakes go by descending id
    destruction_raises,     ///< a destruction ends with a raise
    dying_charged,          ///< a dying budget is charged for what its harts ran until now
    dying_lifted,           ///< its work moves to its parent
    weight_returns_first,   ///< a destruction's top returns its weight before its work is billed
    turns_go_round,         ///< a budget's threads take turns
    wake_keeps_runner,      ///< a timeout's wake takes no hart from its runner
    deadline_preempts,      ///< a deadline's destruction does
    slice_from_return,      ///< a slice is user time: it starts at the return
    idle_is_kicked,         ///< an idle hart is told of a thread that no hart runs
    count,
};

/// The first rule that only a whole kernel shows.
inline constexpr Rule kFirstOfKernel = Rule::child_from_parent;

#if RAVELIN_PLANTED

#if !RAVELIN_CHECKED
#error "RAVELIN_PLANTED is for checked builds: a release keeps every rule"
#endif

struct Plan {
    Row row = Row::none;
    Rule rule = Rule::none;
};

/// What is broken. Defined by the test.
extern Plan plan;

inline bool broken(Rule rule) {
    return plan.rule == rule;
}

template <class Payer>
Payer* payer(Row row, Payer* right, Payer* wrong) {
    return plan.row == row ? wrong : right;
}

inline bool moved(Row row) {
    return plan.row == row;
}

#else

/// True if this build lacks the rule.
[[gnu::always_inline]] constexpr bool broken(Rule) {
    return false;
}

/// Who pays for a row: `right`, or `wrong` in a build that has moved it. Null: nobody.
template <class Payer>
[[gnu::always_inline]] constexpr Payer* payer(Row, Payer* right, Payer*) {
    return right;
}

/// True if this build has moved the row to a wrong payer; for a row without a place for payer().
[[gnu::always_inline]] constexpr bool moved(Row) {
    return false;
}

#endif

/// Whether timers are armed while the lock is held (core/port.h forbids it): a whole image with that
/// fault, which the build option RAVELIN_ARM_UNDER_LOCK makes.
#if RAVELIN_ARM_UNDER_LOCK
#if !RAVELIN_CHECKED
#error "RAVELIN_ARM_UNDER_LOCK is for checked builds: a release arms no timer under the lock"
#endif
inline constexpr bool kArmUnderLock = true;
#else
inline constexpr bool kArmUnderLock = false;
#endif

}  // namespace ravelin::planted
