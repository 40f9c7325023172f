// The rule set of the scheduler model and the mutations that break it, one rule each (R12).
//
// The model runs unbroken with `Rules{}`. `Rules{Mutation::kX}` is the same model with one rule
// replaced by the wrong rule named X; the checks of tests/model must notice every one of them, and
// a differential beside core/stride must disagree with every one that `seen_by_stride` marks.
// Invariant: a mutation changes one decision and nothing else; it never throws by itself.
// Bound: one mutation at a time.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace ravelin::model {

// The first 35 are those of the specification's list, in its order and by its names; then two more
// that it names in passing, and three that searches for gains found.
enum class Mutation {
    kNone,
    kPriorityById,
    kIgnoreWeight,
    kWakeBanksCredit,
    kTieQueuedFirst,
    kRequeueAhead,
    kRequeueLifo,
    kPreemptOnWake,
    kTimeoutWakePreempts,
    kNoFloorWhenIdle,
    kShortRunsFree,
    kDropRemainder,
    kExitRunsFree,
    kDestroyDropsDebt,
    kCreateAtFloorOnly,
    kLiftByMax,
    kStrideWeightIsLimit,
    kUnnormalizedLift,
    kLiftCountsEntryWait,
    kFoldAtNewWeight,
    kNoMinimumCharge,
    kRescaleOnlyOnReturn,
    kDeadlineWorkUnbilled,
    kSliceCountsExitWork,
    kTimerWorkUnbilled,
    kSwitchBilledToPrevious,
    kCappedHoldsFloor,
    kCapOnce,
    kAllCappedHoldsFloor,
    kUncapBanksCredit,
    kOneRunnerPerBudget,
    kSpreadChargesOnce,
    kUncapForfeitsWait,
    kEmptyHoldsFloor,
    kRequeueWaitsForCap,
    kBlockLeavesAsRequeued,
    kSystemClassRanksFirst,
    kTimerArmedOnAnyHart,
    kWaiterIsCapped,
    kDestroyForgetsOtherHarts,
    kUncapKeepsAnyLag,
};

// The rule set a Scheduler or a Machine follows.
struct Rules {
    Mutation mutation = Mutation::kNone;

    // True if `m` is the rule that is broken.
    constexpr bool broken(Mutation m) const { return mutation == m; }
};

struct MutationInfo {
    Mutation mutation;
    std::string_view name;
    bool seen_by_stride;      // the steps of the Scheduler class alone show it
    std::string_view breaks;  // what is wrong in the broken model
};

