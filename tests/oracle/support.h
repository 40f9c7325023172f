// What the oracle's tests share: a trace of a plan, and what the replay says of one.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/oracle/sim.h"
#include "tools/oracle/replay.h"
#include "tools/oracle/trace_file.h"

namespace ravelin::test {

using Records = std::vector<abi::TraceRecord>;

inline oracle::Trace parsed(const Records& records, const sim::Plan& plan) {
    oracle::TraceResult result = oracle::parse_trace(sim::file_of(records, plan));
    EXPECT_EQ(result.refusal, "");
    return result.trace ? std::move(*result.trace) : oracle::Trace{};
}

inline oracle::Trace trace_of(const sim::Plan& plan) {
    return parsed(sim::run(plan), plan);
}

inline std::string findings_of(const oracle::Replay& replay, const oracle::Trace& trace) {
    std::string text;
    for (const oracle::Finding& finding : replay.findings) {
        text += oracle::to_text(finding, trace) + "\n";
    }
    return text;
}

inline bool is(const abi::TraceRecord& record, abi::TraceKind kind) {
    return record.kind == static_cast<std::uint8_t>(kind);
}

}  // namespace ravelin::test
