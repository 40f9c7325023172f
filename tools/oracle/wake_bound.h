// How long a waking budget may wait: what other budgets may run between its wake and its pick
// (docs/scheduling.md, "How long a wake waits", derives the bound).
#pragma once

#include "tools/oracle/replay.h"

namespace ravelin::oracle {

/// The waits of all wakes of a trace.
struct WakeWaits {
    std::uint64_t longest = 0;   ///< ticks from a wake's entry to the return that followed its pick
    std::uint64_t rejected = 0;  ///< all findings, kept or not
    std::vector<Finding>
        findings;  ///< of check `wake_bound`: a budget that ran more than its lead allows
};

/// Holds each wake, up to its budget's pick or end, to its bound: of another budget's user time, in runs
/// picked behind the wake and over before that budget's last pick of the wait,
///
///     ticks <= (the highest pass of the waking budget in the wait - the other's pass at its first pick) *
///              the other's weight / STRIDE, rounded up
///
/// anew from each change of the other's weight. `max_findings` are kept.
WakeWaits wake_waits(const Trace& trace, const Replay& replay, std::size_t max_findings = 3);

}  // namespace ravelin::oracle
