// Stands in for ravelin-hosted-run in the bench's tests: the same command line, a simulated trace, and,
// by the program's name, every way a run can go wrong.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <unistd.h>

#include "tests/oracle/sim.h"

namespace {

using namespace ravelin;

/// True of the first run in this folder of the machine: the mark of it is left beside the program.
bool missed_now() {
    const std::filesystem::path mark =
        std::filesystem::path(std::getenv("RAVELIN_FAKE_FOLDER")) / "missed";
    const bool first = !std::filesystem::exists(mark);
    std::ofstream(mark) << "once";
    return first;
}

sim::Plan plan_for(const std::string& program, std::uint32_t harts, std::uint64_t seed) {
    sim::Plan plan = sim::spinners(harts, {100, 100, 300});
    plan.seed = seed;
    if (program == "misses-once" && missed_now()) {
        plan = sim::spinners(harts, {100, 100, 300}, 3);  // too few slices for its shares
        plan.seed = seed;
    }
    if (program == "ends-failed") {
        plan.end = 2;
    }
    if (program == "no-window") {
        std::erase_if(plan.script, [](const sim::Step& step) {
            const auto* made = std::get_if<sim::Create>(&step);
            const auto* gone = std::get_if<sim::Destroy>(&step);
            return (made != nullptr && made->name == "mark") ||
                   (gone != nullptr && gone->name == "mark");
        });
    }
    return plan;
}

/// Makes the first pick that had a choice take the wrong budget's name.
void break_order(std::vector<abi::TraceRecord>& records) {
    for (auto at = records.end(); at != records.begin();) {
        --at;
        if (at->kind == static_cast<std::uint8_t>(abi::TraceKind::pass)) {
            at->x += 1;
            return;
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::map<std::string, std::string> options;
    for (int i = 1; i + 1 < argc; i += 2) {
        options[argv[i]] = argv[i + 1];
    }
    const std::string program = options["--program"];
    std::printf("first line of %s\n", program.c_str());
    std::fflush(stdout);
    if (program == "hangs") {
        // A child of the child holds the pipes open: killing the leader alone would not end the run.
        if (fork() == 0) {
            std::this_thread::sleep_for(std::chrono::seconds(600));
            return 0;
        }
        std::this_thread::sleep_for(std::chrono::seconds(600));
    }
    if (program == "crashes") {
        std::abort();
    }
    if (program == "exits") {
        std::fprintf(stderr, "some noise\nthe last word\n");
        return 3;
    }
    if (program == "panics") {
        std::printf("PANIC: of the kernel\n");
    }
    if (program == "no-trace") {
        return 0;
    }
    const auto harts = static_cast<std::uint32_t>(std::stoul(options["--harts"]));
    const sim::Plan plan = plan_for(program, harts, std::stoull(options["--seed"]));
    std::vector<abi::TraceRecord> records = sim::run(plan);
    if (program == "broken") {
        break_order(records);
    }
    std::vector<std::byte> file = sim::file_of(records, plan);
    if (program == "truncated") {
        file.resize(file.size() - 100);
    }
    std::ofstream out(options["--trace"], std::ios::binary);
    out.write(reinterpret_cast<const char*>(file.data()),
              static_cast<std::streamsize>(file.size()));
    std::printf("last line\n");
    return program == "ends-failed" ? 1 : 0;
}
