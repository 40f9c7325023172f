#include "tools/testbench/runner.h"

#include <cctype>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <regex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/testbench/process.h"
#include "tools/testbench/ram_trace.h"

namespace ravelin::testbench {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kUsualSlice = 1000;

std::string preset_of(const RunPlan& plan) {
    return build_of(plan.port, *plan.judged).folder;
}

/// The last line of a text that is not empty.
std::string last_line(const std::string& text) {
    std::size_t end = text.find_last_not_of("\r\n ");
    if (end == std::string::npos) {
        return "";
    }
    const std::size_t begin = text.find_last_of('\n', end);
    return text.substr(begin == std::string::npos ? 0 : begin + 1,
                       end - (begin == std::string::npos ? 0 : begin + 1) + 1);
}

/// What a process's end says against it, or nothing. `good` is the exit code it should have.
std::string how_it_broke(const ProcessResult& process, std::uint32_t timeout_s, int good) {
    const std::string said =
        process.errors.empty() ? "" : fmt::format(" ({})", last_line(process.errors));
    if (process.timed_out) {
        return fmt::format("no end within {} s of the host's time; killed{}", timeout_s, said);
    }
    if (process.signal != 0) {
        return fmt::format("ended by signal {} ({}){}", process.signal, strsignal(process.signal),
                           said);
    }
    if (process.exit_code != good) {
        return fmt::format("exit code {}, not {}{}", process.exit_code, good, said);
    }
    return "";
}

bool ends_well(const Case& judged) {
    return judged.ends == "off" || judged.ends == "reboot";
}

/// The kernel in a Linux process.
class HostedRunner final : public Runner {
  public:
    std::string missing(const RunPlan& plan) const override {
        const fs::path program = program_of(plan);
        return fs::exists(program) ? ""
                                   : fmt::format("there is no {}: build it with ./ravelin build {}",
                                                 program.string(), preset_of(plan));
    }

    RunResult run(const RunPlan& plan) const override {
        RunResult result;
        result.preset = preset_of(plan);
        const Case& judged = *plan.judged;
        std::vector<std::string> command = {program_of(plan).string(), "--harts",
                                            std::to_string(plan.harts), "--seed",
                                            std::to_string(plan.seed)};
        if (judged.suite) {
            if (plan.host_clock) {
                command.emplace_back("--threads");
            }
        } else {
            command.insert(command.end(),
                           {"--program", judged.program, "--clock", clock_name(plan.host_clock),
                            "--memory", std::to_string(judged.memory_mib)});
            if (judged.checked) {
                command.insert(command.end(), {"--trace", plan.trace.string()});
            }
        }
        result.command = fmt::format("{}", fmt::join(command, " "));
        const ProcessResult process =
            run_process(command, {.timeout = seconds(plan.judged->timeout_s), .core = plan.core},
                        [&](std::string_view line) {
                            result.console.emplace_back(line);
                            return true;
                        });
        result.wall_s = process.wall_s;
        result.not_run = process.not_started;
        if (result.not_run.empty()) {
            result.broke =
                how_it_broke(process, plan.judged->timeout_s, ends_well(*plan.judged) ? 0 : 1);
            result.has_trace = fs::exists(plan.trace);
        }
        return result;
    }

    std::vector<fs::path> files(const RunPlan& plan) const override { return {program_of(plan)}; }

    std::string clock_name(bool host_clock) const override {
        return host_clock ? "threads" : "virtual";
    }

  private:
    static fs::path program_of(const RunPlan& plan) {
        const fs::path build = plan.root / "build" / preset_of(plan);
        return plan.judged->suite ? build / "tests" / "conformance" / "conformance-hosted"
                                  : build / "port-hosted" / "ravelin-hosted-run";
    }
};

/// A RISC-V kernel in QEMU. Guest RAM is a file that the trace is read from when the machine is off;
/// the kernel's console lines say where it is and how the machine ended, since QEMU's exit code does not.
class QemuRunner final : public Runner {
  public:
    explicit QemuRunner(Port port) : port_(port) {}

