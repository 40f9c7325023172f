// What cases ask of order and preemption: each measure holds on a sound trace and is denied, with its
// records, on one that does not show it.
#include <gmock/gmock.h>

#include "tests/oracle/support.h"
#include "tools/oracle/measures.h"

namespace ravelin {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

oracle::Window whole(const oracle::Trace& trace) {
    return {.first = 0, .last = trace.records.size()};
}

sim::Plan napping() {
    sim::Plan plan = sim::spinners(1, {100}, 100);
    plan.script.insert(
        plan.script.begin(),
        sim::Create{.name = "sleeper", .parent = "users", .weight = 100, .account = 9});
    plan.script.insert(plan.script.begin() + 1,
                       sim::Spawn{.budget = "sleeper", .behaviour = {.burst = 100, .nap = 13'500}});
    return plan;
}

TEST(WakeNoPreempt, NapsEndMidSlice) {
    const oracle::Trace trace = test::trace_of(napping());
    const oracle::Replay replay = oracle::replay(trace, {});
    const oracle::Measure measure = oracle::wake_no_preempt(replay, whole(trace), 9, 20);
    EXPECT_THAT(measure.findings, IsEmpty());
    EXPECT_GE(measure.value, 20);
}

TEST(WakeNoPreempt, TooFewNaps) {
    const oracle::Trace trace = test::trace_of(napping());
    const oracle::Replay replay = oracle::replay(trace, {});
    const oracle::Measure measure = oracle::wake_no_preempt(replay, whole(trace), 9, 100'000);
    ASSERT_THAT(measure.findings, SizeIs(1));
    EXPECT_THAT(measure.findings[0].text, HasSubstr("100000 are asked for"));
    EXPECT_EQ(oracle::wake_no_preempt(replay, whole(trace), 8, 1).value, 0);
}

TEST(WakeNoPreempt, OfDeviceInterruptsAlone) {
    const oracle::Trace trace = test::trace_of(napping());
    oracle::Replay replay = oracle::replay(trace, {});
    const auto by_device = [&](std::uint64_t at_least) {
        return oracle::wake_no_preempt(replay, whole(trace), 9, at_least, oracle::Waker::device);
    };
    EXPECT_EQ(by_device(1).value, 0) << "every nap ended at a timeout";
    ASSERT_THAT(by_device(1).findings, SizeIs(1));
    EXPECT_EQ(by_device(1).findings[0].check, "irq_wake_no_preempt");
    for (std::size_t i = 0; i < replay.wakes.size(); i += 2) {
        replay.wakes[i].by_device = true;
    }
    EXPECT_GE(by_device(5).value, 5);
    EXPECT_LT(by_device(5).value, oracle::wake_no_preempt(replay, whole(trace), 9, 5).value);
}

TEST(WakeNoPreempt, AWakeThatTookTheHart) {
    const oracle::Trace trace = test::trace_of(napping());
    oracle::Replay replay = oracle::replay(trace, {});
    const auto wake = std::find_if(replay.wakes.begin(), replay.wakes.end(), [&](const auto& w) {
        return w.over_runner && w.resumed && replay.runs[w.run].budget != w.budget &&
               replay.budget(w.budget)->account == 9;
    });
    ASSERT_NE(wake, replay.wakes.end());
    wake->resumed = false;
    replay.runs[wake->run].how = abi::TraceLeave::preempted;
    const oracle::Measure measure = oracle::wake_no_preempt(replay, whole(trace), 9, 1);
    ASSERT_FALSE(measure.findings.empty());
    EXPECT_THAT(measure.findings[0].text, HasSubstr("took hart 0 from budget"));
}

class WakeWait : public testing::Test {
  protected:
    WakeWait() : trace_(test::trace_of(napping())), replay_(oracle::replay(trace_, {})) {}

    oracle::Measure measure(const oracle::WaitBounds& bounds) {
        return oracle::wake_wait(trace_, replay_, whole(trace_), 9, bounds);
    }

    oracle::Trace trace_;
    oracle::Replay replay_;
};

TEST_F(WakeWait, WithinASlice) {
    const oracle::Measure found = measure({.at_floor = 20, .p50_us = 1'000, .p99_us = 1'100});
    EXPECT_THAT(found.findings, IsEmpty());
    EXPECT_GT(found.value, 0);
}

TEST_F(WakeWait, OverItsBounds) {
    const oracle::Measure found = measure({.p50_us = 1, .p99_us = 1});
    ASSERT_THAT(found.findings, SizeIs(2));
    EXPECT_THAT(found.findings[0].text, HasSubstr("percentile 50 of the waits of account 9 is"));
    EXPECT_THAT(found.findings[1].text, HasSubstr("us, over 1"));
    EXPECT_THAT(found.findings[1].records, SizeIs(2));
}

TEST_F(WakeWait, TooFewOfAKind) {
    for (oracle::Wake& wake : replay_.wakes) {
        wake.pass = wake.floor + 1;
    }
    const oracle::Measure found = measure({.at_floor = 1, .p50_us = 9'000, .p99_us = 9'000});
    ASSERT_THAT(found.findings, SizeIs(1));
    EXPECT_THAT(found.findings[0].text, HasSubstr("woke 0 times at the floor"));
    EXPECT_THAT(measure({.ahead = 20, .p50_us = 9'000, .p99_us = 9'000}).findings, IsEmpty());
    EXPECT_THAT(oracle::wake_wait(trace_, replay_, whole(trace_), 8, {}).findings, SizeIs(1));
}

sim::Plan four_threads() {
    sim::Plan plan;
    plan.script.push_back(
        sim::Create{.name = "four", .parent = "users", .weight = 100, .account = 1});
    plan.script.push_back(sim::Spawn{.budget = "four", .behaviour = {}, .threads = 2});
    plan.script.push_back(sim::Spawn{.budget = "four", .behaviour = {}, .threads = 2});
    plan.script.push_back(sim::Sleep{.ticks = 50'000});
    sim::open_window(plan.script);
    plan.script.push_back(sim::Sleep{.ticks = 1'000'000});
    sim::close_window(plan.script);
    return plan;
}

class RoundRobin : public testing::Test {
  protected:
    RoundRobin() : trace_(test::trace_of(four_threads())), replay_(oracle::replay(trace_, {})) {
        std::string error;
        window_ = oracle::find_windows(replay_, error).at(0);
    }

    oracle::Measure measure(std::uint64_t threads = 4, std::uint64_t rounds = 12,
                            std::uint64_t tolerance = 100) {
        return oracle::round_robin(trace_, replay_, window_, 1, threads, rounds, tolerance);
    }

    oracle::Trace trace_;
    oracle::Replay replay_;
    oracle::Window window_;
};

TEST_F(RoundRobin, FourThreadsTakeTurns) {
    const oracle::Measure found = measure();
    EXPECT_THAT(found.findings, IsEmpty());
    EXPECT_GE(found.value, 12);
}

TEST_F(RoundRobin, OneOutOfTurn) {
    std::vector<oracle::Run*> runs;
    for (oracle::Run& run : replay_.runs) {
        if (run.picked >= window_.first && run.user > 5'000) {
            runs.push_back(&run);
        }
    }
    ASSERT_GT(runs.size(), 20U);
    std::swap(runs[9]->thread, runs[10]->thread);
    const oracle::Measure found = measure();
    ASSERT_FALSE(found.findings.empty());
    EXPECT_THAT(found.findings[0].text, HasSubstr("out of turn"));
    EXPECT_THAT(found.findings[0].records, SizeIs(2));
}

TEST(RoundRobinOfTwoHarts, WhoRunsElsewhereIsLeftOut) {
    oracle::Trace trace;
    trace.head.slice_ticks = 10;
    oracle::Replay replay;
    replay.budgets.push_back({.id = 7, .account = 1});
    const auto run = [&](std::uint32_t hart, std::uint64_t thread, std::uint64_t picked,
                         std::uint64_t lost) {
        replay.runs.push_back({.hart = hart,
                               .budget = 7,
                               .thread = thread,
                               .picked = picked,
                               .lost = lost,
                               .user = 10});
    };
    run(0, 1, 1, 10);  // all along
    run(1, 2, 2, 4);
    run(1, 3, 4, 6);
    run(1, 2, 6, 12);  // 1 runs on hart 0
    run(0, 3, 10, 20);
    run(1, 1, 12, 20);
    const oracle::Window window{.first = 0, .last = 30};
    const auto found = [&] { return oracle::round_robin(trace, replay, window, 1, 3, 2, 100); };
    EXPECT_THAT(found().findings, IsEmpty());
    EXPECT_EQ(found().value, 2);
    replay.runs[0].lost = 5;
    ASSERT_FALSE(found().findings.empty());
    EXPECT_THAT(found().findings[0].text, HasSubstr("thread 0.2 runs behind 0.3 in round 2"));
}

TEST_F(RoundRobin, TooFewRoundsOrThreads) {
    EXPECT_THAT(measure(4, 1000).findings.at(0).text, HasSubstr("1000 are asked for"));
    EXPECT_THAT(measure(5).findings.at(0).text, HasSubstr("4 threads"));
}

TEST_F(RoundRobin, OneThreadGetsLess) {
    std::uint64_t victim = 0;
    for (oracle::Run& run : replay_.runs) {
        if (run.picked < window_.first || run.user < 5'000) {
            continue;
        }
        victim = victim == 0 ? run.thread : victim;
        if (run.thread == victim) {
            run.user = run.user * 8 / 10;
        }
    }
    const oracle::Measure found = measure();
    ASSERT_FALSE(found.findings.empty());
    EXPECT_THAT(found.findings[0].text, HasSubstr("the threads' mean"));
}

sim::Plan groups_of_three() {
    sim::Plan plan = sim::spinners(1, {100}, 3);
    for (const std::uint16_t account : {std::uint16_t{11}, std::uint16_t{12}}) {
        sim::Spawn together;
        for (int i = 0; i < 3; ++i) {
            const std::string name = std::to_string(account) + "." + std::to_string(i);
            plan.script.push_back(
                sim::Create{.name = name, .parent = "users", .weight = 100, .account = account});
            (i == 0 ? together.budget : together.also.emplace_back()) = name;
        }
        plan.script.emplace_back(together);
        plan.script.push_back(sim::Sleep{.ticks = 100'000});
    }
    return plan;
}

TEST(Ties, GroupsRunLowestIdFirst) {
    const oracle::Trace trace = test::trace_of(groups_of_three());
    const oracle::Replay replay = oracle::replay(trace, {});
    for (const std::uint16_t account : {std::uint16_t{11}, std::uint16_t{12}}) {
        const oracle::Measure found = oracle::ties(replay, account, 3);
        EXPECT_THAT(found.findings, IsEmpty());
        EXPECT_EQ(found.value, 1);
    }
}

TEST(Ties, AGroupThatRanOtherwise) {
    const oracle::Trace trace = test::trace_of(groups_of_three());
    oracle::Replay replay = oracle::replay(trace, {});
    std::vector<oracle::Run*> runs;
    for (oracle::Run& run : replay.runs) {
        if (replay.budget(run.budget)->account == 11) {
            runs.push_back(&run);
        }
    }
    std::swap(runs.at(0)->budget, runs.at(1)->budget);
    EXPECT_THAT(oracle::ties(replay, 11, 3).findings.at(0).text,
                HasSubstr("were not picked lowest id first"));
    EXPECT_THAT(oracle::ties(replay, 12, 3).findings, IsEmpty());
}

TEST(Ties, NoGroupAtAll) {
    const oracle::Trace trace = test::trace_of(groups_of_three());
    const oracle::Replay replay = oracle::replay(trace, {});
    EXPECT_THAT(oracle::ties(replay, 11, 4).findings.at(0).text, HasSubstr("no 4 budgets"));
    EXPECT_THAT(oracle::ties(replay, 13, 3).findings.at(0).text, HasSubstr("no 3 budgets"));
}

// A timer interrupt of account 1's thread charges 12 ticks to account 2 and 3 to account 1's child;
// a call charges 5 to account 2: 12 of account 1's 1,000 are others' timers.
/// Among four peers a child of weight 1 runs a slice under a parent of half a peer's weight; then a sibling.
class LiftDelay : public testing::Test {
  protected:
    void SetUp() override {
        for (const char* name : {"one", "two", "three", "four"}) {
            plan_.script.push_back(
                sim::Create{.name = name, .parent = "users", .weight = 20, .account = 2});
            plan_.script.push_back(sim::Spawn{.budget = name, .behaviour = {}});
        }
        plan_.script.push_back(
            sim::Create{.name = "parent", .parent = "users", .weight = 10, .account = 1});
        plan_.script.push_back(sim::Create{.name = "child", .parent = "parent", .weight = 1});
        plan_.script.push_back(sim::Spawn{.budget = "child", .behaviour = {}});
        plan_.script.push_back(sim::Sleep{.ticks = 80'000});
        plan_.script.push_back(sim::Destroy{.name = "child"});
        plan_.script.push_back(sim::Create{.name = "sibling", .parent = "parent", .weight = 1});
        plan_.script.push_back(sim::Spawn{.budget = "sibling", .behaviour = {}});
        plan_.script.push_back(sim::Sleep{.ticks = 400'000});
        trace_ = test::trace_of(plan_);
    }

    oracle::Measure measure(std::uint64_t at_least = 1) {
        return oracle::lift_delay(trace_, oracle::replay(trace_, {}), whole(trace_), 1, 2,
                                  at_least);
    }

    /// The first record of a kind behind `place`.
    std::size_t behind(std::size_t place, abi::TraceKind kind) {
        while (!test::is(trace_.records[place], kind)) {
            ++place;
        }
        return place;
    }

    sim::Plan plan_;
    oracle::Trace trace_;
};

TEST_F(LiftDelay, TheSiblingWaitsTheWorkOverTheParentsWeight) {
    EXPECT_THAT(measure().findings, IsEmpty());
    EXPECT_EQ(measure().value, 1);
}

TEST_F(LiftDelay, TooFew) {
    ASSERT_THAT(measure(2).findings, SizeIs(1));
    EXPECT_THAT(measure(2).findings[0].text, HasSubstr("1 siblings waited for a lift, and 2"));
}

TEST_F(LiftDelay, ADebtThatDoesNotDelay) {
    const std::size_t work = behind(0, abi::TraceKind::lift_work);
    trace_.records[work].x *= 3;
    ASSERT_THAT(measure(0).findings, SizeIs(1));
    EXPECT_EQ(measure(0).findings[0].check, "lift_delay");
    EXPECT_THAT(measure(0).findings[0].text, HasSubstr("foretells 5.7 rounds"));
}

TEST_F(LiftDelay, ASiblingThatWakesBehindTheDebt) {
    const std::size_t lift = behind(0, abi::TraceKind::lift);
    const std::size_t wake = behind(lift, abi::TraceKind::wake);
    trace_.records[wake].x /= 3;
    ASSERT_THAT(measure(0).findings, SizeIs(1));
    EXPECT_THAT(measure(0).findings[0].text, HasSubstr("its lead at its wake is"));
}

TEST_F(LiftDelay, TheFloorRisesMeanwhile) {
    auto& records = trace_.records;
    const std::size_t lift = behind(0, abi::TraceKind::lift);
    std::size_t last = lift;
    while (!test::is(records[last], abi::TraceKind::floor)) {
        --last;
    }
    const abi::TraceRecord floor = records[last];
    records[last].x -= plan_.slice * (std::uint64_t{1} << 20) / 20;
    constexpr std::size_t kGroup = 4;  // lift, lift_work, lifted, rem
    records.insert(records.begin() + static_cast<std::ptrdiff_t>(lift + kGroup), floor);
    ASSERT_THAT(measure(0).findings, SizeIs(1));
    EXPECT_THAT(measure(0).findings[0].text, HasSubstr("the floor rises by 1.0 rounds"));
}

TEST_F(LiftDelay, PeersThatAreNotAlike) {
    const auto replay = oracle::replay(trace_, {});
    const oracle::Measure measure = oracle::lift_delay(trace_, replay, whole(trace_), 1, 3, 0);
    ASSERT_THAT(measure.findings, SizeIs(1));
    EXPECT_THAT(measure.findings[0].text, HasSubstr("have not one weight"));
}

TEST(Figures, ForeignTimerWorkIsThatOfOtherAccounts) {
    using abi::TraceCause;
    using abi::TraceCharge;
    using abi::TraceKind;
    oracle::Trace trace;
    const auto add = [&](TraceKind kind, std::uint64_t id, std::uint64_t x, auto what) {
        trace.records.push_back({.x = x,
                                 .y = 0,
                                 .id = id,
                                 .entry = 1,
                                 .kind = static_cast<std::uint8_t>(kind),
                                 .hart = 0,
                                 .what = static_cast<std::uint16_t>(what)});
    };
    add(TraceKind::enter, 7, 0, TraceCause::timer);
    add(TraceKind::charge, 7, 997, TraceCharge::user);
    add(TraceKind::charge, 8, 12, TraceCharge::expiry);
    add(TraceKind::charge, 9, 3, TraceCharge::expiry);
    add(TraceKind::enter, 7, 0, TraceCause::call);
    add(TraceKind::charge, 8, 5, TraceCharge::expiry);
    oracle::Replay replay;
    for (const auto& [id, account] : {std::pair{7, 1}, std::pair{9, 1}, std::pair{8, 2}}) {
        replay.budgets.push_back(
            {.id = static_cast<std::uint64_t>(id), .account = static_cast<std::uint16_t>(account)});
    }
    EXPECT_NEAR(oracle::foreign_timer_most(trace, replay, whole(trace)), 12.0, 1e-9);
    const oracle::Window windows[] = {{.first = 0, .last = 2}, whole(trace)};
    for (const oracle::Figure& figure : oracle::figures(trace, replay, windows)) {
        if (figure.name == "foreign_timer_most") {
            EXPECT_NEAR(figure.value, 12.0, 1e-9);
        }
    }
}

TEST(Figures, LiftsThatTheHigherPassWouldNotMake) {
    const auto replay_of = [](bool runs) {
        sim::Plan plan = sim::spinners(1, {100, 100}, 5);
        plan.script.push_back(sim::Create{.name = "child", .parent = "spinner 2", .weight = 50});
        if (runs) {
            plan.script.push_back(sim::Spawn{.budget = "child", .behaviour = {}});
            plan.script.push_back(sim::Sleep{.ticks = 100'000});
        }
        plan.script.push_back(sim::Destroy{.name = "child"});
        return oracle::replay(test::trace_of(plan), {});
    };
    EXPECT_EQ(replay_of(true).lifts, 3U) << "two are the marks'";
    EXPECT_GE(replay_of(true).telling_lifts, 1U);
    EXPECT_EQ(replay_of(false).lifts, 3U);
    EXPECT_EQ(replay_of(false).telling_lifts, 0U);
}

TEST(Figures, AllAreNamedAndGiven) {
    const oracle::Trace trace = test::trace_of(napping());
    const oracle::Replay replay = oracle::replay(trace, {});
    const oracle::Window all[] = {whole(trace)};
    const std::vector<oracle::Figure> given = oracle::figures(trace, replay, all);
    ASSERT_EQ(given.size(), oracle::figure_names().size());
    double nobody = 0;
    double parts = 0;
    for (std::size_t i = 0; i < given.size(); ++i) {
        EXPECT_EQ(given[i].name, oracle::figure_names()[i].name);
        nobody = given[i].name == "nobody" ? given[i].value : nobody;
        parts += given[i].name.starts_with("nobody_") ? given[i].value : 0;
    }
    EXPECT_NEAR(parts, nobody, 1e-9);
    EXPECT_GT(nobody, 0);
}

double figure_of(const oracle::Trace& trace, std::string_view name) {
    const oracle::Window all[] = {whole(trace)};
    for (const oracle::Figure& figure : oracle::figures(trace, {}, all)) {
        if (figure.name == name) {
            return figure.value;
        }
    }
    return -1;
}

TEST(Figures, InterruptsAndHandOversOfTheLock) {
    oracle::Trace trace;
    trace.head.timebase = 10'000'000;
    trace.head.harts = 2;
    std::uint32_t entry = 0;
    const auto enters = [&](std::uint8_t hart, abi::TraceCause cause, bool due) {
        const std::uint64_t time = 100 * ++entry;
        const auto add = [&](abi::TraceKind kind, std::uint16_t what) {
            trace.records.push_back({.x = time,
                                     .y = time,
                                     .id = 0,
                                     .entry = entry,
                                     .kind = static_cast<std::uint8_t>(kind),
                                     .hart = hart,
                                     .what = what});
        };
        add(abi::TraceKind::enter, static_cast<std::uint16_t>(cause));
        if (due) {
            add(abi::TraceKind::expire, 0);
        }
        add(abi::TraceKind::leave, 0);
    };
    enters(0, abi::TraceCause::call, false);
    enters(0, abi::TraceCause::timer, false);
    enters(0, abi::TraceCause::kick, false);
    enters(1, abi::TraceCause::timer, true);
    EXPECT_EQ(figure_of(trace, "interrupts_most"), 2);
    EXPECT_EQ(figure_of(trace, "hand_overs"), 0) << "what was due is a reason";
    enters(0, abi::TraceCause::external, false);
    enters(1, abi::TraceCause::timer, false);
    EXPECT_EQ(figure_of(trace, "interrupts_most"), 3);
    EXPECT_EQ(figure_of(trace, "hand_overs"), 2);
}

/// A trace written by hand, entry by entry, of one hart at 10 MHz.
class Script {
  public:
    Script() {
        trace.head.timebase = 10'000'000;
        trace.head.harts = 1;
    }

    void enter(std::uint64_t time, abi::TraceCause cause, std::uint64_t interrupted) {
        ++entry_;
        now_ = time;
        add(abi::TraceKind::enter, interrupted, time, time, static_cast<std::uint16_t>(cause));
    }
    void add(abi::TraceKind kind, std::uint64_t id, std::uint64_t x = 0, std::uint64_t y = 0,
             std::uint16_t what = 0) {
        trace.records.push_back({.x = x,
                                 .y = y,
                                 .id = id,
                                 .entry = entry_,
                                 .kind = static_cast<std::uint8_t>(kind),
                                 .hart = 0,
                                 .what = what});
    }
    /// The entry's return, `ticks` behind its beginning.
    void leave(std::uint64_t id, std::uint64_t ticks) {
        add(abi::TraceKind::leave, id, now_ + ticks);
    }

    oracle::Trace trace;

  private:
    std::uint32_t entry_ = 0;
    std::uint64_t now_ = 0;
};

TEST(Figures, SectionsOfSliceEnds) {
    Script script;
    const auto slice_end = [&](std::uint64_t time, std::uint64_t ticks) {
        script.enter(time, abi::TraceCause::timer, 5);
        script.add(abi::TraceKind::requeue, 5);
        script.leave(5, ticks);
    };
    for (std::uint64_t i = 1; i <= 100; ++i) {
        slice_end(10'000 * i, 10 * i);
    }
    EXPECT_EQ(figure_of(script.trace, "slice_end_longest"), 100) << "1000 ticks";
    EXPECT_EQ(figure_of(script.trace, "slice_end_p99"), 99);
    // None of these is one: a call, an interrupt that finds something due, one that ends no slice.
    script.enter(2'000'000, abi::TraceCause::call, 5);
    script.add(abi::TraceKind::requeue, 5);
    script.leave(5, 5'000);
    script.enter(2'010'000, abi::TraceCause::timer, 5);
    script.add(abi::TraceKind::expire, 6);
    script.add(abi::TraceKind::requeue, 5);
    script.leave(5, 5'000);
    script.enter(2'020'000, abi::TraceCause::timer, 5);
    script.leave(5, 5'000);
    EXPECT_EQ(figure_of(script.trace, "slice_end_longest"), 100);
    // An audit is not the slice end's.
    script.enter(2'030'000, abi::TraceCause::timer, 5);
    script.add(abi::TraceKind::requeue, 5);
    script.add(abi::TraceKind::charge, 0, 4'000, 0,
               static_cast<std::uint16_t>(abi::TraceCharge::audit));
    script.leave(5, 5'010);
    EXPECT_EQ(figure_of(script.trace, "slice_end_longest"), 101);
}

TEST(Figures, TheDestroyersWaitForItsNextPick) {
    Script script;
    const auto destroys = [&](std::uint64_t time, std::uint16_t by_deadline) {
        script.enter(time, abi::TraceCause::call, 5);
        script.add(abi::TraceKind::destroy_begin, 9, time, 0, by_deadline);
        script.leave(5, 100);
    };
    const auto hands_over = [&](std::uint64_t time, std::uint64_t from, std::uint64_t to) {
        script.enter(time, abi::TraceCause::timer, from);
        script.add(abi::TraceKind::requeue, from);
        script.add(abi::TraceKind::pick, to);
        script.leave(to, 10);
    };
    destroys(1'000, 0);
    hands_over(11'000, 5, 6);
    hands_over(21'000, 6, 7);
    hands_over(31'000, 7, 5);
    EXPECT_EQ(figure_of(script.trace, "destroyer_away"), 2'000);
    // Only the first wait behind a destruction counts, and no deadline's.
    hands_over(41'000, 5, 6);
    hands_over(141'000, 6, 5);
    destroys(142'000, 1);
    hands_over(151'000, 5, 6);
    hands_over(251'000, 6, 5);
    EXPECT_EQ(figure_of(script.trace, "destroyer_away"), 2'000);
}

TEST(Figures, PicksAheadOfANewborns) {
    Script script;
    script.enter(1'000, abi::TraceCause::call, 5);
    script.add(abi::TraceKind::create, 9, 5);
    script.add(abi::TraceKind::pick, 6);
    script.add(abi::TraceKind::pick, 6);
    EXPECT_EQ(figure_of(script.trace, "newborn_passed"), 0) << "it had no thread";
    script.add(abi::TraceKind::wake, 9);
    script.add(abi::TraceKind::pick, 6);
    script.add(abi::TraceKind::pick, 7);
    EXPECT_EQ(figure_of(script.trace, "newborn_passed"), 1);
    script.add(abi::TraceKind::pick, 6);
    script.add(abi::TraceKind::pick, 9);
    script.add(abi::TraceKind::pick, 6);
    EXPECT_EQ(figure_of(script.trace, "newborn_passed"), 2);
    script.add(abi::TraceKind::wake, 9);
    script.add(abi::TraceKind::pick, 6);
    script.add(abi::TraceKind::pick, 6);
    script.add(abi::TraceKind::pick, 6);
    EXPECT_EQ(figure_of(script.trace, "newborn_passed"), 2) << "a later wake is no newborn's";
}

TEST(Figures, StaleWaitsOfTheWindowWithTheMost) {
    Script script;
    const auto expire = [&](abi::TraceExpiry what) {
        script.add(abi::TraceKind::expire, 5, 0, 0, static_cast<std::uint16_t>(what));
    };
    expire(abi::TraceExpiry::stale);
    expire(abi::TraceExpiry::timeout);
    expire(abi::TraceExpiry::stale);
    expire(abi::TraceExpiry::deadline);
    expire(abi::TraceExpiry::stale);
    EXPECT_EQ(figure_of(script.trace, "stale_waits"), 3);
    const oracle::Window two[] = {{.first = 0, .last = 2}, {.first = 2, .last = 5}};
    for (const oracle::Figure& figure : oracle::figures(script.trace, {}, two)) {
        if (figure.name == "stale_waits") {
            EXPECT_EQ(figure.value, 2);
        }
    }
}

TEST(Figures, WaitsForALockThatIsHeldAndForOneThatIsFree) {
    Script script;
    const auto enter = [&](std::uint32_t entry, std::uint8_t hart, std::uint64_t trap,
                           std::uint64_t locked, std::uint64_t left) {
        script.enter(trap, abi::TraceCause::call, 5);
        script.trace.records.back().y = locked;
        script.trace.records.back().hart = hart;
        script.add(abi::TraceKind::charge, 5, locked - trap, 0,
                   static_cast<std::uint16_t>(abi::TraceCharge::lock_wait));
        script.add(abi::TraceKind::charge, 5, 900 - (locked - trap), 0,
                   static_cast<std::uint16_t>(abi::TraceCharge::user));
        script.add(abi::TraceKind::leave, 5, left);
        script.trace.records.back().entry = entry;
    };
    enter(1, 0, 1'000, 1'000, 1'100);
    enter(2, 1, 1'050, 1'130, 1'140);  // 50 behind hart 0, and 30 of a free lock
    enter(3, 0, 1'120, 1'150, 1'160);  // 10 behind hart 1, and 20 of a free lock
    EXPECT_NEAR(figure_of(script.trace, "lock_waits"), 1'000.0 * 110 / 2'700, 1e-9);
    EXPECT_NEAR(figure_of(script.trace, "lock_waits_held"), 1'000.0 * 60 / 2'700, 1e-9);
    // The window with the most; what held the lock at its beginning counts.
    const oracle::Window two[] = {{.first = 0, .last = 4}, {.first = 4, .last = 12}};
    for (const oracle::Figure& figure : oracle::figures(script.trace, {}, two)) {
        if (figure.name == "lock_waits_held") {
            EXPECT_NEAR(figure.value, 1'000.0 * 60 / 1'800, 1e-9);
        }
    }
}

TEST(Figures, NobodysTimeOfTheWindowWithTheMost) {
    Script script;
    const auto charge = [&](std::uint64_t id, std::uint64_t ticks, abi::TraceCharge what) {
        script.add(abi::TraceKind::charge, id, ticks, 0, static_cast<std::uint16_t>(what));
    };
    charge(5, 990, abi::TraceCharge::user);
    charge(0, 10, abi::TraceCharge::nothing);
    charge(5, 970, abi::TraceCharge::user);
    charge(0, 30, abi::TraceCharge::no_pick);
    charge(0, 1'000, abi::TraceCharge::idle);
    const oracle::Window two[] = {{.first = 0, .last = 2}, {.first = 2, .last = 5}};
    for (const oracle::Figure& figure : oracle::figures(script.trace, {}, two)) {
        const double expected = figure.name == "nobody" || figure.name == "nobody_no_pick" ? 15
                                : figure.name == "nobody_nothing"                          ? 10
                                                                                           : -1;
        if (expected >= 0) {
            EXPECT_NEAR(figure.value, expected, 1e-9) << figure.name;
        }
    }
}

TEST(Figures, ThreadsTakenOffInTheMiddleOfTheirSlice) {
    Script script;
    for (int i = 0; i < 10; ++i) {
        script.add(abi::TraceKind::arm, 0);
    }
    oracle::Replay replay;
    const auto run = [&](std::uint64_t budget, std::uint64_t lost, std::uint64_t trapped,
                         abi::TraceLeave how) {
        replay.runs.push_back({.budget = budget,
                               .lost = lost,
                               .user = 5,
                               .slice_end = 1'000,
                               .trapped = trapped,
                               .how = how});
    };
    run(5, 3, 900, abi::TraceLeave::preempted);
    run(5, 4, 1'000, abi::TraceLeave::preempted);
    run(6, 5, 900, abi::TraceLeave::slice_end);
    run(6, 20, 900, abi::TraceLeave::preempted);
    const oracle::Window window{.first = 0, .last = 10};
    for (const oracle::Figure& figure : oracle::figures(script.trace, replay, {{window}})) {
        if (figure.name == "preempted") {
            EXPECT_EQ(figure.value, 1);
        }
        if (figure.name == "budgets_ran") {
            EXPECT_EQ(figure.value, 2);
        }
    }
}

}  // namespace
}  // namespace ravelin
