// The command line of the bench: run CASE, bench PATTERN..., bench list, bench show CASE, bench compare A B,
// builds PATTERN..., machine CASE, trace FILE.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "tools/testbench/bench.h"

namespace {

constexpr int kWrongUse = 2;

void add_common(CLI::App& command, ravelin::testbench::Request& request) {
    command.add_option("--root", request.root, "the tree that cases and builds are in")->required();
    command.add_option("--on", request.ports, "hosted, rv64 or rv32")
        ->type_name("PORT")
        ->allow_extra_args(false);
    command.add_option("--harts", request.harts, "how many harts, 1 to 8")->type_name("N");
    command.add_option("--seed", request.seed, "seed of everything chosen at random")
        ->type_name("S");
    command.add_option("--clock", request.clock, "hosted: virtual, threads; RISC-V: icount, host")
        ->type_name("CLOCK");
    command.add_option("--json", request.json, "also write the results to this file")
        ->type_name("FILE");
    command.add_option("--junit", request.junit, "also write the results as JUnit XML")
        ->type_name("FILE");
    command
        .add_option("--report", request.report, "write a page, JSON and JUnit XML to this folder")
        ->type_name("DIR");
    command.add_option("--record", request.record, "write the judged figures to this file")
        ->type_name("FILE");
    command.add_option("--page-parts", request.page_parts, "folder of the page's npm packages")
        ->type_name("DIR");
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
        "bench", "run cases, all without a pattern; or `bench list`, `bench show CASE`, `bench "
                 "compare A B`");
    CLI::App* builds = app.add_subcommand("builds", "print the builds that a bench needs");
    for (CLI::App* command : {bench, builds}) {
        add_common(*command, request);
        command
            ->add_option("pattern", request.patterns,
                         "beginning of a name, or a pattern with * and ?")
            ->type_name("PATTERN");
        command->add_option("--seeds", request.seeds, "a sweep of seeds, A..B")->type_name("A..B");
        command->add_option("--jobs", request.jobs, "runs at a time, each on a core of its own")
            ->type_name("J")
            ->check(CLI::Range(1, 256));
        command->add_flag("--gates", request.gates, "the gates, on all ports unless --on");
        command->add_flag("--long", request.long_runs, "seeds 1 to 100 unless others are given");
        command->add_option("--journal", request.journal, "file that keeps what has finished")
            ->type_name("FILE");
        command->add_flag("--rules", request.rules,
                          "judge by the rules every trace must keep, at any number of harts");
        CLI::Option* resume =
            command->add_flag("--resume", request.resume, "do not run what the journal has");
        command->add_flag("--failed", request.failed, "run only what failed in the journal")
            ->excludes(resume);
    }

    TraceRequest asked;
    CLI::App* trace = app.add_subcommand(
        "trace", "judge a trace file by the rules, print records of it, or export it");
    trace->add_option("file", asked.file, "trace file")->required()->type_name("FILE");
    trace->add_option("--first", asked.first, "first record to print");
    trace->add_option("--count", asked.count, "records to print");
    trace->add_option("--perfetto", asked.perfetto, "write it for Perfetto and chrome://tracing")
        ->type_name("FILE");
    trace->add_option("--ctf", asked.ctf, "write it for babeltrace2 and Trace Compass")
        ->type_name("DIR");

    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        std::fprintf(stderr, "testbench: %s\n", error.what());
        return kWrongUse;
    }
    if (trace->parsed()) {
        return command_trace(asked);
    }
    if (machine->parsed()) {
        return command_machine(request, console);
    }
    if (run->parsed()) {
        return command_run(request);
    }
    if (builds->parsed()) {
        return command_builds(request);
    }
    const std::vector<std::string>& words = request.patterns;
    if (!words.empty() && words[0] == "list" && words.size() == 1) {
        return command_list(request);
    }
    if (!words.empty() && words[0] == "show" && words.size() == 2) {
        return command_show(request, words[1]);
    }
    if (!words.empty() && words[0] == "compare" && words.size() == 3) {
        return command_compare(words[1], words[2]);
    }
    if (!words.empty() && (words[0] == "list" || words[0] == "show" || words[0] == "compare")) {
        std::fprintf(stderr,
                     "testbench: '%s' is no pattern; usage: bench list, bench show CASE, "
                     "bench compare A B\n",
                     words[0].c_str());
        return kWrongUse;
    }
    return command_bench(request);
}
