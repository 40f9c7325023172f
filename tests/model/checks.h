// The checks of the model: fairness scenarios and scripted contracts, by name (R12).
//
// A check runs a machine or a queue under the given rules and answers what it found wrong; an
// empty answer is a pass. The unbroken rules must pass every check, and every mutation must fail
// at least one. A check judges by its own reading of what is owed (`fair_shares`, a key order, a
// number worked out by hand), never by asking the model what it should have done.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rules.h"

namespace ravelin::model {

using Findings = std::vector<std::string>;

struct Check {
    std::string_view name;
    std::function<Findings(const Rules&)> run;
};

// The fairness scenarios of kernel-facts 13: shares within 50 of 1000 of water-filling.
const std::vector<Check>& scenarios();

// The scripted contracts: one rule each, worked out by hand.
const std::vector<Check>& contracts();

// Random hostile behaviour beside a sleeper or a spinner.
const std::vector<Check>& attacks();

}  // namespace ravelin::model
