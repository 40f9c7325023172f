// Useful work: what spinners get done of what one alone would, so that a release kernel, which has no trace, can
// be seen to waste little.
#pragma once

#include "user/workload/launcher.h"

namespace ravelin::workload {

/// Counts rounds of a fixed loop until the window ends, and reports them.
void count_rounds(Child& child);

/// Opens a window to children that are all of count_rounds and gives the rounds that they did, per 1000 of
/// those that fit into the window at the pace of a thread that nobody interrupts. One hart.
u64 useful_work(Launcher& launcher, u32 children, Micros length);

}  // namespace ravelin::workload
