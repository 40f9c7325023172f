// What a page shows of one run beyond its verdict: how waits and stays were spread, and who ran on which
// hart around the places that matter. Read from the replay, for people; nothing here is judged.
//
// Bound: at most kMostViews views of at most kMostStays stays each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/oracle/replay.h"
#include "tools/oracle/shares.h"
#include "tools/testbench/case.h"

namespace ravelin::testbench {

inline constexpr std::size_t kMostViews = 8;
inline constexpr std::size_t kMostStays = 160;

/// The percentiles of every curve.
inline constexpr double kPercentiles[] = {0,  5,  10, 20, 30,   40, 50,   60,
                                          70, 80, 90, 95, 97.5, 99, 99.9, 100};

/// How one quantity of a group was spread.
struct Curve {
    std::string name;
    std::string group;  ///< a judged budget's name, or "all"
    std::string unit;
    std::uint64_t count = 0;
    std::vector<double> values;  ///< at kPercentiles
};

/// One thread's time on a hart. Times are microseconds from the trace's start.
struct Stay {
    std::uint32_t hart = 0;
    std::string who;
    double from = 0.0;
    double to = 0.0;
    std::string how;  ///< how it lost the hart
};

struct Mark {
    double at = 0.0;
    std::uint32_t hart = 0;
    std::string what;
};

/// The harts around one event.
struct View {
    std::string title;
    double at = 0.0;
    double from = 0.0;
    double to = 0.0;
    std::vector<Stay> stays;
    std::vector<Mark> marks;
};

struct Detail {
    std::vector<Curve> curves;
    std::vector<View> views;
};

/// `places`: records that decided a failure, with what it says, the first the most telling.
Detail detail_of(const Case& judged, const oracle::Trace& trace, const oracle::Replay& replay,
                 const std::vector<oracle::Window>& windows,
                 const std::vector<std::pair<std::uint64_t, std::string>>& places);

}  // namespace ravelin::testbench
