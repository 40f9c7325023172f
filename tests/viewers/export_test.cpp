// A trace for Perfetto is JSON of its format: spans of one track do not overlap, and what they add up to is
// what the trace says.
#include <map>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/oracle/support.h"
#include "tools/viewers/trace_event.h"

namespace ravelin {
namespace {

using abi::TraceKind;
using nlohmann::json;

class TraceEvents : public testing::Test {
  protected:
    TraceEvents() {
        sim::Plan plan = sim::spinners(2, {100, 300}, 20);
        plan.script.push_back(sim::Create{.name = "sleeper", .parent = "users", .weight = 300});
        plan.script.push_back(sim::Spawn{
            .budget = "sleeper", .behaviour = {.burst = 300, .nap = 4'000}, .threads = 1});
        plan.script.push_back(sim::Sleep{.ticks = 100'000});
        trace_ = test::trace_of(plan);
        std::ostringstream text;
        viewers::write_trace_events(trace_, text);
        events_ = json::parse(text.str()).at("traceEvents");
    }

    std::size_t records(TraceKind kind) const {
        return static_cast<std::size_t>(
            std::count_if(trace_.records.begin(), trace_.records.end(),
                          [&](const auto& record) { return test::is(record, kind); }));
    }

    std::size_t events(const std::string& phase, const std::string& name) const {
        return static_cast<std::size_t>(
            std::count_if(events_.begin(), events_.end(), [&](const json& event) {
                return event.at("ph") == phase && event.at("name") == name;
            }));
    }

    double ticks_a_microsecond() const { return static_cast<double>(trace_.head.timebase) / 1e6; }

    oracle::Trace trace_;
    json events_;
};

TEST_F(TraceEvents, EveryTrackHasAName) {
    std::set<std::pair<int, int>> named;
    std::set<std::pair<int, int>> used;
    for (const json& event : events_) {
        const std::pair<int, int> track = {event.at("pid"), event.at("tid")};
        if (event.at("ph") == "M") {
            named.insert(track);
        } else {
            used.insert(track);
        }
    }
    EXPECT_EQ(used, named);
    EXPECT_EQ(used.size(), 4U);
}

TEST_F(TraceEvents, EveryWakeIsAnInstant) {
    EXPECT_GT(records(TraceKind::wake), 10U);
    EXPECT_EQ(events("i", "wake"), records(TraceKind::wake));
    EXPECT_EQ(events("i", "end"), 1U);
}

/// One span an entry that left, and the user time between them.
TEST_F(TraceEvents, SpansAddUpToTheTrace) {
    std::uint64_t user = 0;
    for (const auto& record : trace_.records) {
        if (test::is(record, TraceKind::charge) &&
            record.what == static_cast<unsigned>(abi::TraceCharge::user)) {
            user += record.x;
        }
    }
    double shown = 0.0;
    std::size_t entries = 0;
    for (const json& event : events_) {
        if (event.at("ph") == "X" && event.at("cat") == "user") {
            shown += event.at("dur").get<double>();
        }
        entries += event.at("ph") == "X" && event.at("args").contains("entry") ? 1 : 0;
    }
    EXPECT_EQ(entries, records(TraceKind::leave));
    EXPECT_NEAR(shown * ticks_a_microsecond(), static_cast<double>(user), 1.0);
}

TEST_F(TraceEvents, SpansOfUserCodeDoNotOverlap) {
    std::map<int, double> ends;
    for (const json& event : events_) {
        if (event.at("ph") != "X" || event.at("cat") != "user") {
            continue;
        }
        double& end = ends[event.at("tid")];
        EXPECT_GE(event.at("ts").get<double>(), end - 1e-6);
        end = event.at("ts").get<double>() + event.at("dur").get<double>();
    }
    EXPECT_EQ(ends.size(), 2U);
}

}  // namespace
}  // namespace ravelin
