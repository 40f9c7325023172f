// The roles that several cases share. Each is a function that Launcher::start takes; the comment lists
// its parameters in order. Work is in ticks, sleep in microseconds.
#pragma once

#include "user/workload/child.h"

namespace ravelin::workload {

/// Works without a call until the window ends, and reports the pieces it did.
///   0 length of a piece   1 threads (0: one)
void spin(Child& child);

/// Works like spin, but not all the time. All times count from the window's start, in microseconds.
///   0 length of a piece   1 begins   2 pauses (0: never)   3 goes on
void spin_gap(Child& child);

/// Works in bursts with a nap behind each until the window ends, and reports the bursts.
///   0 burst   1 nap   2 threads (0: one)   3 a sleep ahead of the first burst
void game(Child& child);

/// Naps a number of times, working behind each nap, and reports the naps.
///   0 naps   1 the first nap   2 what each nap is longer than the one before   3 work
void nap(Child& child);

/// What carve_and_return carves away: all but one of a budget of weight 1000.
inline constexpr u64 kCarved = 999;

/// Works, and at the start of a slice carves kCarved from this process's own budget, the role handle 0, runs to nine
/// tenths of the slice on what is left, and takes it back. Reports how often.
///   0 length of a piece   1 how often at most   2 a slice, in ticks
void carve_and_return(Child& child);

/// Pages that a budget needs for floods of 64 deadlines.
inline constexpr u64 kFloodPages = 256;

/// Floods this process's own budget, the role handle 0, with empty budgets whose deadlines are a microsecond apart, and works
/// behind each flood. Reports nothing and then the floods.
///   0 deadlines a flood   1 work behind a flood
void flood(Child& child);

/// Blocks in a call through its role handle 0 until the handle's stamp is destroyed, and reports when
/// it ran again.
void tie(Child& child);

/// Works without a call until it is killed: the whole life of a process below a role's own budget.
/// Argument: the length of a piece.
void busy(rt::Env& env);

}  // namespace ravelin::workload
