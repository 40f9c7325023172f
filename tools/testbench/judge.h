// The verdict on one run: the oracle's replay, then what the case asks beyond it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/testbench/case.h"
#include "tools/testbench/detail.h"
#include "tools/testbench/runner.h"

namespace ravelin::testbench {

enum class Verdict : std::uint8_t { pass, fail, recorded, notrun };

std::string name_of(Verdict verdict);

/// A budget in a window: what it was owed and what it got, per 1000.
struct ShareRow {
    std::uint32_t window = 1;
    std::string budget;
    std::uint64_t weight = 0;
    std::uint64_t threads = 1;
    double want = 0.0;
    double got = 0.0;  ///< net of billed lock waits
    double gross = 0.0;
    bool judged = false;
    Op op = Op::within;
    std::int64_t tolerance = 0;
    double margin = 0.0;  ///< of a judged one: negative misses
};

struct FigureRow {
    std::string name;
    double value = 0.0;
    std::string unit;
    std::optional<std::int64_t> target = std::nullopt;
    Op op = Op::at_least;
    bool judged = false;
    double margin = 0.0;
};

/// One thing that speaks against the run.
struct Failure {
    std::string check;    ///< a check that must_fail can name, or "run", "console", "trace", "case"
    std::string reason;   ///< one line
    std::string records;  ///< the trace records that decided it, decoded, a line each; may be empty
};

struct Outcome {
    std::string name;
    Port port = Port::hosted;
    std::uint32_t harts = 1;
    std::uint64_t seed = 1;
    std::string clock;
    std::string preset;
    std::string command;
    Verdict verdict = Verdict::notrun;
    std::string reason;  ///< one line; empty of a plain pass
    std::vector<Failure> failures;
    std::vector<ShareRow> shares;
    std::vector<FigureRow> figures;
    std::uint64_t records = 0;
    std::uint64_t dropped = 0;
    std::string trace_kept;  ///< where the trace of a failed run is
    double wall_s = 0.0;
    std::uint32_t runs = 1;  ///< 2: a miss on the host's clock, run once more alone
    std::string description;
    Detail detail;
};

/// Judges a run. `cores` is how many harts the host can run at once: with more, shares and figures on
/// the host's clock are recorded and not judged.
Outcome judge(const RunPlan& plan, const RunResult& run, std::uint32_t cores);

}  // namespace ravelin::testbench
