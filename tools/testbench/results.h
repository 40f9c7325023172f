// Results as JSON: the contract that other programs read, and the same with what the report shows beyond
// it, which the journal keeps. A result that was written is read back as it was.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tools/testbench/judge.h"

namespace ravelin::testbench {

/// The contract's object of one run; `whole` adds what the report shows beyond it.
nlohmann::json json_of(const Outcome& outcome, bool whole);

/// Back from a whole one. Throws nlohmann::json::exception if it is none.
Outcome outcome_of(const nlohmann::json& json);

/// {"version", "commit", "host", "compilers", "results": [...]}, and "qemu" if there was one.
nlohmann::json set_of(const std::vector<Outcome>& outcomes, const std::filesystem::path& root,
                      bool whole);

/// What a tree keeps of a set to compare later ones with: the verdict and the judged rows of each run in
/// time that repeats, a run a line. It names nothing of the machine.
std::string recorded_of(const std::vector<Outcome>& outcomes, const std::filesystem::path& root);

/// JUnit's XML: a suite a port, a test a run.
std::string junit_of(const std::vector<Outcome>& outcomes);

/// Writes a file, or throws with its name.
void write_file(const std::filesystem::path& file, const std::string& text);

/// Reads a file, or throws with its name.
std::string read_file(const std::filesystem::path& file);

}  // namespace ravelin::testbench
