// Runs one guest program on a hosted kernel and writes its trace.
//
// Exit codes: 0 the guest switched the machine off (or the time limit came); 1 it did so with
// failure, asked for a reboot, or the kernel panicked; 2 the arguments are wrong; 3 the watchdog
// ended the run, or nothing could ever happen again.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstring>

#include "core/kernel.h"
#include "ravelin_hosted.h"
#include "user/rt/program.h"

namespace {

using namespace ravelin;

constexpr int kBadArguments = 2;

struct Arguments {
    std::string program;
    std::string trace;
    std::string clock = "virtual";
    hosted::HostedOptions options;
    u64 limit_ms = 0;
    bool no_cost_model = false;
};

const RavelinGuestProgram* find_program(const std::string& name) {
    for (const RavelinGuestProgram* program = ravelin_guest_programs; program->name != nullptr;
         ++program) {
        if (name == program->name) {
            return program;
        }
    }
    return nullptr;
}

std::string program_names() {
    std::string names;
    for (const RavelinGuestProgram* program = ravelin_guest_programs; program->name != nullptr;
         ++program) {
        names += fmt::format("{}{}", names.empty() ? "" : ", ", program->name);
    }
    return names;
}

int write_trace([[maybe_unused]] const Arguments& arguments, [[maybe_unused]] Kernel& kernel) {
#if RAVELIN_CHECKED
    const abi::TraceHead head{.magic = {},
                              .version = 0,
                              .record_size = 0,
                              .records = 0,
                              .dropped = kernel.trace.dropped(),
                              .digest = 0,
                              .timebase = hosted::kTimebase,
                              .harts = arguments.options.harts,
                              .slice_ticks = static_cast<u32>(kernel.slice.value),
                              .seed = arguments.options.seed};
    kernel.trace.close();  // a run that a limit ended has not
    const std::string error =
        hosted::write_trace(arguments.trace, head, kernel.trace.records(), kernel.trace.sums());
    if (!error.empty()) {
        fmt::print(stderr, "ravelin-hosted-run: {}\n", error);
        return 1;
    }
#endif
    return 0;
}

int exit_code(const hosted::Result& result) {
    switch (result.end) {
    case hosted::End::off:
    case hosted::End::limit: return 0;
    case hosted::End::reboot:
    case hosted::End::off_failed: return 1;
    case hosted::End::stuck:
        fmt::print(stderr,
                   "ravelin-hosted-run: at tick {} every hart waits and nothing will wake one\n",
                   result.time.value);
        return hosted::kWatchdogExit;
    }
    return 1;
}

int run(Arguments& arguments) {
    const RavelinGuestProgram* program = find_program(arguments.program);
    if (program == nullptr) {
        fmt::print(stderr, "ravelin-hosted-run: no program '{}'; there are: {}\n",
                   arguments.program, program_names());
        return kBadArguments;
    }
    if (!arguments.trace.empty() && !trace::kOn) {
        fmt::print(stderr, "ravelin-hosted-run: --trace needs a checked build\n");
        return kBadArguments;
    }
    hosted::HostedOptions& options = arguments.options;
    options.clock =
        arguments.clock == "threads" ? hosted::Clock::threads : hosted::Clock::virtual_time;
    options.cost_model = !arguments.no_cost_model;
    if (arguments.limit_ms != 0) {
        options.limit = Ticks{arguments.limit_ms * (hosted::kTimebase / 1'000)};
    }
    hosted::HostedMachine machine(options);
    const auto kernel = std::make_unique<Kernel>(machine.port());
    const hosted::Result result =
        machine.run(*kernel, hosted::HostedMachine::boot_program(program->entry, 0));
    int code = exit_code(result);
    if constexpr (trace::kOn) {
        for (std::size_t hart = 0; hart < result.harts.size(); ++hart) {
            const hosted::HartCounts& counts = result.harts[hart];
            fmt::print("ravelin: hart {}: interrupts {}, lost claims {}, skipped halts {}\n", hart,
                       counts.claims, counts.lost_claims, counts.skipped_halts);
        }
    }
    if (!arguments.trace.empty()) {
        code = std::max(code, write_trace(arguments, *kernel));
    }
    return code;
}

}  // namespace

int main(int argc, char** argv) {
    Arguments arguments;
    hosted::HostedOptions& options = arguments.options;
    options.trace_mib = trace::kOn ? 256 : 0;
    CLI::App app("Runs one guest program on a kernel inside this process.");
    app.add_option("--program", arguments.program, "the program's name")->required();
    app.add_option("--harts", options.harts, "harts, 1 to 8")->check(CLI::Range(1u, kMaxHarts));
    app.add_option("--seed", options.seed, "what decides the run, in virtual time");
    app.add_option("--clock", arguments.clock, "virtual or threads")
        ->check(CLI::IsMember({"virtual", "threads"}));
    app.add_option("--trace", arguments.trace, "file for the scheduling trace");
    app.add_option("--memory", options.memory_mib, "MiB of RAM")->check(CLI::Range(1u, 4'096u));
    app.add_option("--trace-memory", options.trace_mib, "MiB for the trace")
        ->check(CLI::Range(0u, 4'096u));
    app.add_flag("--no-cost-model", arguments.no_cost_model, "kernel work takes one tick an entry");
    app.add_flag("--strict", options.strict, "the rarer liberties of real machines");
    app.add_option("--limit-ms", arguments.limit_ms, "end the run at this time");
    app.add_option("--watchdog", options.watchdog_seconds,
                   "host seconds without progress that end the run; 0: none");
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::ParseError& error) {
        fmt::print(stderr, "ravelin-hosted-run: {}\n", error.what());
        return kBadArguments;
    }
    try {
        return run(arguments);
    } catch (const std::exception& error) {
        fmt::print(stderr, "ravelin-hosted-run: {}\n", error.what());
        return kBadArguments;
    }
}
