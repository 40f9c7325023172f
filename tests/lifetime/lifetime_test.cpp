// A kernel is an object: a thousand of them start and stop in one process and leave nothing behind, and a
// thousand live in it at once without knowing of each other.
#include <gtest/gtest.h>

#include <dirent.h>
#include <sys/resource.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/kernel.h"
#include "ravelin_hosted.h"
#include "user/rt/launch.h"

namespace ravelin {
namespace {

constexpr u32 kKernels = 1'000;

// Small machines; the launcher, two workers and their page tables fit easily.
constexpr u32 kMemoryMib = 6;
constexpr u64 kWorkerPages = 16;

// 30 ms: some twenty slices behind the launcher's own work.
constexpr Ticks kLimit{hosted::kTimebase / 1'000 * 30};

// What the guests of one machine did; guest code lives in this process.
struct Counts {
    u64 pieces[2] = {};
};

void spin(rt::Env& env) {
    for (;;) {
        rt::work({hosted::kTimebase / 10'000});
        ++*reinterpret_cast<u64*>(env.argument());
    }
}

// Two budgets of weight 100 and 300 with a spinner each. The machine ends with everything still running.
void launch(rt::Env& env) {
    auto* counts = reinterpret_cast<Counts*>(env.argument());
    const rt::Budget users = env.start_handle<rt::Budget>(abi::kBootUsers);
    u64* pieces = counts->pieces;
    for (const u64 weight : {u64{100}, u64{300}}) {
        rt::Result<rt::Budget> budget = rt::budget_create(
            env.records(), users, {.pages = kWorkerPages, .processes = 1, .weight = weight});
        if (!budget.ok() || !rt::start_copy<spin>(env.records(), budget.value(),
                                                  reinterpret_cast<Word>(pieces++), {})
                                 .ok()) {
            return;
        }
    }
    rt::sleep(rt::kForever);
}

hosted::HostedOptions options_of(u64 seed, u32 harts, hosted::Clock clock) {
    hosted::HostedOptions options;
    options.harts = harts;
    options.seed = seed;
    options.clock = clock;
    options.memory_mib = kMemoryMib;
    options.watchdog_seconds = 0;
    options.limit = kLimit;
    return options;
}

struct Whole {
    explicit Whole(const hosted::HostedOptions& options)
        : machine(options), kernel(std::make_unique<Kernel>(machine.port())) {}

    hosted::Result run() {
        return machine.run(*kernel, hosted::HostedMachine::boot_program(
                                        &rt::thread_main<launch>, reinterpret_cast<Word>(&counts)));
    }

    hosted::HostedMachine machine;
    std::unique_ptr<Kernel> kernel;
    Counts counts;
};

std::size_t mappings() {
    std::ifstream maps("/proc/self/maps");
    std::string line;
    std::size_t count = 0;
    while (std::getline(maps, line)) {
        ++count;
    }
    return count;
}

// Entries of a folder of /proc, its own two dots included.
std::size_t entries_of(const char* path) {
    std::size_t count = 0;
    DIR* folder = opendir(path);
    while (readdir(folder) != nullptr) {
        ++count;
    }
    closedir(folder);
    return count;
}

std::size_t open_files() {
    return entries_of("/proc/self/fd");
}

std::size_t threads() {
    return entries_of("/proc/self/task");
}

void start_and_stop(u32 times, u32 harts, hosted::Clock clock) {
    for (u32 i = 0; i < times; ++i) {
        Whole whole(options_of(i + 1, harts, clock));
        const hosted::Result result = whole.run();
        ASSERT_EQ(result.end, hosted::End::limit);
        if (clock == hosted::Clock::virtual_time) {
            ASSERT_NE(whole.counts.pieces[0], 0u);
            ASSERT_NE(whole.counts.pieces[1], 0u);
        }
    }
}

// Leaks of the heap are LeakSanitizer's to find, in its lane, at the process's end.
TEST(Lifetime, AThousandKernelsStartAndStopAndLeaveNothing) {
    start_and_stop(10, 2,
                   hosted::Clock::virtual_time);  // what the process keeps from its first machines
    const std::size_t maps_before = mappings();
    const std::size_t files_before = open_files();
    start_and_stop(kKernels, 2, hosted::Clock::virtual_time);
    EXPECT_EQ(open_files(), files_before);
    // The host's allocator and the sanitizers' may take a few of their own; a leak would be a thousand.
    EXPECT_LT(mappings(), maps_before + kKernels / 10);
}

TEST(Lifetime, KernelsOnOsThreadsLeaveNoThreadsTimersOrFiles) {
    start_and_stop(2, 2, hosted::Clock::threads);
    const std::size_t maps_before = mappings();
    const std::size_t files_before = open_files();
    const std::size_t threads_before = threads();
    constexpr u32 kTimes = 50;
    start_and_stop(kTimes, 2, hosted::Clock::threads);
    EXPECT_EQ(open_files(), files_before);
    EXPECT_EQ(threads(), threads_before);
    EXPECT_LT(mappings(), maps_before + kTimes);
}

// A machine's RAM is an open file, and the usual soft limit is 1,024.
void allow_files() {
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

TEST(Lifetime, AThousandKernelsLiveInOneProcess) {
    ASSERT_NO_FATAL_FAILURE(allow_files());
    std::vector<std::unique_ptr<Whole>> all;
    for (u32 i = 0; i < kKernels; ++i) {
        // Every fifth has the same seed.
        all.push_back(std::make_unique<Whole>(
            options_of(i % 5 + 1, 1 + i % 5 % 2, hosted::Clock::virtual_time)));
    }
    std::vector<hosted::Result> results;
    for (auto& whole : all) {
        results.push_back(whole->run());
        ASSERT_EQ(results.back().end, hosted::End::limit);
    }
    // All of them live still, in the middle of their programs, and each did what its seed says.
    for (u32 i = 0; i < kKernels; ++i) {
        const Whole& same = *all[i % 5];
        ASSERT_NE(all[i]->kernel->root, nullptr);
        ASSERT_NE(all[i]->counts.pieces[0], 0u);
        ASSERT_EQ(all[i]->counts.pieces[0], same.counts.pieces[0]);
        ASSERT_EQ(all[i]->counts.pieces[1], same.counts.pieces[1]);
        ASSERT_EQ(results[i].entries, results[i % 5].entries);
        ASSERT_EQ(results[i].time, results[i % 5].time);
    }
}

}  // namespace
}  // namespace ravelin
