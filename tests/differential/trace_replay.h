// Replays the trace of a whole kernel on the model, step for step.
//
// The records say what happened: who ran how long, who was billed, created, destroyed, woken. The
// model makes each step by its own rules and must come to every pass, remainder, count, floor, pick
// and membership that the trace tells, before the next step. Bound: one pass over the trace; each
// step compares all budgets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/abi/trace.h"
#include "rules.h"

namespace ravelin::differential {

/// Where kernel and model part.
struct Parting {
    std::size_t record = 0;  ///< place of the record at which it shows
    std::string what;        ///< the first thing that differs, the kernel's value first
};

/// What a replay met, so that a program that stopped making something shows.
struct Replayed {
    std::uint64_t steps = 0;
    std::uint64_t picks = 0;
    std::uint64_t wakes = 0;
    std::uint64_t creations = 0;
    std::uint64_t destructions = 0;
    std::uint64_t bills = 0;
    std::uint64_t uncaps = 0;
};

/// Replays a whole trace, `start` to `end`. Nothing: they agreed throughout.
std::optional<Parting> replay_on_model(std::span<const abi::TraceRecord> trace,
                                       model::Rules rules = {}, Replayed* met = nullptr);

}  // namespace ravelin::differential
