// Two result sets side by side: which verdicts changed, which judged figures moved and how their margins
// did, what only one of them has.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace ravelin::testbench {

struct Comparison {
    std::string text;
    bool worse = false;  ///< a run that passed in the first does not in the second, or is not there
};

/// Compares two sets of the bench's JSON. Throws nlohmann::json::exception if one is none.
Comparison compare(const nlohmann::json& before, const nlohmann::json& after);

}  // namespace ravelin::testbench
