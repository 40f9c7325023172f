#include "tools/testbench/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/testbench/report.h"

namespace ravelin::testbench {

namespace {

using nlohmann::json;

/// A value that moved by less of itself, and by less than one unit, did not move.
constexpr double kMoved = 0.01;
constexpr double kUnit = 1.0;

/// Movements that the table names; the rest are counted.
constexpr std::size_t kShown = 40;

struct Value {
    double value = 0.0;
    std::optional<double> margin;
};

struct Run {
    std::string verdict;
    std::string reason;
    double wall_s = 0.0;
    std::map<std::string, Value> values;
};

std::optional<double> margin_of(const json& row) {
    const auto margin = row.find("margin");
    return !row.at("judged").get<bool>() || margin == row.end() || margin->is_null()
               ? std::nullopt
               : std::optional(margin->get<double>());
}

std::map<std::string, Run> runs_of(const json& set) {
    std::map<std::string, Run> runs;
    for (const json& result : set.at("results")) {
        const std::string key = fmt::format(
            "{} {} h{} s{} {}", result.at("case").get<std::string>(),
            result.at("port").get<std::string>(), result.at("harts").get<unsigned>(),
            result.at("seed").get<std::uint64_t>(), result.at("clock").get<std::string>());
        Run run{.verdict = result.at("verdict"),
                .reason = result.value("reason", ""),
                .wall_s = result.value("wall_s", 0.0),
                .values = {}};
        for (const json& row : result.at("figures")) {
            const json group = row.at("group");
            const std::string name = row.at("name").get<std::string>() +
                                     (group.is_null() ? "" : fmt::format(" {}", group.dump()));
            run.values[name] = {row.at("value"), margin_of(row)};
        }
        for (const json& row : result.at("shares")) {
            run.values[fmt::format("share of {} in window {}", row.at("budget").get<std::string>(),
                                   row.at("window").get<unsigned>())] = {row.at("got"),
                                                                         margin_of(row)};
        }
        runs[key] = std::move(run);
    }
    return runs;
}

bool good(const std::string& verdict) {
    return verdict == "pass" || verdict == "recorded";
}

struct Movement {
    double relative = 0.0;
    std::vector<std::string> cells;
};

std::string shown(const std::optional<double>& value) {
    return value ? fmt::format("{:.1f}", *value) : std::string("–");
}

std::string titled(const std::string& title, std::vector<std::vector<std::string>> rows) {
    return rows.size() < 2 ? "" : fmt::format("{}\n{}\n", title, columns(rows));
}

}  // namespace

Comparison compare(const json& before, const json& after) {
    const std::map<std::string, Run> first = runs_of(before);
    const std::map<std::string, Run> second = runs_of(after);
    Comparison comparison;
    std::vector<std::vector<std::string>> verdicts = {{"  run", "A", "B", "reason"}};
    std::vector<std::vector<std::string>> only = {{"  run", "only in"}};
    std::vector<Movement> movements;
    std::size_t both = 0;
    double seconds[2] = {0.0, 0.0};
    for (const auto& [key, a] : first) {
        const auto found = second.find(key);
        if (found == second.end()) {
            only.push_back({"  " + key, "A"});
            comparison.worse = comparison.worse || good(a.verdict);
            continue;
        }
        const Run& b = found->second;
        ++both;
        seconds[0] += a.wall_s;
        seconds[1] += b.wall_s;
        if (a.verdict != b.verdict) {
            verdicts.push_back(
                {"  " + key, a.verdict, b.verdict, b.reason.empty() ? a.reason : b.reason});
            comparison.worse = comparison.worse || (good(a.verdict) && !good(b.verdict));
        }
        for (const auto& [name, value] : a.values) {
            const auto other = b.values.find(name);
            if (other == b.values.end()) {
                continue;
            }
            const double moved = other->second.value - value.value;
            const double relative =
                std::abs(moved) /
                std::max({std::abs(value.value), std::abs(other->second.value), 1e-9});
            const bool judged = value.margin || other->second.margin;
            if (std::abs(moved) >= kUnit && relative >= kMoved) {
                movements.push_back(
                    {relative + (judged ? 2.0 : 0.0),
                     {"  " + key, name, fmt::format("{:.1f}", value.value),
                      fmt::format("{:.1f}", other->second.value), fmt::format("{:+.1f}", moved),
                      judged ? fmt::format("{} to {}", shown(value.margin),
                                           shown(other->second.margin))
                             : std::string("not judged")}});
            }
        }
    }
    for (const auto& [key, b] : second) {
        if (!first.contains(key)) {
            only.push_back({"  " + key, "B"});
        }
    }
    std::sort(movements.begin(), movements.end(), [](const Movement& a, const Movement& b) {
        return a.relative != b.relative ? a.relative > b.relative : a.cells < b.cells;
    });
    std::vector<std::vector<std::string>> moved = {
        {"  run", "figure", "A", "B", "moved", "margin"}};
    for (std::size_t i = 0; i < movements.size() && i < kShown; ++i) {
        moved.push_back(movements[i].cells);
    }
    comparison.text = fmt::format("A: {}\nB: {}\n\n", before.at("commit").get<std::string>(),
                                  after.at("commit").get<std::string>());
    const std::size_t changed = verdicts.size() - 1;
    comparison.text += titled("verdicts that changed", std::move(verdicts));
    comparison.text += titled("figures that moved, judged ones first", std::move(moved));
    if (movements.size() > kShown) {
        comparison.text += fmt::format("  and {} more\n\n", movements.size() - kShown);
    }
    comparison.text += titled("runs of one set alone", std::move(only));
    comparison.text += fmt::format(
        "{} runs in both, {} verdicts changed, {} figures moved; {:.1f} s and {:.1f} s\n", both,
        changed, movements.size(), seconds[0], seconds[1]);
    return comparison;
}

}  // namespace ravelin::testbench
