#include "tools/testbench/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace ravelin::testbench {

namespace {

/// Records a failure shows at most; the JSON has all.
constexpr std::size_t kShownFailures = 5;

std::string shown(Verdict verdict) {
    switch (verdict) {
    case Verdict::pass: return "PASS";
    case Verdict::fail: return "FAIL";
    case Verdict::recorded: return "RECORDED";
    case Verdict::notrun: return "NOT RUN";
    }
    return "?";
}

std::string indented(const std::string& text, const std::string& by) {
    std::string result;
    std::size_t from = 0;
    while (from < text.size()) {
        const std::size_t end = std::min(text.find('\n', from), text.size());
        result += by + text.substr(from, end - from) + "\n";
        from = end + 1;
    }
    return result;
}

std::string number(double value) {
    return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.1f}", value);
}

std::string rule_of(const ShareRow& row) {
    if (!row.judged) {
        return "recorded";
    }
    return fmt::format("{} {}, margin {:.0f}{}", name_of(row.op), row.tolerance, row.margin,
                       row.margin < 0.0 ? "  MISSED" : "");
}

}  // namespace

Nearest nearest_of(const Outcome& outcome) {
    Nearest nearest;
    const auto offer = [&](double margin, double allowed, auto make) {
        const double relative = margin / std::max(allowed, 1.0);
        if (!nearest.found || relative < nearest.relative) {
            nearest = make();
            nearest.relative = relative;
            nearest.found = true;
        }
    };
    for (const ShareRow& row : outcome.shares) {
        if (row.judged) {
            offer(row.margin, static_cast<double>(row.tolerance), [&] {
                const char* sign = row.op == Op::within ? "±" : row.op == Op::at_least ? "-" : "+";
                return Nearest{.figure = fmt::format("{} {:.0f}", row.budget, row.got),
                               .target = fmt::format("{:.0f}{}{}", row.want, sign, row.tolerance),
                               .margin = fmt::format("{:.0f}", row.margin)};
            });
        }
    }
    for (const FigureRow& row : outcome.figures) {
        if (row.judged) {
            offer(row.margin, static_cast<double>(*row.target), [&] {
                return Nearest{.figure = fmt::format("{} {}", row.name, number(row.value)),
                               .target = fmt::format(
                                   "{}{}", row.op == Op::at_least ? ">=" : "<=", *row.target),
                               .margin = number(row.margin)};
            });
        }
    }
    return nearest;
}

std::string columns(const std::vector<std::vector<std::string>>& rows) {
    const auto width = [](const std::string& text) {
        return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
            return (static_cast<unsigned>(c) & 0xc0U) != 0x80U;
        }));
    };
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i + 1 < row.size(); ++i) {
            widths[i] = std::max(widths[i], width(row[i]));
        }
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += row[i];
            if (i + 1 < row.size()) {
                line.append(widths[i] - width(row[i]) + 2, ' ');
            }
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string account_of(const Outcome& outcome) {
    std::string text = fmt::format(
        "{}  {}, {} hart{}, seed {}, clock {}: {}{}{}\n", outcome.name, name_of(outcome.port),
        outcome.harts, outcome.harts == 1 ? "" : "s", outcome.seed, outcome.clock,
        shown(outcome.verdict), outcome.reason.empty() ? "" : "  ", outcome.reason);
    if (outcome.verdict == Verdict::notrun) {
        return text;
    }
    text += fmt::format("  {} trace records, {:.2f} s\n", outcome.records, outcome.wall_s);
    if (!outcome.shares.empty()) {
        std::vector<std::vector<std::string>> rows = {
            {"  window", "budget", "weight", "threads", "owed", "got", "gross", "of 1000"}};
        for (const ShareRow& row : outcome.shares) {
            rows.push_back({fmt::format("  {}", row.window), row.budget, std::to_string(row.weight),
                            std::to_string(row.threads), fmt::format("{:.0f}", row.want),
                            fmt::format("{:.0f}", row.got), fmt::format("{:.0f}", row.gross),
                            rule_of(row)});
        }
        text += "\n" + columns(rows);
    }
    if (!outcome.figures.empty()) {
        std::vector<std::vector<std::string>> rows;
        for (const FigureRow& row : outcome.figures) {
            if (!row.target && row.value == 0.0) {
                continue;  // nothing to tell; the JSON has it
            }
            rows.push_back(
                {"  " + row.name, number(row.value) + (row.unit.empty() ? "" : " ") + row.unit,
                 !row.target ? ""
                 : !row.judged
                     ? "recorded"
                     : fmt::format("{} {}, margin {}{}", name_of(row.op), *row.target,
                                   number(row.margin), row.margin < 0.0 ? "  MISSED" : "")});
        }
        text += "\n" + columns(rows);
    }
    if (!outcome.failures.empty()) {
        text += "\n";
        for (std::size_t i = 0; i < outcome.failures.size() && i < kShownFailures; ++i) {
            const Failure& failure = outcome.failures[i];
            text += fmt::format("  {}: {}\n", failure.check, failure.reason);
            text += indented(failure.records, "    ");
        }
        if (outcome.failures.size() > kShownFailures) {
            text += fmt::format("  and {} more\n", outcome.failures.size() - kShownFailures);
        }
    }
    if (!outcome.trace_kept.empty()) {
        text += fmt::format("  trace: {}\n", outcome.trace_kept);
    }
    return text;
}

