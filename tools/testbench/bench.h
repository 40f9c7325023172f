// The bench's commands: what a command line asks for, planned, run, judged, reported.
//
// Everything that is asked for and cannot be done is an error with one line and no run; exit codes are 0
// only if all that was asked ran and passed (or is recorded), 1 if not, 2 for a wrong command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ravelin::testbench {

struct Request {
    std::filesystem::path root;
    std::vector<std::string> patterns;  ///< names or patterns; one exact name for `run`
    std::optional<std::string> port;
    std::optional<std::string> harts;  ///< as typed
    std::optional<std::string> seed;
    std::optional<std::string> seeds;  ///< "A..B"
    std::optional<std::string> clock;
    std::optional<std::string> json;    ///< file
    std::optional<std::string> traces;  ///< folder that keeps every trace
    unsigned jobs = 1;
};

int command_run(const Request& request);
int command_bench(const Request& request);
/// Prints what `ravelin debug` gives gdb for a case's machine, a line each: the kernel's file, the
/// program's, and the emulator's command as a shell reads it. `console`: the file of its console.
int command_machine(const Request& request, const std::filesystem::path& console);
int command_list(const Request& request);
int command_show(const Request& request, const std::string& name);

/// Judges a trace file by the rules alone and prints `count` of its records from `first` on.
int command_trace(const std::filesystem::path& file, std::uint64_t first, std::uint64_t count);

}  // namespace ravelin::testbench
