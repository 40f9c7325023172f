// Drives the wired core and the model through one sequence and compares them after every step.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "rules.h"
#include "sequence.h"

namespace ravelin::differential {

struct Disagreement {
    std::size_t step = 0;  // place in the sequence
    std::string what;      // the first thing that differs, the core's value first
};

/// What the run met, so that a generator that stopped making something shows.
struct Met {
    std::uint64_t steps = 0;  // made, each compared at least once
    std::uint64_t creations = 0;
    std::uint64_t leaves = 0;       // destructions of a budget without children that no hart ran
    std::uint64_t running = 0;      // destructions of a budget that a hart ran
    std::uint64_t subtrees = 0;     // destructions of a budget with children
    std::uint64_t turns = 0;        // slice ends taken in one step
    std::uint64_t round_trips = 0;  // slice ends taken in several
    std::uint64_t preemptions = 0;
    std::uint64_t picks = 0;
    std::uint64_t caps = 0;  // steps with a capped budget
    std::uint64_t uncaps = 0;
    std::uint64_t arrivals = 0;      // of harts
    std::uint64_t equal_passes = 0;  // picks with another waiting budget at the same pass
    std::uint64_t empty = 0;         // steps that ended with an empty queue

    void add(const Met& other);
    bool everything(std::uint32_t harts) const;
};

/// Runs the sequence under the model's rules. Nothing: they agreed throughout.
std::optional<Disagreement> run(const Sequence& sequence, model::Rules rules = {},
                                Met* met = nullptr);

}  // namespace ravelin::differential
