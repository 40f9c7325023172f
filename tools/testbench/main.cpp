// The command line of the bench: run CASE, bench PATTERN..., bench list, bench show CASE, machine CASE,
// trace FILE.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "tools/testbench/bench.h"

namespace {

constexpr int kWrongUse = 2;

void add_common(CLI::App& command, ravelin::testbench::Request& request) {
    command.add_option("--root", request.root, "the tree that cases and builds are in")->required();
    command.add_option("--on", request.port, "hosted, rv64 or rv32")->type_name("PORT");
    command.add_option("--harts", request.harts, "how many harts, 1 to 8")->type_name("N");
    command.add_option("--seed", request.seed, "seed of everything chosen at random")
        ->type_name("S");
    command.add_option("--clock", request.clock, "hosted: virtual, threads; RISC-V: icount, host")
        ->type_name("CLOCK");
    command.add_option("--json", request.json, "also write the results to this file")
        ->type_name("FILE");
    command.add_option("--traces", request.traces, "keep every trace in this folder")
        ->type_name("DIR");
}

}  // namespace

int main(int argc, char** argv) {
    using namespace ravelin::testbench;
    CLI::App app("Runs Ravelin's cases and judges them by the kernel's own trace.", "testbench");
    app.require_subcommand(1);
    Request request;

    CLI::App* run = app.add_subcommand("run", "run one case and give a full account");
    add_common(*run, request);
    run->add_option("case", request.patterns, "name of the case")
        ->required()
        ->expected(1)
        ->type_name("CASE");

    std::string console;
    CLI::App* machine =
        app.add_subcommand("machine", "print the emulator's command for a case under gdb");
    add_common(*machine, request);
    machine->add_option("case", request.patterns, "name of the case")
        ->required()
        ->expected(1)
        ->type_name("CASE");
    machine->add_option("--console", console, "file of the machine's console")
        ->required()
        ->type_name("FILE");

    CLI::App* bench = app.add_subcommand(
        "bench", "run cases; or `bench list`, or `bench show CASE`; all cases without a pattern");
    add_common(*bench, request);
    bench->add_option("pattern", request.patterns, "beginning of a name, or a pattern with * and ?")
        ->type_name("PATTERN");
    bench->add_option("--seeds", request.seeds, "a sweep of seeds, A..B")->type_name("A..B");
    bench->add_option("--jobs", request.jobs, "runs at a time")
        ->type_name("J")
        ->check(CLI::Range(1, 256));

    std::string file;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
    CLI::App* trace =
        app.add_subcommand("trace", "judge a trace file by the rules, print records of it");
    trace->add_option("file", file, "trace file")->required()->type_name("FILE");
    trace->add_option("--first", first, "first record to print");
    trace->add_option("--count", count, "records to print");

    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "testbench: %s\n", error.what());
        return kWrongUse;
    }
    if (trace->parsed()) {
        return command_trace(file, first, count);
    }
    if (machine->parsed()) {
        return command_machine(request, console);
    }
    if (run->parsed()) {
        return command_run(request);
    }
    const std::vector<std::string>& words = request.patterns;
    if (!words.empty() && words[0] == "list" && words.size() == 1) {
        return command_list(request);
    }
    if (!words.empty() && words[0] == "show" && words.size() == 2) {
        return command_show(request, words[1]);
    }
    if (!words.empty() && (words[0] == "list" || words[0] == "show" || words[0] == "compare")) {
        std::fprintf(stderr, "testbench: '%s' is no pattern; usage: bench list, bench show CASE\n",
                     words[0].c_str());
        return kWrongUse;
    }
    return command_bench(request);
}