    std::string missing(const RunPlan& plan) const override {
        if (find_program(emulator()).empty()) {
            return fmt::format("{} is not installed", emulator());
        }
        for (const fs::path& file : files(plan)) {
            if (!fs::exists(file)) {
                return fmt::format("there is no {}: build it with ./ravelin build {}",
                                   file.string(), preset_of(plan));
            }
        }
        return "";
    }

    RunResult run(const RunPlan& plan) const override {
        RunResult result;
        result.preset = preset_of(plan);
        fs::path ram = plan.trace;
        ram += ".ram";
        const std::vector<std::string> command = command_for(plan, ram);
        result.command = fmt::format("{}", fmt::join(command, " "));

        static const std::regex trace_line("RAVELIN-TRACE (0x)?([0-9a-f]+) ([0-9]+)");
        static const std::regex end_line("RAVELIN-OFF (off|reboot|failed)");
        std::uint64_t address = 0;
        std::uint64_t bytes = 0;
        std::string end;
        bool panicked = false;
        const auto on_line = [&](std::string_view text) {
            const std::string line(text);
            std::smatch match;
            if (std::regex_search(line, match, trace_line)) {
                address = std::strtoull(match[2].str().c_str(), nullptr, 16);
                bytes = std::strtoull(match[3].str().c_str(), nullptr, 10);
            } else if (std::regex_search(line, match, end_line)) {
                end = panicked && match[1] == "failed" ? "panic" : match[1].str();
            } else {
                panicked = panicked || line.starts_with("ravelin: panic: ");
                result.console.push_back(line);
            }
            return end.empty();
        };
        const ProcessResult process = run_process(command,
                                                  {.timeout = seconds(plan.judged->timeout_s),
                                                   .grace = milliseconds(2000),
                                                   .core = plan.core},
                                                  on_line);
        result.wall_s = process.wall_s;
        result.not_run = process.not_started;
        if (!result.not_run.empty()) {
            return result;
        }
        if (end.empty()) {
            result.broke = how_it_broke(process, plan.judged->timeout_s, 0);
            if (result.broke.empty()) {
                result.broke = "the machine ended without saying how";
            }
        } else if (end != plan.judged->ends) {
            result.broke = fmt::format("the machine ended '{}', not '{}'", end, plan.judged->ends);
        }
        if (bytes != 0) {
            result.has_trace = save_trace(
                ram, {.address = address, .bytes = bytes, .base = kRamBase}, plan.seed, plan.trace);
        }
        std::error_code ignored;
        fs::remove(ram, ignored);
        return result;
    }

    std::vector<fs::path> files(const RunPlan& plan) const override {
        std::vector<fs::path> files = {kernel_of(plan), image_of(plan)};
        if (const fs::path firmware = firmware_of(plan); firmware != "default") {
            files.push_back(firmware);
        }
        return files;
    }

    std::string clock_name(bool host_clock) const override {
        return host_clock ? "host" : "icount";
    }

    DebugTarget debug_target(const RunPlan& plan, const fs::path& console) const {
        // Stepped over a breakpoint under OpenSBI with Sstc, QEMU 7.2's machine gets no timer interrupt
        // any more; under our firmware it does.
        const char* named = std::getenv("RAVELIN_SBI");
        const bool chosen = named != nullptr && *named != '\0';
        std::vector<std::string> command =
            machine_for(plan, chosen ? fs::path(named) : folder_of(plan) / "ravelin-sbi.elf");
        command.insert(command.end(), {"-serial", fmt::format("file:{}", console.string()), "-S",
                                       "-gdb", "stdio"});
        return {kernel_of(plan).replace_extension("elf"),
                folder_of(plan) / "user" / (plan.judged->program + ".elf"), command};
    }

  private:
    Port port_;

    static constexpr std::uint32_t kTraceMib = 64;

    /// The real-time clock runs with the machine's own, from a date that is always the same.
    static constexpr const char* kClock = "base=2020-01-01T00:00:00,clock=vm";

    /// Where RAM begins on QEMU's virt machine.
    static constexpr std::uint64_t kRamBase = 0x8000'0000;

    std::string emulator() const {
        return port_ == Port::rv64 ? "qemu-system-riscv64" : "qemu-system-riscv32";
    }