inline constexpr std::array kMutations = {
    MutationInfo{Mutation::kPriorityById, "PriorityById", true,
                 "the lower id runs before any pass"},
    MutationInfo{Mutation::kIgnoreWeight, "IgnoreWeight", true, "every fold divides by 1"},
    MutationInfo{Mutation::kWakeBanksCredit, "WakeBanksCredit", true,
                 "a waker keeps a pass below the floor"},
    MutationInfo{Mutation::kTieQueuedFirst, "TieQueuedFirst", true,
                 "a waker ranks behind its equals"},
    MutationInfo{Mutation::kRequeueAhead, "RequeueAhead", true,
                 "a requeued budget ranks ahead of its equals"},
    MutationInfo{Mutation::kRequeueLifo, "RequeueLifo", true,
                 "of two requeued equals the later runs first"},
    MutationInfo{Mutation::kPreemptOnWake, "PreemptOnWake", true,
                 "an entry that wakes a budget preempts its hart"},
    MutationInfo{Mutation::kTimeoutWakePreempts, "TimeoutWakePreempts", false,
                 "an expired timeout preempts the entering thread"},
    MutationInfo{Mutation::kNoFloorWhenIdle, "NoFloorWhenIdle", true,
                 "the floor is forgotten when the queue empties"},
    MutationInfo{Mutation::kShortRunsFree, "ShortRunsFree", true,
                 "a run shorter than 512 ticks costs nothing"},
    MutationInfo{Mutation::kDropRemainder, "DropRemainder", true, "a fold keeps no remainder"},
    MutationInfo{Mutation::kExitRunsFree, "ExitRunsFree", true,
                 "a run that ends in an exit costs nothing"},
    MutationInfo{Mutation::kDestroyDropsDebt, "DestroyDropsDebt", true,
                 "a destruction lifts nothing"},
    MutationInfo{Mutation::kCreateAtFloorOnly, "CreateAtFloorOnly", true,
                 "a child enters at the floor, not at its parent's pass"},
    MutationInfo{Mutation::kLiftByMax, "LiftByMax", true,
                 "a lift hides under the parent's own lead"},
    MutationInfo{Mutation::kStrideWeightIsLimit, "StrideWeightIsLimit", true,
                 "the queue weighs a budget by its limit"},
    MutationInfo{Mutation::kUnnormalizedLift, "UnnormalizedLift", true,
                 "a lift adds the child's raw lead"},
    MutationInfo{Mutation::kLiftCountsEntryWait, "LiftCountsEntryWait", true,
                 "a lift counts the lead the child entered with"},
    MutationInfo{Mutation::kFoldAtNewWeight, "FoldAtNewWeight", true,
                 "a weight change folds at the new weight"},
    MutationInfo{Mutation::kNoMinimumCharge, "NoMinimumCharge", true,
                 "a run of no ticks costs nothing"},
    MutationInfo{Mutation::kRescaleOnlyOnReturn, "RescaleOnlyOnReturn", true,
                 "a carve leaves the lead as it is"},
    MutationInfo{Mutation::kDeadlineWorkUnbilled, "DeadlineWorkUnbilled", false,
                 "a deadline's destruction is billed to nobody"},
    MutationInfo{Mutation::kSliceCountsExitWork, "SliceCountsExitWork", false,
                 "a slice starts when the kernel is entered"},
    MutationInfo{Mutation::kTimerWorkUnbilled, "TimerWorkUnbilled", false,
                 "an expired timeout is billed to nobody"},
    MutationInfo{Mutation::kSwitchBilledToPrevious, "SwitchBilledToPrevious", false,
                 "pick and switch are billed to the budget that ran before"},
    MutationInfo{Mutation::kCappedHoldsFloor, "CappedHoldsFloor", true,
                 "the floor counts the capped budgets"},
    MutationInfo{Mutation::kCapOnce, "CapOnce", true,
                 "only the heaviest budget is tested for the cap"},
    MutationInfo{Mutation::kAllCappedHoldsFloor, "AllCappedHoldsFloor", true,
                 "the floor holds while every budget is capped"},
    MutationInfo{Mutation::kUncapBanksCredit, "UncapBanksCredit", true,
                 "a budget that leaves the cap set is not lifted"},
    MutationInfo{Mutation::kOneRunnerPerBudget, "OneRunnerPerBudget", true,
                 "a budget runs on one hart at most"},
    MutationInfo{Mutation::kSpreadChargesOnce, "SpreadChargesOnce", true,
                 "of a budget's harts only the lowest charges it"},
    MutationInfo{Mutation::kUncapForfeitsWait, "UncapForfeitsWait", true,
                 "a budget that leaves the cap set goes to the floor, whatever it lagged when it "
                 "was capped"},
    MutationInfo{Mutation::kEmptyHoldsFloor, "EmptyHoldsFloor", true,
                 "a queued budget with no thread counts for weights and floor"},
    MutationInfo{Mutation::kRequeueWaitsForCap, "RequeueWaitsForCap", true,
                 "a slice end's own requeue counts as a wait"},
    MutationInfo{Mutation::kBlockLeavesAsRequeued, "BlockLeavesAsRequeued", true,
                 "a block hides its waiting sibling as if it were the requeued thread"},
    MutationInfo{Mutation::kSystemClassRanksFirst, "SystemClassRanksFirst", true,
                 "the system class ranks before any pass"},
    MutationInfo{Mutation::kTimerArmedOnAnyHart, "TimerArmedOnAnyHart", false,
                 "a timed item is armed on every hart"},
    MutationInfo{Mutation::kWaiterIsCapped, "WaiterIsCapped", true,
                 "a budget with a thread waiting for a hart is capped too"},
    MutationInfo{Mutation::kDestroyForgetsOtherHarts, "DestroyForgetsOtherHarts", false,
                 "a destruction drops a run in flight on another hart"},
    MutationInfo{Mutation::kUncapKeepsAnyLag, "UncapKeepsAnyLag", true,
                 "a budget that leaves the cap set keeps a lag of any length"},
};

}  // namespace ravelin::model
