// ravelin-micro: measures the scenes. Four ways:
//
//   ravelin-micro [BENCHMARK-ARGUMENT...]   nanoseconds of processor time, by Google Benchmark
//   ravelin-micro --instructions [SCENE...] runs each scene once between callgrind's requests; under
//                                           valgrind --tool=callgrind --instr-atstart=no each leaves a
//                                           dump with its name and its total
//   ravelin-micro --system-calls [SCENE...] prints the system calls of each scene, counted from outside
//   ravelin-micro --slice-end-ratio MOST    fails if a slice end of three budgets on the same thread takes
//                                           more than MOST coroutine switches' time
//   ravelin-micro --list                    prints "SCENE OPERATIONS", and the compiler first
#include <benchmark/benchmark.h>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <exception>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>

#include "bench/micro/scenes.h"
#include "bench/micro/system_calls.h"

namespace ravelin::micro {

namespace {

constexpr int kWrongUse = 2;

// Time the thread ran, so that what else the host runs is left out but for what it does to caches.
class ClockMeter final : public Meter {
  public:
    void begin() override { begun_ = now(); }
    void end() override { ended_ = now(); }
    double seconds() const { return ended_ - begun_; }

  private:
    static double now() {
        timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
    }

    double begun_ = 0.0;
    double ended_ = 0.0;
};

class CallgrindMeter final : public Meter {
  public:
    void begin() override { CALLGRIND_START_INSTRUMENTATION; }
    void end() override { CALLGRIND_STOP_INSTRUMENTATION; }
};

std::vector<Scene> all_scenes() {
    std::vector<Scene> all = kernel_scenes();
    for (Scene& scene : part_scenes()) {
        all.push_back(std::move(scene));
    }
    return all;
}

// The scenes of these names, or all.
std::vector<Scene> chosen(std::span<char*> names) {
    std::vector<Scene> all = all_scenes();
    if (names.empty()) {
        return all;
    }
    std::vector<Scene> some;
    for (const char* name : names) {
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const Scene& s) { return s.name == name; });
        if (found == all.end()) {
            throw std::invalid_argument(std::string("no scene '") + name + "'");
        }
        some.push_back(*found);
    }
    return some;
}

void list() {
    std::printf("compiler %s %s\n",
#ifdef __clang__
                "clang",
#else
                "gcc",
#endif
                __VERSION__);
    for (const Scene& scene : all_scenes()) {
        std::printf("%s %llu\n", scene.name.c_str(),
                    static_cast<unsigned long long>(scene.operations));
    }
}

void run_counted(std::span<char*> names) {
    CallgrindMeter meter;
    for (const Scene& scene : chosen(names)) {
        CALLGRIND_ZERO_STATS;
        scene.run(meter);
        CALLGRIND_DUMP_STATS_AT(scene.name.c_str());
    }
}

void count_system_calls(std::span<char*> names) {
    for (const Scene& scene : chosen(names)) {
        std::printf("%s %llu\n", scene.name.c_str(),
                    static_cast<unsigned long long>(system_calls_of(scene)));
        std::fflush(stdout);
    }
}

double nanoseconds_of(const Scene& scene) {
    ClockMeter meter;
    scene.run(meter);
    return meter.seconds() * 1e9 / static_cast<double>(scene.operations);
}

// The median over pairs measured one behind the other: a clock that speeds up or slows down between pairs
// moves both of a pair, and what else runs on the host meets few of them.
int judge_slice_end(std::string_view most_text) {
    double most = 0.0;
    const auto [end, error] =
        std::from_chars(most_text.data(), most_text.data() + most_text.size(), most);
    if (error != std::errc() || end != most_text.data() + most_text.size()) {
        throw std::invalid_argument("--slice-end-ratio: how many switches' time at most?");
    }
    constexpr std::size_t kPairs = 201;
    char slice_name[] = "slice_end/same/3";
    char switch_name[] = "coroutine_switch";
    char* names[] = {slice_name, switch_name};
    const std::vector<Scene> scenes = chosen(names);
    struct Pair {
        double slice_end;
        double one_switch;
        double ratio() const { return slice_end / one_switch; }
    };
    std::vector<Pair> pairs(kPairs);
    for (Pair& pair : pairs) {
        pair = {nanoseconds_of(scenes[0]), nanoseconds_of(scenes[1])};
    }
    const auto middle = pairs.begin() + kPairs / 2;
    std::nth_element(pairs.begin(), middle, pairs.end(),
                     [](const Pair& a, const Pair& b) { return a.ratio() < b.ratio(); });
    const auto [slice_end, one_switch] = *middle;
    const double ratio = middle->ratio();
    std::printf("slice end %.1f ns, coroutine switch %.1f ns: %.1f switches, at most %.1f\n",
                slice_end, one_switch, ratio, most);
    return ratio <= most ? 0 : 1;
}

void measure_time(benchmark::State& state, const Scene& scene) {
    ClockMeter meter;
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(scene.operations))) {
        scene.run(meter);
        state.SetIterationTime(meter.seconds());
    }
}

int run_benchmarks(int argc, char** argv) {
    constexpr double kMinSeconds = 0.05;
    for (const Scene& scene : all_scenes()) {
        benchmark::RegisterBenchmark(
            scene.name.c_str(), [scene](benchmark::State& state) { measure_time(state, scene); })
            ->UseManualTime()
            ->MinTime(kMinSeconds);
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return kWrongUse;
    }
    return benchmark::RunSpecifiedBenchmarks() == 0 ? 1 : 0;
}

int run(int argc, char** argv) {
    const std::string_view first = argc > 1 ? argv[1] : "";
    const std::span<char*> rest = std::span(argv, static_cast<std::size_t>(argc))
                                      .subspan(static_cast<std::size_t>(std::min(argc, 2)));
    if (first == "--list") {
        list();
    } else if (first == "--instructions") {
        run_counted(rest);
    } else if (first == "--system-calls") {
        count_system_calls(rest);
    } else if (first == "--slice-end-ratio") {
        return judge_slice_end(rest.empty() ? "" : rest[0]);
    } else {
        return run_benchmarks(argc, argv);
    }
    return 0;
}

}  // namespace

}  // namespace ravelin::micro

int main(int argc, char** argv) {
    try {
        return ravelin::micro::run(argc, argv);
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "ravelin-micro: %s\n", error.what());
        return ravelin::micro::kWrongUse;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "ravelin-micro: %s\n", error.what());
        return 1;
    }
}