std::string table_of(const std::vector<Outcome>& outcomes) {
    std::vector<std::vector<std::string>> rows = {{"case", "port", "harts", "seed", "clock",
                                                   "verdict", "nearest", "target", "margin",
                                                   "reason"}};
    for (const Outcome& outcome : outcomes) {
        const Nearest nearest = nearest_of(outcome);
        rows.push_back({outcome.name, name_of(outcome.port), std::to_string(outcome.harts),
                        std::to_string(outcome.seed), outcome.clock, shown(outcome.verdict),
                        nearest.figure, nearest.target, nearest.margin, outcome.reason});
    }
    return columns(rows);
}

std::string sweeps_of(const std::vector<Outcome>& outcomes) {
    // A sweep: the runs of one case, port, hart count and clock, by seed.
    using Sweep = std::tuple<std::string, Port, std::uint32_t, std::string>;
    struct Rule {
        std::string target;
        std::vector<std::tuple<double, double, std::uint64_t>> runs;  // margin, value, seed
    };
    struct Runs {
        std::size_t count = 0;
        std::size_t good = 0;
        std::map<std::string, Rule> rules;
    };
    std::map<Sweep, Runs> sweeps;
    for (const Outcome& outcome : outcomes) {
        Runs& runs = sweeps[{outcome.name, outcome.port, outcome.harts, outcome.clock}];
        ++runs.count;
        runs.good +=
            outcome.verdict == Verdict::pass || outcome.verdict == Verdict::recorded ? 1 : 0;
        for (const ShareRow& row : outcome.shares) {
            if (row.judged) {
                Rule& rule =
                    runs.rules[fmt::format("share of {}, window {}", row.budget, row.window)];
                rule.target = fmt::format("{:.0f} {} {}", row.want, name_of(row.op), row.tolerance);
                rule.runs.emplace_back(row.margin, row.got, outcome.seed);
            }
        }
        for (const FigureRow& row : outcome.figures) {
            if (row.judged && row.target) {
                Rule& rule = runs.rules[row.name];
                rule.target = fmt::format("{} {}", name_of(row.op), *row.target);
                rule.runs.emplace_back(row.margin, row.value, outcome.seed);
            }
        }
    }
    std::vector<std::vector<std::string>> rows = {
        {"sweep", "passed", "judged", "target", "worst", "seed", "margin", "median"}};
    for (auto& [sweep, runs] : sweeps) {
        if (runs.count < 2) {
            continue;
        }
        std::string name =
            fmt::format("{} {} harts {} {}", std::get<0>(sweep), name_of(std::get<1>(sweep)),
                        std::get<2>(sweep), std::get<3>(sweep));
        std::string passed = fmt::format("{} of {}", runs.good, runs.count);
        if (runs.rules.empty()) {
            rows.push_back({name, passed});
        }
        for (auto& [rule_name, rule] : runs.rules) {
            std::sort(rule.runs.begin(), rule.runs.end());
            const auto& [margin, value, seed] = rule.runs.front();
            rows.push_back({name, passed, rule_name, rule.target, number(value),
                            std::to_string(seed), number(margin) + (margin < 0.0 ? "  MISSED" : ""),
                            number(std::get<1>(rule.runs[rule.runs.size() / 2]))});
            name.clear();
            passed.clear();
        }
    }
    return rows.size() == 1 ? "" : columns(rows);
}

}  // namespace ravelin::testbench
