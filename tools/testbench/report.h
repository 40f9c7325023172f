// What people read of a bench on a terminal: a table, the full account of one run, what a sweep came to.
#pragma once

#include <string>
#include <vector>

#include "tools/testbench/judge.h"

namespace ravelin::testbench {

/// Everything about one run: shares, figures, what speaks against it with the trace records.
std::string account_of(const Outcome& outcome);

/// One line a run: verdict, the judged figure nearest to its target, its target and margin.
std::string table_of(const std::vector<Outcome>& outcomes);

/// One block a sweep of seeds, a line a judged figure: the worst seed's value and margin, and the value in
/// the middle of the margins. "" without a sweep.
std::string sweeps_of(const std::vector<Outcome>& outcomes);

/// The judged figure that is nearest to missing, as cells of a table.
struct Nearest {
    std::string figure;
    std::string target;
    std::string margin;
    double relative = 0.0;  ///< of the margin to what is allowed
    bool found = false;
};

Nearest nearest_of(const Outcome& outcome);

/// Columns as wide as their widest cell; a cell's width is its characters, not its bytes.
std::string columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace ravelin::testbench
