// The bench's commands: what a command line asks for, planned, run, judged, reported.
//
// Everything that is asked for and cannot be done is an error with one line and no run; exit codes are 0
// only if all that was asked ran and passed (or is recorded), 1 if not, 2 for a wrong command line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "tools/testbench/plan.h"

namespace ravelin::testbench {

int command_run(const Request& request);
int command_bench(const Request& request);
/// Prints the builds that the runs asked for need, a line each: folder below build/, preset,
/// target, options.
int command_builds(const Request& request);
/// Prints what `ravelin debug` gives gdb for a case's machine, a line each: the kernel's file, the
/// program's, and the emulator's command as a shell reads it. `console`: the file of its console.
int command_machine(const Request& request, const std::filesystem::path& console);
int command_list(const Request& request);
int command_show(const Request& request, const std::string& name);

/// Prints two files of results side by side. 1 if something is worse in the second.
int command_compare(const std::filesystem::path& before, const std::filesystem::path& after);

/// What is asked of a trace file.
struct TraceRequest {
    std::filesystem::path file;
    std::uint64_t first = 0;              ///< first record to print
    std::uint64_t count = 0;              ///< records to print
    std::optional<std::string> perfetto;  ///< file for Perfetto and chrome://tracing
    std::optional<std::string> ctf;       ///< folder for babeltrace2
};

/// Prints records of a trace file, exports it, and, unless it was exported, judges it by the rules alone.
int command_trace(const TraceRequest& request);

}  // namespace ravelin::testbench
