// Timeouts and deadlines: who waits until when, who pays for it, and which hart's timer is armed
// for it.
//
// A timed item waits in the heap of the budget that pays for it; the payers with an item wait in
// the kernel's heap by their earliest. An item is armed on the hart that runs its payer; one whose
// payer runs nowhere on one hart, an idle one if there is any. A wait that ends before its timeout
// leaves its item behind: a later wait with a later timeout uses it again, and the expiry that
// finds it stale is the waiting budget's. So a call with a timeout costs no heap operation while
// its last item has not passed. Bound: O(log n) of n timed items each; due_for O(harts).
#pragma once

#include "core/kernel.h"

namespace ravelin::timers {

/// Microseconds as ticks, rounded up, so that nothing ends early; kNever if it is further than the
/// clock goes.
Ticks ticks_of(const Kernel& kernel, Micros length);

/// A point of the clock as microseconds since boot, rounded down.
Micros micros_since_boot(const Kernel& kernel, Ticks point);

/// The thread blocks until `until` at most (kNever: for ever). Its process's budget pays.
void start_timeout(Kernel& kernel, Thread& thread, Ticks until);

/// The thread ends: its item goes.
void drop_timeout(Kernel& kernel, Thread& thread);

/// A new budget ends at `when`; its parent pays.
void start_deadline(Kernel& kernel, Budget& budget, Ticks when);

/// The budget ends by another cause, or at its deadline.
void drop_deadline(Kernel& kernel, Budget& budget);

/// Answers what is due at `now`, the instant the entry began: timeouts end waits, deadlines
/// destroy. Each item's time is billed to its payer, and the interval left open is the last one's.
/// True if a budget was destroyed: the hart must pick again.
[[gnu::noinline]] bool expire(Kernel& kernel, Hart& hart, Ticks now);

/// When an item falls due that `hart` is to be armed for; kNever if there is none.
Ticks due_for(const Kernel& kernel, const Hart& hart);

}  // namespace ravelin::timers
