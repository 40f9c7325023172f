// From a command line to runs: what was asked for, checked before anything runs.
//
// What is asked for and is not there is a WrongUse with one line, and nothing is run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tools/testbench/case.h"
#include "tools/testbench/runner.h"

namespace ravelin::testbench {

struct Request {
    std::filesystem::path root;
    std::vector<std::string> patterns;  ///< names or patterns; one exact name for `run`
    std::vector<std::string> ports;     ///< empty: hosted, or with `gates` all
    std::optional<std::string> harts;   ///< as typed
    std::optional<std::string> seed;
    std::optional<std::string> seeds;  ///< "A..B"
    std::optional<std::string> clock;
    std::optional<std::string> json;     ///< file
    std::optional<std::string> junit;    ///< file
    std::optional<std::string> report;   ///< folder
    std::optional<std::string> record;   ///< file for the judged figures, as a tree keeps them
    std::optional<std::string> traces;   ///< folder that keeps every trace
    std::optional<std::string> journal;  ///< file that keeps what has finished
    std::string page_parts;              ///< folder of the npm packages of the report
    unsigned jobs = 0;                   ///< 0: one a core
    bool gates = false;                  ///< the cases that are gates, on all their ports
    bool long_runs = false;              ///< seeds 1..100 unless others are asked for
    bool resume = false;                 ///< do not run again what the journal has
    bool failed = false;                 ///< run only what failed in the journal
    bool rules = false;                  ///< judge by the rules every trace must keep, nothing else
};

/// A command line that asks for what is not there.
struct WrongUse : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// What the words of a command line mean, before any case is read.
struct Wanted {
    std::vector<Port> ports;
    std::optional<std::uint32_t> harts;
    std::vector<std::uint64_t> seeds;  ///< empty: the case's
    std::optional<bool> host_clock;
};

Wanted wanted_by(const Request& request);

/// The cases of the tree, sorted; there are some.
std::vector<std::string> known_cases(const Request& request);

std::filesystem::path file_of(const Request& request, const std::string& name);

Case case_named(const Request& request, const std::string& name);

/// The cases that the patterns mean; each pattern must mean one at least. With `gates`, of those the
/// gates; with `rules`, of those the ones that a trace of any hart count can be judged of.
std::vector<Case> cases_matching(const Request& request);

/// The runs of a case: all its hart counts and seeds, or only the first of each. With `gates` or `rules` on the
/// case's ports alone; else a port that it lacks is a run that will not be made.
std::vector<RunPlan> plans_of(const Request& request, const Wanted& wanted, const Case& judged,
                              bool all);

/// What tells a run from every other, for people and for the journal: "CASE PORT hN sS CLOCK".
std::string key_of(const RunPlan& plan);

}  // namespace ravelin::testbench