    static fs::path folder_of(const RunPlan& plan) { return plan.root / "build" / preset_of(plan); }
    static fs::path kernel_of(const RunPlan& plan) {
        return folder_of(plan) /
               (plan.judged->suite ? "ravelin-conformance.bin" : "ravelin-kernel.bin");
    }
    static fs::path image_of(const RunPlan& plan) {
        return folder_of(plan) / "programs" / (plan.judged->program + ".img");
    }

    /// RAVELIN_SBI, else QEMU's own OpenSBI, else (rv32 has none) ours.
    fs::path firmware_of(const RunPlan& plan) const {
        if (const char* named = std::getenv("RAVELIN_SBI"); named != nullptr && *named != '\0') {
            return named;
        }
        return port_ == Port::rv64 ? fs::path("default") : folder_of(plan) / "ravelin-sbi.elf";
    }

    static std::string memory_of(const RunPlan& plan) {
        // The trace ring of a checked kernel comes on top of what the guest has.
        return std::to_string(plan.judged->memory_mib + (plan.judged->checked ? kTraceMib : 0));
    }

    /// The machine without what its console and its RAM are.
    std::vector<std::string> machine_for(const RunPlan& plan, const fs::path& firmware) const {
        std::vector<std::string> command = {emulator(),
                                            "-M",
                                            "virt",
                                            "-m",
                                            memory_of(plan),
                                            "-nographic",
                                            "-monitor",
                                            "none",
                                            "-no-reboot",
                                            "-seed",
                                            std::to_string(plan.seed),
                                            "-rtc",
                                            kClock,
                                            "-smp",
                                            std::to_string(plan.harts),
                                            "-bios",
                                            firmware.string(),
                                            "-kernel",
                                            kernel_of(plan).string(),
                                            "-initrd",
                                            image_of(plan).string()};
        if (const char* cpu = std::getenv("RAVELIN_CPU"); cpu != nullptr && *cpu != '\0') {
            command.insert(command.end(), {"-cpu", cpu});
        }
        if (plan.host_clock) {
            command.insert(command.end(), {"-accel", "tcg,thread=multi"});
        } else {
            command.insert(command.end(),
                           {"-icount", fmt::format("shift={},sleep=off", plan.judged->icount)});
        }
        return command;
    }

    std::vector<std::string> command_for(const RunPlan& plan, const fs::path& ram) const {
        std::vector<std::string> command = machine_for(plan, firmware_of(plan));
        command.insert(command.end(),
                       {"-machine", "memory-backend=ram", "-object",
                        fmt::format("memory-backend-file,id=ram,size={}M,mem-path={},share=on",
                                    memory_of(plan), ram.string()),
                        "-serial", "stdio"});
        return command;
    }
};

}  // namespace

Build build_of(Port port, const Case& judged) {
    Build build;
    build.preset = fmt::format("{}-{}", name_of(port), judged.checked ? "checked" : "release");
    build.folder = build.preset;
    build.target = port != Port::hosted ? "all"
                   : judged.suite       ? "conformance-hosted"
                                        : "ravelin-hosted-run";
    if (judged.slice_us != kUsualSlice) {
        build.folder += fmt::format("-slice{}", judged.slice_us);
        build.options.push_back(fmt::format("RAVELIN_SLICE_US={}", judged.slice_us));
    }
    for (const std::string& feature : judged.features) {
        build.folder += "-" + feature;
        std::string option = "RAVELIN_" + feature + "=ON";
        for (char& c : option) {
            c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        }
        build.options.push_back(option);
    }
    return build;
}

std::unique_ptr<Runner> runner_for(Port port) {
    if (port == Port::hosted) {
        return std::make_unique<HostedRunner>();
    }
    return std::make_unique<QemuRunner>(port);
}

DebugTarget debug_target(const RunPlan& plan, const fs::path& console) {
    return QemuRunner(plan.port).debug_target(plan, console);
}

std::vector<std::string> clock_names(Port port) {
    return port == Port::hosted ? std::vector<std::string>{"virtual", "threads"}
                                : std::vector<std::string>{"icount", "host"};
}

std::optional<bool> host_clock_named(Port port, const std::string& word) {
    const std::vector<std::string> names = clock_names(port);
    if (word == names[0]) {
        return false;
    }
    return word == names[1] ? std::optional(true) : std::nullopt;
}

}  // namespace ravelin::testbench
