// Runs the conformance suite on the hosted port. Exit code 0 if every check passed.

#include <CLI/CLI.hpp>
#include <memory>

#include "ravelin_hosted.h"
#include "tests/conformance/kernel.h"

int main(int argc, char** argv) {
    using namespace ravelin;
    hosted::HostedOptions options;
    options.memory_mib = 16;
    bool threads = false;
    CLI::App app("Runs the port conformance suite on the hosted port.");
    app.add_option("--harts", options.harts);
    app.add_option("--seed", options.seed);
    app.add_option("--window-pages", options.window_pages);
    app.add_flag("--threads", threads);
    app.add_flag("--strict", options.strict);
    CLI11_PARSE(app, argc, argv);
    if (threads) {
        options.clock = hosted::Clock::threads;
    }
    hosted::HostedMachine machine(options);
    const auto kernel = std::make_unique<Kernel>(machine.port());
    const hosted::Result result =
        machine.run(*kernel, hosted::HostedMachine::boot_program(conformance::guest, 0));
    return result.end == hosted::End::off ? 0 : 1;
}
