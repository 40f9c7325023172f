// The scheduler's named calls: billing, thread states, reconcile, pick and slice end. The glue from
// the kernel to the stride queue (R12).
//
// Every entry accrues its hart's time into intervals, each billed to one payer; intervals are
// contiguous, each closing at the tick the next opens. Threads that become ready or cease to be
// change their budget's counts at once and mark it; the entry's one reconcile, as it leaves, takes
// budgets without threads out of the queue and wakes those that gained one.
#pragma once

#include "core/kernel.h"

namespace ravelin::sched {

// Billing.

/// Says who pays the interval that is open already.
inline void set_payer(Hart& hart, Budget* payer, abi::TraceCharge reason) {
    hart.payer = payer;
    hart.reason = reason;
}

/// Bills `ticks` of the hart's time to its payer: pending if it is the hart's runner, else folded
/// at once.
[[gnu::noinline]] void pay(Kernel& kernel, Hart& hart, Ticks ticks);

/// Closes the hart's open interval at `now`, billing it to its payer, and opens the next for
/// `payer` (null: nobody).
inline void bill(Kernel& kernel, Hart& hart, Ticks now, Budget* payer, abi::TraceCharge reason) {
    if (now > hart.since) {
        Ticks ticks = now - hart.since;
        hart.since = now;
        if (!trace::kOn && hart.payer == hart.runner && hart.runner != nullptr) {
            hart.pending += ticks;
        } else if (trace::kOn || hart.payer != nullptr) {
            pay(kernel, hart, ticks);
        }
    }
    set_payer(hart, payer, reason);
}

/// Folds what every hart that runs the budget has pending, so that it counts at the weight it ran
/// at.
void fold_pending(Kernel& kernel, Hart& self, Budget& budget);

// Budgets.

/// A new child's place in time: from its parent's pass, or the floor.
void enter_tree(Kernel& kernel, Hart& self, Budget& child);

/// The budget's free weight has changed by a carve or a carve returned: what it owes follows.
void reweigh(Kernel& kernel, Hart& self, Budget& budget);

/// A dying budget leaves the queue and its work since entry moves to its parent. Its harts' runners
/// become null; what they run on until they notice, `payer` pays.
void lift_and_remove(Kernel& kernel, Hart& self, Budget& dying, Budget* payer);

/// After a destruction: the floor takes what it left.
void destruction_done(Kernel& kernel, Hart& self);

/// Who pays for work done for the budget: it, or the nearest ancestor with free weight.
Budget* payer_for(Budget* budget);

// Threads.

/// A thread that waited may run.
void make_ready(Kernel& kernel, Hart& self, Thread& thread);

/// The thread that hart `self` runs leaves it at the end of this entry.
void give_up(Hart& self, bool stays_ready, Leave how);

/// A thread that is about to end, in whatever state, is out of the scheduler's books; a hart that
/// runs it lets go.
void forget(Kernel& kernel, Hart& self, Thread& thread);

/// Checked builds: holds the law of ledger.h at the end of an entry, at `now`, when the hart's own
/// time is billed.
#if RAVELIN_CHECKED
void check_ledger(const Kernel& kernel, Ticks now);
#else
inline void check_ledger(const Kernel&, Ticks) {}
#endif

// The way out of every entry.

/// Deschedules the hart's thread if it gives up, reconciles, picks if the hart has no thread, and
/// says what it resumes.
Port::Context* leave(Kernel& kernel, Hart& hart);

/// `payer`, or who pays for its end, owes the zeroing of the frames that were freed since the last call (zeroing.h).
[[gnu::noinline, gnu::cold]] void owe_freed(Kernel& kernel, Hart& hart, Budget* payer);

}  // namespace ravelin::sched
