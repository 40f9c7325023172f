// Runs the conformance suite on the hosted port. Exit code 0 if every check passed. With
// RAVELIN_PLANTED_FAULTS it can break a promise by name: --fault.

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "ravelin_hosted.h"
#include "tests/conformance/kernel.h"

namespace {

// The machine whose line the suite raises: a process runs one.
ravelin::hosted::HostedMachine* running = nullptr;

constexpr ravelin::u32 kSource = 5;

}  // namespace

ravelin::conformance::TestDevice ravelin::conformance::test_device(Kernel&) {
    return {.source = kSource,
            .address = 0,
            .raise = {},
            .lower = {},
            .set_line = [](Kernel&, bool high) { running->set_line(kSource, high); }};
}

std::span<const ravelin::conformance::Check> ravelin::conformance::machine_checks() {
    return {};
}

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
#if RAVELIN_PLANTED_FAULTS
    options.watchdog_seconds = 2;  // a run that hangs is as good as one that fails
    std::string fault;
    app.add_option("--fault", fault);
    CLI11_PARSE(app, argc, argv);
    const auto* named = std::ranges::find(conformance::kFaultNames, fault);
    if (named == std::end(conformance::kFaultNames)) {
        return 2;
    }
    conformance::planted_fault =
        static_cast<conformance::Fault>(named - std::begin(conformance::kFaultNames));
#else
    CLI11_PARSE(app, argc, argv);
#endif
    options.devices = {{.kind = DeviceKind::interrupt, .source = kSource}};
    if (threads) {
        options.clock = hosted::Clock::threads;
    }
    hosted::HostedMachine machine(options);
    running = &machine;
    const auto kernel = std::make_unique<Kernel>(machine.port());
    const hosted::Result result =
        machine.run(*kernel, hosted::HostedMachine::boot_program(conformance::guest, 0));
    return result.end == hosted::End::off ? 0 : 1;
}
