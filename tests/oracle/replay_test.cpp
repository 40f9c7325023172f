// Sound traces pass: every scenario of the simulator, at several hart counts and seeds.
#include <algorithm>
#include <ctime>

#include "tests/oracle/support.h"

namespace ravelin {
namespace {

using test::findings_of;
using test::trace_of;

/// Judges a plan at 1, 2, 3 and 4 harts and three seeds; gives the last replay.
oracle::Replay expect_sound(sim::Plan plan) {
    oracle::Replay last;
    for (std::uint32_t harts = 1; harts <= 4; ++harts) {
        for (plan.seed = 1; plan.seed <= 3; ++plan.seed) {
            plan.harts = harts;
            const oracle::Trace trace = trace_of(plan);
            last = oracle::replay(trace, {.late_ticks = 100});
            EXPECT_EQ(last.rejected, 0U) << harts << " harts, seed " << plan.seed << "\n"
                                         << findings_of(last, trace);
            EXPECT_EQ(last.harts_online, harts);
            EXPECT_EQ(last.end_kind, 0);
            if (last.rejected != 0) {
                return last;
            }
        }
    }
    return last;
}

TEST(Replay, SpinnersAreSound) {
    const oracle::Replay replay = expect_sound(sim::spinners(1, {100, 100, 300}));
    EXPECT_GT(replay.picks, 100U);
}

// A boot that takes a second says nothing of how long others wait for the lock.
TEST(Replay, TheLongestSectionLeavesTheBootOut) {
    oracle::Trace trace = trace_of(sim::spinners(1, {100, 100}));
    const std::uint64_t before = oracle::replay(trace, {.late_ticks = 100}).section_longest;
    EXPECT_GT(before, 0U);
    const auto leave = std::ranges::find(
        trace.records, static_cast<std::uint8_t>(abi::TraceKind::leave), &abi::TraceRecord::kind);
    ASSERT_NE(leave, trace.records.end());
    ASSERT_EQ(leave->entry, trace.records.front().entry + 1) << "the boot's";
    leave->x += 10'000'000;
    EXPECT_EQ(oracle::replay(trace, {.late_ticks = 100}).section_longest, before);
}

// What a thread's own call holds the kernel for past its slice's end is no user time; what it runs on for
// behind that is.
TEST(Replay, ACallThatOutlastsItsSlice) {
    const oracle::Trace sound = trace_of(sim::spinners(1, {100, 100}));
    // The first slice's end that interrupts a running thread.
    const auto end = std::ranges::find_if(sound.records, [](const abi::TraceRecord& r) {
        return test::is(r, abi::TraceKind::enter) &&
               static_cast<abi::TraceCause>(r.what & 0xff) == abi::TraceCause::timer && r.id != 0;
    });
    ASSERT_NE(end, sound.records.end());
    const auto at = static_cast<std::size_t>(end - sound.records.begin());
    const auto longest = [&](std::uint64_t left, std::uint64_t trapped) {
        oracle::Trace trace = sound;
        std::size_t leave = at;
        while (!test::is(trace.records[leave], abi::TraceKind::leave) ||
               trace.records[leave].id != trace.records[at].id) {
            --leave;
        }
        const std::uint64_t slice_end = trace.records[leave].y;
        trace.records[leave].x = slice_end + left;
        trace.records[at].x = trace.records[at].y = slice_end + trapped;
        trace.records.resize(at + 1);
        return oracle::replay(trace, {}).late_longest;
    };
    EXPECT_EQ(longest(500, 501), 1U);
    EXPECT_EQ(longest(500, 700), 200U);
}

TEST(Replay, OneHeavyBudgetIsCappedAndUncapped) {
    sim::Plan plan = sim::spinners(2, {900, 100}, 20);
    plan.script.push_back(sim::Spawn{.budget = "spinner 1", .behaviour = {}, .threads = 2});
    plan.script.push_back(sim::Sleep{.ticks = 200'000});
    plan.script.push_back(
        sim::Create{.name = "late", .parent = "users", .weight = 5000, .account = 3});
    plan.script.push_back(
        sim::Spawn{.budget = "late", .behaviour = {.burst = 7'000, .nap = 3'000}, .threads = 3});
    plan.script.push_back(sim::Sleep{.ticks = 400'000});
    plan.script.push_back(sim::Destroy{.name = "late"});
    plan.script.push_back(sim::Sleep{.ticks = 100'000});
    const oracle::Replay replay = expect_sound(plan);
    EXPECT_GT(replay.uncaps, 0U);
}

TEST(Replay, DeviceInterruptsAreSound) {
    sim::Plan plan = sim::spinners(1, {100, 300}, 20);
    plan.script.push_back(sim::Create{.name = "sleeper", .parent = "users", .weight = 100});
    plan.script.push_back(
        sim::Spawn{.budget = "sleeper", .behaviour = {.burst = 300, .nap = 4'000}, .threads = 2});
    for (std::uint64_t due : {20'000U, 31'000U, 44'000U}) {
        plan.script.push_back(sim::Create{
            .name = std::to_string(due), .parent = "users", .weight = 10, .deadline = due});
    }
    plan.script.push_back(sim::Sleep{.ticks = 300'000});
    plan.device_every = 3'700;
    const oracle::Replay replay = expect_sound(plan);
    EXPECT_GT(replay.claims, 20U);
    EXPECT_GT(replay.lost_claims, 20U);
}

TEST(Replay, SleepersAreSound) {
    sim::Plan plan = sim::spinners(1, {100, 100}, 1);
    for (int i = 0; i < 6; ++i) {
        const std::string name = "sleeper " + std::to_string(i);
        plan.script.push_back(sim::Create{
            .name = name, .parent = "users", .weight = 50U + 10U * static_cast<unsigned>(i)});
        plan.script.push_back(
            sim::Spawn{.budget = name, .behaviour = {.burst = 300, .nap = 9'000}, .threads = 2});
    }
    plan.script.push_back(sim::Sleep{.ticks = 1'000'000});
    const oracle::Replay replay = expect_sound(plan);
    EXPECT_GT(replay.wakes_counted, 100U);
}

TEST(Replay, ChurnIsSound) {
    sim::Plan plan = sim::spinners(1, {100, 1000}, 1);
    for (int i = 0; i < 40; ++i) {
        plan.script.push_back(sim::Create{.name = "outer", .parent = "spinner 2", .weight = 600});
        plan.script.push_back(sim::Create{.name = "inner", .parent = "outer", .weight = 600});
        plan.script.push_back(
            sim::Spawn{.budget = "inner", .behaviour = {.burst = 4'000, .nap = 500}, .threads = 2});
        plan.script.push_back(sim::Sleep{.ticks = 15'000});
        plan.script.push_back(sim::Destroy{.name = "outer"});
        plan.script.push_back(sim::Sleep{.ticks = 3'000});
    }
    const oracle::Replay replay = expect_sound(plan);
    EXPECT_GE(replay.lifts, 80U);
    EXPECT_GE(replay.weight_changes, 160U);
}

TEST(Replay, DeadlinesAreSound) {
    sim::Plan plan = sim::spinners(1, {100, 1000}, 1);
    for (unsigned i = 0; i < 40; ++i) {
        plan.script.push_back(sim::Create{
            .name = "due", .parent = "spinner 2", .weight = 10, .deadline = 13'000 + 400 * i});
        if (i % 2 == 0) {
            plan.script.push_back(sim::Spawn{.budget = "due", .behaviour = {}});
        }
        plan.script.push_back(sim::Sleep{.ticks = 40'000});
    }
    const oracle::Replay replay = expect_sound(plan);
    EXPECT_EQ(replay.deadlines, 40U);
}

/// Of processor time; an instrumented build is some times slower and says nothing about speed.
#if defined(__SANITIZE_ADDRESS__)
constexpr double kMostSeconds = 60.0;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr double kMostSeconds = 60.0;
#else
constexpr double kMostSeconds = 2.0;
#endif
#else
constexpr double kMostSeconds = 2.0;
#endif

TEST(Replay, AMillionRecordsTakeAtMostTwoSeconds) {
    const sim::Plan plan = sim::spinners(2, {100, 100, 300}, 42'000);
    const std::vector<std::byte> file = sim::file_of(sim::run(plan), plan);
    const std::clock_t start = std::clock();
    const oracle::TraceResult result = oracle::parse_trace(file);
    ASSERT_TRUE(result.trace) << result.refusal;
    EXPECT_GT(result.trace->records.size(), 1'000'000U);
    EXPECT_EQ(oracle::replay(*result.trace, {}).rejected, 0U);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    RecordProperty("milliseconds", static_cast<int>(1000 * seconds));
    EXPECT_LE(seconds, kMostSeconds);
}

}  // namespace
}  // namespace ravelin
