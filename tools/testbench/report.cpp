#include "tools/testbench/report.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/testbench/process.h"

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

/// The judged figure that is nearest to missing, as cells of the table.
struct Nearest {
    std::string figure;
    std::string target;
    std::string margin;
    double relative = 0.0;
    bool found = false;
};

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

/// Columns as wide as their widest cell; a cell's width is its characters, not its bytes.
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

/// The first line of a command's output, or "".
std::string first_line_of(const std::vector<std::string>& command) {
    std::string first;
    run_process(command, std::chrono::seconds(10), [&](std::string_view line) {
        if (first.empty()) {
            first = line;
        }
        return true;
    });
    return first;
}

/// The compiler that a build directory was configured with, or "".
std::string compiler_of(const std::filesystem::path& folder) {
    std::ifstream cache(folder / "CMakeCache.txt");
    for (std::string line; std::getline(cache, line);) {
        if (line.starts_with("CMAKE_CXX_COMPILER:")) {
            const std::string compiler = line.substr(line.find('=') + 1);
            return first_line_of({compiler, "--version"});
        }
    }
    return "";
}

nlohmann::json rounded(double value) {
    return std::round(value * 10.0) / 10.0;
}

nlohmann::json json_of(const Outcome& outcome) {
    nlohmann::json json;
    json["case"] = outcome.name;
    json["port"] = name_of(outcome.port);
    json["board"] = outcome.port == Port::hosted ? "hosted" : "virt";
    json["harts"] = outcome.harts;
    json["seed"] = outcome.seed;
    json["clock"] = outcome.clock;
    json["build"] = outcome.preset;
    json["command"] = outcome.command;
    json["verdict"] = name_of(outcome.verdict);
    json["reason"] = outcome.reason;
    json["figures"] = nlohmann::json::array();
    for (const FigureRow& row : outcome.figures) {
        json["figures"].push_back({{"name", row.name},
                                   {"group", nullptr},
                                   {"value", rounded(row.value)},
                                   {"gross", nullptr},
                                   {"unit", row.unit},
                                   {"target", row.target ? nlohmann::json(*row.target) : nullptr},
                                   {"op", row.target ? nlohmann::json(name_of(row.op)) : nullptr},
                                   {"judged", row.judged}});
    }
    json["shares"] = nlohmann::json::array();
    for (const ShareRow& row : outcome.shares) {
        json["shares"].push_back({{"window", row.window},
                                  {"budget", row.budget},
                                  {"weight", row.weight},
                                  {"want", rounded(row.want)},
                                  {"got", rounded(row.got)},
                                  {"got_gross", rounded(row.gross)},
                                  {"op", name_of(row.op)},
                                  {"tolerance", row.tolerance},
                                  {"judged", row.judged}});
    }
    json["failures"] = nlohmann::json::array();
    for (const Failure& failure : outcome.failures) {
        json["failures"].push_back(
            {{"check", failure.check}, {"reason", failure.reason}, {"records", failure.records}});
    }
    json["trace"] = {{"records", outcome.records}, {"dropped", outcome.dropped}};
    json["wall_s"] = std::round(outcome.wall_s * 1000.0) / 1000.0;
    return json;
}

}  // namespace

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

std::string json_of(const std::vector<Outcome>& outcomes, const std::filesystem::path& root) {
    nlohmann::json json;
    json["version"] = 1;
    json["commit"] = first_line_of({"git", "-C", root.string(), "describe", "--always", "--dirty"});
    json["host"] = first_line_of({"uname", "-srm"});
    json["compilers"] = nlohmann::json::object();
    bool emulated = false;
    for (const Outcome& outcome : outcomes) {
        emulated = emulated || outcome.port != Port::hosted;
        if (!outcome.preset.empty() && !json["compilers"].contains(outcome.preset)) {
            json["compilers"][outcome.preset] = compiler_of(root / "build" / outcome.preset);
        }
    }
    if (emulated) {
        json["qemu"] = first_line_of({"qemu-system-riscv64", "--version"});
    }
    json["results"] = nlohmann::json::array();
    for (const Outcome& outcome : outcomes) {
        json["results"].push_back(json_of(outcome));
    }
    return json.dump(2) + "\n";
}

}  // namespace ravelin::testbench
