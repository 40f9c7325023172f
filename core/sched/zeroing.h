// Frames zeroed by idle harts: who owes it, and who pays (R11, R12).
//
// Rule: a frame that is given back is zeroed by a hart that has nothing to run, without the lock, one frame at a
// time; its timer is set to come at once, so that every interrupt and every wake gets in between. The time
// is the budget's that paid when the frame was freed, or, if that was destroyed, of who pays for its end, and so is
// an entry that finds nothing but that a frame is done. No hart zeroes on its way to user mode but for the
// frames that its own entry takes.
// Bound: a hart that zeroes is a frame's time late for what it is told.
#pragma once

#include "core/kernel.h"

namespace ravelin::sched {

/// The frames a dying budget owes the zeroing of go to who pays for its end, and so does the entry of a hart
/// that zeroed one. Null: nobody pays, and who takes them zeroes them.
[[gnu::noinline, gnu::cold]] void zeroing_lifts(Kernel& kernel, Budget& dying, Budget* payer);

/// The hart has nothing to run: takes an unclean frame out for it. Returns who pays for zeroing it, or null if there
/// is none.
[[gnu::noinline, gnu::cold]] Budget* begin_zeroing(Kernel& kernel, Hart& hart);

/// Zeroes the frame. Without the lock.
[[gnu::noinline, gnu::cold]] void zero_frame(Kernel& kernel, Hart& hart);

/// The hart has the lock again: bills what the frame took, and puts it back.
[[gnu::noinline, gnu::cold]] void end_zeroing(Kernel& kernel, Hart& hart);

}  // namespace ravelin::sched
