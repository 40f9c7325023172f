// One child process in its own process group: its output line by line, and an end to it, whatever it does.
//
// Invariant: when run_process returns, nothing of the child's group is left. Bound: the timeout.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ravelin::testbench {

struct ProcessResult {
    std::string not_started;  ///< why it could not be started, or empty
    bool timed_out = false;
    bool stopped = false;  ///< by on_line
    int exit_code = -1;    ///< if it exited by itself
    int signal = 0;        ///< if a signal ended it
    std::string errors;    ///< what it wrote to its standard error
    double wall_s = 0.0;
};

struct ProcessOptions {
    std::chrono::milliseconds timeout{};
    /// What the group is given to end by itself once on_line has answered false.
    std::chrono::milliseconds grace{};
    std::optional<unsigned> core{};  ///< the one core of the host it may run on
};

/// Runs a command. `on_line` gets each line of its standard output, without the line's end, and
/// answers whether to go on; on false the group is ended.
ProcessResult run_process(const std::vector<std::string>& command, const ProcessOptions& options,
                          const std::function<bool(std::string_view)>& on_line);

/// The cores of the host that this process may use.
std::vector<unsigned> usable_cores();

/// Where a program is on PATH, or empty.
std::string find_program(const std::string& name);

}  // namespace ravelin::testbench
