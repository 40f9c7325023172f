// Makes a failing sequence small: takes steps out in ever smaller pieces, then makes numbers small.
//
// rapidcheck's own shrinking re-runs a sequence for every number of every step it tries; this one
// takes a few hundred runs for a sequence of two hundred steps. Bound: kTries runs.
#pragma once

#include <functional>

#include "sequence.h"

namespace ravelin::differential {

inline constexpr int kTries = 4000;

/// `fails` answers whether a sequence still fails; `sequence` does. Returns the smallest found.
Sequence shrink(Sequence sequence, const std::function<bool(const Sequence&)>& fails);

}  // namespace ravelin::differential
