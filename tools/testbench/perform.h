// Performing runs: several at a time, each on a core of its own; those on the host's clock alone.
//
// Invariant: a run on the host's clock never has another of this bench beside it, and one that misses
// a target of time is run once more, alone, before the miss is believed. Bound: every run has its
// case's timeout.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/testbench/judge.h"
#include "tools/testbench/plan.h"

namespace ravelin::testbench {

/// Why a plan is not run here, or nothing.
std::string not_here(const RunPlan& plan);

struct PerformOptions {
    std::filesystem::path root;
    std::optional<std::filesystem::path> traces;  ///< folder that keeps every trace
    unsigned jobs = 1;
    bool progress = false;
    /// Seconds that a run may take, from an earlier one; nothing if none is known.
    std::function<std::optional<double>(const RunPlan&)> expected;
    /// Told of each run as it finishes, one at a time.
    std::function<void(const RunPlan&, const Outcome&)> finished;
};

/// Runs the plans; the outcomes are in the plans' order.
std::vector<Outcome> perform_all(const std::vector<RunPlan>& plans, const PerformOptions& options);

}  // namespace ravelin::testbench
