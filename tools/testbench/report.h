// What people and programs read of a bench: a table, the full account of one run, JSON.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/testbench/judge.h"

namespace ravelin::testbench {

/// Everything about one run: shares, figures, what speaks against it with the trace records.
std::string account_of(const Outcome& outcome);

/// One line a run: verdict, the judged figure nearest to its target, its target and margin.
std::string table_of(const std::vector<Outcome>& outcomes);

/// The contract of the bench's JSON: {"version", "commit", "host", "results": [...]}.
std::string json_of(const std::vector<Outcome>& outcomes, const std::filesystem::path& root);

}  // namespace ravelin::testbench
