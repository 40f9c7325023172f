// Shares: windows, water-filling, and what is charged to whom.
#include <gmock/gmock.h>

#include "tests/oracle/support.h"
#include "tools/oracle/shares.h"

namespace ravelin {
namespace {

using oracle::Party;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

struct Judged {
    oracle::Trace trace;
    oracle::Replay replay;
    std::vector<oracle::Window> windows;
    std::string error;
};

Judged judged(const sim::Plan& plan) {
    Judged result;
    result.trace = test::trace_of(plan);
    result.replay = oracle::replay(result.trace, {});
    EXPECT_EQ(result.replay.rejected, 0U) << test::findings_of(result.replay, result.trace);
    result.windows = oracle::find_windows(result.replay, result.error);
    return result;
}

double share(Judged& run, std::uint16_t account) {
    oracle::WindowCharges charges = oracle::charges_in(run.trace, run.replay, run.windows.at(0));
    return oracle::per_thousand(charges.by_account[account].net(), charges.all.net());
}

TEST(WaterFilling, ByWeightAtOneHart) {
    const std::vector<Party> parties = {{100, 1}, {100, 1}, {300, 1}};
    EXPECT_THAT(oracle::water_filling(parties, 1),
                ElementsAre(DoubleNear(200, .01), DoubleNear(200, .01), DoubleNear(600, .01)));
}

TEST(WaterFilling, NoMoreThanItsThreads) {
    const std::vector<Party> parties = {{100, 1}, {100, 1}, {300, 1}};
    EXPECT_THAT(oracle::water_filling(parties, 2),
                ElementsAre(DoubleNear(250, .01), DoubleNear(250, .01), DoubleNear(500, .01)));
    const std::vector<Party> spread = {{100, 1}, {100, 1}, {300, 3}};
    EXPECT_THAT(oracle::water_filling(spread, 2),
                ElementsAre(DoubleNear(200, .01), DoubleNear(200, .01), DoubleNear(600, .01)));
}

TEST(WaterFilling, OneCapMakesAnother) {
    // Three harts: the first is capped, and then the second of what is left.
    const std::vector<Party> parties = {{1000, 1}, {500, 1}, {100, 1}, {100, 1}};
    EXPECT_THAT(oracle::water_filling(parties, 3),
                ElementsAre(DoubleNear(1000. / 3, .01), DoubleNear(1000. / 3, .01),
                            DoubleNear(1000. / 6, .01), DoubleNear(1000. / 6, .01)));
}

TEST(WaterFilling, FewerThreadsThanHarts) {
    const std::vector<Party> parties = {{100, 1}, {900, 1}};
    EXPECT_THAT(oracle::water_filling(parties, 4),
                ElementsAre(DoubleNear(500, .01), DoubleNear(500, .01)));
}

TEST(WaterFilling, NoWeightNoShare) {
    const std::vector<Party> parties = {{0, 1}, {100, 1}};
    EXPECT_THAT(oracle::water_filling(parties, 1), ElementsAre(0.0, DoubleNear(1000, .01)));
    EXPECT_THAT(oracle::water_filling({}, 1), ElementsAre());
}

TEST(Shares, SpinnersGetTheirWeights) {
    Judged one = judged(sim::spinners(1, {100, 100, 300}));
    EXPECT_NEAR(share(one, 1), 200, 10);
    EXPECT_NEAR(share(one, 2), 200, 10);
    EXPECT_NEAR(share(one, 3), 600, 10);
    Judged two = judged(sim::spinners(2, {100, 100, 300}));
    EXPECT_NEAR(share(two, 1), 250, 10);
    EXPECT_NEAR(share(two, 3), 500, 10);
}

TEST(Shares, ChildrenCountForTheirAccount) {
    sim::Plan plan = sim::spinners(1, {100, 100}, 0);
    plan.script.clear();
    plan.script.push_back(sim::Create{.name = "a", .parent = "users", .weight = 100, .account = 1});
    plan.script.push_back(sim::Create{.name = "child", .parent = "a", .weight = 50, .account = 1});
    plan.script.push_back(sim::Create{.name = "b", .parent = "users", .weight = 100, .account = 2});
    for (const char* name : {"a", "child", "b"}) {
        plan.script.push_back(sim::Spawn{.budget = name, .behaviour = {}});
    }
    plan.script.push_back(sim::Sleep{.ticks = 200'000});
    sim::open_window(plan.script);
    plan.script.push_back(sim::Sleep{.ticks = 2'000'000});
    sim::close_window(plan.script);
    Judged run = judged(plan);
    EXPECT_NEAR(share(run, 1), 500, 10);
    EXPECT_NEAR(share(run, 2), 500, 10);
    EXPECT_EQ(oracle::outermost(run.replay, 1).size(), 1U);
    EXPECT_EQ(oracle::why_not_judged(run.replay, run.windows[0], 1, 100), std::nullopt);
    EXPECT_THAT(oracle::why_not_judged(run.replay, run.windows[0], 1, 150),
                Optional(HasSubstr("has weight 100 in the trace, not 150")));
    EXPECT_THAT(oracle::why_not_judged(run.replay, run.windows[0], 3, 0),
                Optional(HasSubstr("no budget of account 3")));
}

TEST(Shares, NetTakesBilledLockWaitsOut) {
    Judged run = judged(sim::spinners(4, {100, 100, 100, 100, 100, 100}));
    const oracle::WindowCharges charges =
        oracle::charges_in(run.trace, run.replay, run.windows.at(0));
    std::uint64_t waits = 0;
    for (std::uint64_t at = run.windows[0].first; at < run.windows[0].last; ++at) {
        const abi::TraceRecord& r = run.trace.records[at];
        if (test::is(r, abi::TraceKind::charge) && r.id != 0 &&
            r.what == static_cast<std::uint16_t>(abi::TraceCharge::lock_wait)) {
            waits += r.x;
        }
    }
    EXPECT_GT(waits, 0U);
    EXPECT_EQ(charges.all.lock_waits, waits);
    EXPECT_EQ(charges.all.net() + waits, charges.all.gross);
}

TEST(Shares, ABudgetMustSpanItsWindow) {
    sim::Plan plan = sim::spinners(1, {100}, 5);
    plan.script.insert(plan.script.end() - 2,
                       sim::Create{.name = "late", .parent = "users", .weight = 10, .account = 7});
    sim::open_window(plan.script);
    plan.script.push_back(sim::Destroy{.name = "late"});
    sim::close_window(plan.script);
    const Judged run = judged(plan);
    ASSERT_EQ(run.windows.size(), 2U);
    EXPECT_THAT(oracle::why_not_judged(run.replay, run.windows[0], 7, 10),
                Optional(HasSubstr("is made within the window")));
    EXPECT_THAT(oracle::why_not_judged(run.replay, run.windows[1], 7, 10),
                Optional(HasSubstr("ends within the window")));
}

TEST(Shares, ABudgetMustKeepItsWeightInItsWindow) {
    sim::Plan plan = sim::spinners(1, {100, 100}, 5);
    plan.script.push_back(sim::Create{.name = "child", .parent = "spinner 2", .weight = 10});
    sim::open_window(plan.script);
    plan.script.push_back(sim::Destroy{.name = "child"});
    sim::close_window(plan.script);
    sim::open_window(plan.script);
    plan.script.push_back(sim::Sleep{.ticks = 20'000});
    sim::close_window(plan.script);
    const Judged run = judged(plan);
    ASSERT_EQ(run.windows.size(), 3U);
    for (const std::size_t window : {std::size_t{0}, std::size_t{2}}) {
        EXPECT_EQ(oracle::why_no_share(run.replay, run.windows[window], 2), std::nullopt);
    }
    EXPECT_EQ(oracle::why_no_share(run.replay, run.windows[1], 1), std::nullopt);
    EXPECT_THAT(oracle::why_no_share(run.replay, run.windows[1], 2),
                Optional(HasSubstr("of account 2 is reweighed within the window")));
}

TEST(Windows, MarksMustPair) {
    sim::Plan plan = sim::spinners(1, {100}, 5);
    sim::open_window(plan.script);
    EXPECT_THAT(judged(plan).error, HasSubstr("does not end"));
    sim::open_window(plan.script);
    EXPECT_THAT(judged(plan).error, HasSubstr("starts a window that is open"));
    plan = sim::spinners(1, {100}, 5);
    sim::close_window(plan.script);
    EXPECT_THAT(judged(plan).error, HasSubstr("ends a window that is not open"));
}

TEST(Tally, FindsForeignTimerTime) {
    // A sleeper's timeouts fire over the spinner and are billed to the sleeper.
    sim::Plan plan = sim::spinners(1, {100}, 100);
    plan.script.insert(
        plan.script.begin(),
        sim::Create{.name = "sleeper", .parent = "users", .weight = 100, .account = 9});
    plan.script.insert(plan.script.begin() + 1,
                       sim::Spawn{.budget = "sleeper", .behaviour = {.burst = 100, .nap = 3'000}});
    const Judged run = judged(plan);
    const oracle::Tally sum = oracle::tally(run.trace, run.windows[0].first, run.windows[0].last);
    EXPECT_GT(sum.foreign_timer_ticks, 0U);
    EXPECT_LT(sum.foreign_timer_ticks, sum.hart_ticks / 10);
}

}  // namespace
}  // namespace ravelin
