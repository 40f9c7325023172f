// Runners: one class for each way of running a guest program on a kernel. A runner starts it, follows its
// console, ends it, and leaves the trace in a file; it judges nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/testbench/case.h"

namespace ravelin::testbench {

/// One run of one case.
struct RunPlan {
    const Case* judged = nullptr;
    Port port = Port::hosted;
    std::uint32_t harts = 1;
    std::uint64_t seed = 1;
    bool host_clock = false;
    std::filesystem::path root;
    std::filesystem::path trace;     ///< where the trace is to be
    std::optional<unsigned> core{};  ///< the host's core that it has to itself
};

/// The kernel a plan runs: the folder below build/, the preset it is a variant of, and the options it
/// is configured with beyond that.
struct Build {
    std::string folder;
    std::string preset;
    std::string target;                ///< what of it the run needs
    std::vector<std::string> options;  ///< "NAME=VALUE"
};

Build build_of(Port port, const Case& judged);

struct RunResult {
    std::string not_run;               ///< why nothing was run, or empty
    std::string broke;                 ///< how the run itself went wrong, or empty
    std::vector<std::string> console;  ///< lines
    bool has_trace = false;            ///< the file is there, sound or not
    std::string command;
    std::string preset;
    double wall_s = 0.0;
};

class Runner {
  public:
    virtual ~Runner() = default;

    /// Why this plan cannot be run here: a missing kernel or emulator; empty if it can.
    virtual std::string missing(const RunPlan& plan) const = 0;

    virtual RunResult run(const RunPlan& plan) const = 0;

    /// The files that decide a run, but for the plan's numbers.
    virtual std::vector<std::filesystem::path> files(const RunPlan& plan) const = 0;

    /// The clock as this port names it.
    virtual std::string clock_name(bool host_clock) const = 0;
};

std::unique_ptr<Runner> runner_for(Port port);

/// What a debugger needs for a plan's machine.
struct DebugTarget {
    std::filesystem::path kernel;   ///< the kernel's symbols
    std::filesystem::path program;  ///< the guest program's
    /// The emulator, stopped before its first instruction, with gdb's protocol on its standard
    /// streams and the machine's console in a file.
    std::vector<std::string> command;
};

/// Of a plan on rv64 or rv32; nothing of it need exist.
DebugTarget debug_target(const RunPlan& plan, const std::filesystem::path& console);

/// Is the host's clock meant, or is the word no clock of that port?
std::optional<bool> host_clock_named(Port port, const std::string& word);

/// The clocks of a port, the default first.
std::vector<std::string> clock_names(Port port);

}  // namespace ravelin::testbench
