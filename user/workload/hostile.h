// A role that does at random what a hostile program can do to the scheduler.
#pragma once

#include "user/workload/child.h"

namespace ravelin::workload {

/// Budgets below its own that one hostile child keeps at a time.
inline constexpr u32 kHostileBudgets = 6;

/// Pages beside those of its own process that a hostile child's budget needs.
u64 hostile_pages();

/// Until the window ends: works, naps, polls; makes budgets below its own with and without processes,
/// with and without a deadline, from a part of its weight; destroys them with their runners; starts
/// threads that work, nap or end; has processes exit and fault. What it does next, and how much of
/// it, is drawn from the kernel's random numbers, so a run follows from its seed. What the kernel
/// refuses for want of room is left undone. Role handle 0: its own budget. Reports what it did.
///   0 a slice in ticks
void hostile(Child& child);

}  // namespace ravelin::workload
