#include "tools/testbench/results.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/testbench/process.h"

namespace ravelin::testbench {

namespace {

using nlohmann::json;

/// The first line of a command's output, or "".
std::string first_line_of(const std::vector<std::string>& command) {
    std::string first;
    run_process(command, {.timeout = std::chrono::seconds(10)}, [&](std::string_view line) {
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

double rounded(double value) {
    return std::round(value * 10.0) / 10.0;
}

Op op_of(const std::string& name) {
    return name == "within" ? Op::within : name == "at_least" ? Op::at_least : Op::at_most;
}

Verdict verdict_of(const std::string& name) {
    for (const Verdict verdict : {Verdict::pass, Verdict::fail, Verdict::recorded}) {
        if (name_of(verdict) == name) {
            return verdict;
        }
    }
    return Verdict::notrun;
}

json json_of(const FigureRow& row) {
    return {{"name", row.name},
            {"group", nullptr},
            {"value", rounded(row.value)},
            {"gross", nullptr},
            {"unit", row.unit},
            {"target", row.target ? json(*row.target) : json(nullptr)},
            {"op", row.target ? json(name_of(row.op)) : json(nullptr)},
            {"judged", row.judged},
            {"margin", row.target ? json(rounded(row.margin)) : json(nullptr)}};
}

json json_of(const ShareRow& row) {
    return {{"window", row.window},
            {"budget", row.budget},
            {"weight", row.weight},
            {"threads", row.threads},
            {"want", rounded(row.want)},
            {"got", rounded(row.got)},
            {"got_gross", rounded(row.gross)},
            {"op", name_of(row.op)},
            {"tolerance", row.tolerance},
            {"judged", row.judged},
            {"margin", rounded(row.margin)}};
}

json json_of(const Detail& detail) {
    json curves = json::array();
    for (const Curve& curve : detail.curves) {
        curves.push_back({{"name", curve.name},
                          {"group", curve.group},
                          {"unit", curve.unit},
                          {"count", curve.count},
                          {"values", curve.values}});
    }
    json views = json::array();
    for (const View& view : detail.views) {
        json stays = json::array();
        for (const Stay& stay : view.stays) {
            stays.push_back({stay.hart, stay.who, stay.from, stay.to, stay.how});
        }
        json marks = json::array();
        for (const Mark& mark : view.marks) {
            marks.push_back({mark.at, mark.hart, mark.what});
        }
        views.push_back({{"title", view.title},
                         {"at", view.at},
                         {"from", view.from},
                         {"to", view.to},
                         {"stays", std::move(stays)},
                         {"marks", std::move(marks)}});
    }
    return {{"curves", std::move(curves)}, {"views", std::move(views)}};
}

Detail detail_from(const json& from) {
    Detail detail;
    for (const json& curve : from.at("curves")) {
        detail.curves.push_back({.name = curve.at("name"),
                                 .group = curve.at("group"),
                                 .unit = curve.at("unit"),
                                 .count = curve.at("count"),
                                 .values = curve.at("values").get<std::vector<double>>()});
    }
    for (const json& view : from.at("views")) {
        View made{.title = view.at("title"),
                  .at = view.at("at"),
                  .from = view.at("from"),
                  .to = view.at("to"),
                  .stays = {},
                  .marks = {}};
        for (const json& stay : view.at("stays")) {
            made.stays.push_back({stay.at(0), stay.at(1), stay.at(2), stay.at(3), stay.at(4)});
        }
        for (const json& mark : view.at("marks")) {
            made.marks.push_back({mark.at(0), mark.at(1), mark.at(2)});
        }
        detail.views.push_back(std::move(made));
    }
    return detail;
}

/// A text as XML has it; what XML cannot hold is a question mark.
std::string escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        switch (c) {
        case '&': result += "&amp;"; break;
        case '<': result += "&lt;"; break;
        case '>': result += "&gt;"; break;
        case '"': result += "&quot;"; break;
        case '\n':
        case '\t': result += c; break;
        default: result += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
        }
    }
    return result;
}

}  // namespace

json json_of(const Outcome& outcome, bool whole) {
    json made;
    made["case"] = outcome.name;
    made["port"] = name_of(outcome.port);
    made["board"] = outcome.port == Port::hosted ? "hosted" : "virt";
    made["harts"] = outcome.harts;
    made["seed"] = outcome.seed;
    made["clock"] = outcome.clock;
    made["build"] = outcome.preset;
    made["command"] = outcome.command;
    made["verdict"] = name_of(outcome.verdict);
    made["reason"] = outcome.reason;
    made["runs"] = outcome.runs;
    made["figures"] = json::array();
    for (const FigureRow& row : outcome.figures) {
        made["figures"].push_back(json_of(row));
    }
    made["shares"] = json::array();
    for (const ShareRow& row : outcome.shares) {
        made["shares"].push_back(json_of(row));
    }
    made["failures"] = json::array();
    for (const Failure& failure : outcome.failures) {
        made["failures"].push_back(
            {{"check", failure.check}, {"reason", failure.reason}, {"records", failure.records}});
    }
    made["trace"] = {{"records", outcome.records}, {"dropped", outcome.dropped}};
    made["wall_s"] = std::round(outcome.wall_s * 1000.0) / 1000.0;
    if (whole) {
        made["trace_kept"] = outcome.trace_kept;
        made["description"] = outcome.description;
        made["detail"] = json_of(outcome.detail);
    }
    return made;
}

Outcome outcome_of(const json& from) {
    Outcome outcome;
    outcome.name = from.at("case");
    outcome.port = port_named(from.at("port")).value_or(Port::hosted);
    outcome.harts = from.at("harts");
    outcome.seed = from.at("seed");
    outcome.clock = from.at("clock");
    outcome.preset = from.at("build");
    outcome.command = from.at("command");
    outcome.verdict = verdict_of(from.at("verdict"));
    outcome.reason = from.at("reason");
    outcome.runs = from.at("runs");
    for (const json& row : from.at("figures")) {
        FigureRow made{.name = row.at("name"), .value = row.at("value"), .unit = row.at("unit")};
        made.judged = row.at("judged");
        if (!row.at("target").is_null()) {
            made.target = row.at("target").get<std::int64_t>();
            made.op = op_of(row.at("op"));
            made.margin = row.at("margin");
        }
        outcome.figures.push_back(std::move(made));
    }
    for (const json& row : from.at("shares")) {
        outcome.shares.push_back({.window = row.at("window"),
                                  .budget = row.at("budget"),
                                  .weight = row.at("weight"),
                                  .threads = row.at("threads"),
                                  .want = row.at("want"),
                                  .got = row.at("got"),
                                  .gross = row.at("got_gross"),
                                  .judged = row.at("judged"),
                                  .op = op_of(row.at("op")),
                                  .tolerance = row.at("tolerance"),
                                  .margin = row.at("margin")});
    }
    for (const json& failure : from.at("failures")) {
        outcome.failures.push_back({.check = failure.at("check"),
                                    .reason = failure.at("reason"),
                                    .records = failure.at("records")});
    }
    outcome.records = from.at("trace").at("records");
    outcome.dropped = from.at("trace").at("dropped");
    outcome.wall_s = from.at("wall_s");
    outcome.trace_kept = from.at("trace_kept");
    outcome.description = from.at("description");
    outcome.detail = detail_from(from.at("detail"));
    return outcome;
}

json set_of(const std::vector<Outcome>& outcomes, const std::filesystem::path& root, bool whole) {
    json set;
    set["version"] = 1;
    set["commit"] = first_line_of({"git", "-C", root.string(), "describe", "--always", "--dirty"});
    set["host"] = first_line_of({"uname", "-srm"});
    set["compilers"] = json::object();
    bool emulated = false;
    for (const Outcome& outcome : outcomes) {
        emulated = emulated || outcome.port != Port::hosted;
        if (!outcome.preset.empty() && !set["compilers"].contains(outcome.preset)) {
            set["compilers"][outcome.preset] = compiler_of(root / "build" / outcome.preset);
        }
    }
    if (emulated) {
        set["qemu"] = first_line_of({"qemu-system-riscv64", "--version"});
    }
    set["results"] = json::array();
    for (const Outcome& outcome : outcomes) {
        set["results"].push_back(json_of(outcome, whole));
    }
    return set;
}

std::string recorded_of(const std::vector<Outcome>& outcomes, const std::filesystem::path& root) {
    const json set = set_of({}, root, false);
    std::string text =
        fmt::format("{{\"version\": 1, \"commit\": {}, \"results\": [", set.at("commit").dump());
    const char* separator = "\n";
    for (const Outcome& outcome : outcomes) {
        if (outcome.clock == "threads" || outcome.clock == "host") {
            continue;
        }
        json run = json_of(outcome, false);
        for (const char* key : {"command", "failures", "reason", "wall_s", "runs"}) {
            run.erase(key);
        }
        for (const char* key : {"figures", "shares"}) {
            json judged = json::array();
            for (const json& row : run.at(key)) {
                if (row.at("judged") == true) {
                    judged.push_back(row);
                }
            }
            run[key] = std::move(judged);
        }
        text += separator + run.dump();
        separator = ",\n";
    }
    return text + "\n]}\n";
}

std::string junit_of(const std::vector<Outcome>& outcomes) {
    std::map<Port, std::vector<const Outcome*>> suites;
    for (const Outcome& outcome : outcomes) {
        suites[outcome.port].push_back(&outcome);
    }
    std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
    for (const auto& [port, runs] : suites) {
        const auto count = [&runs](Verdict verdict) {
            return std::count_if(runs.begin(), runs.end(),
                                 [&](const Outcome* run) { return run->verdict == verdict; });
        };
        double seconds = 0.0;
        for (const Outcome* run : runs) {
            seconds += run->wall_s;
        }
        text += fmt::format("  <testsuite name=\"ravelin.{}\" tests=\"{}\" failures=\"{}\" "
                            "skipped=\"{}\" time=\"{:.3f}\">\n",
                            name_of(port), runs.size(), count(Verdict::fail),
                            count(Verdict::notrun), seconds);
        for (const Outcome* run : runs) {
            text += fmt::format("    <testcase classname=\"ravelin.{}.{}\" name=\"{} harts {} seed "
                                "{} {}\" time=\"{:.3f}\"",
                                name_of(port), escaped(run->name), escaped(run->name), run->harts,
                                run->seed, run->clock, run->wall_s);
            if (run->verdict == Verdict::pass) {
                text += "/>\n";
                continue;
            }
            text += ">\n";
            if (run->verdict == Verdict::fail) {
                std::string records;
                for (const Failure& failure : run->failures) {
                    records +=
                        fmt::format("{}: {}\n{}", failure.check, failure.reason, failure.records);
                }
                text += fmt::format("      <failure message=\"{}\">{}</failure>\n",
                                    escaped(run->reason), escaped(records));
            } else if (run->verdict == Verdict::notrun) {
                text += fmt::format("      <skipped message=\"{}\"/>\n", escaped(run->reason));
            } else {
                text += fmt::format("      <system-out>recorded: {}</system-out>\n",
                                    escaped(run->reason));
            }
            text += "    </testcase>\n";
        }
        text += "  </testsuite>\n";
    }
    return text + "</testsuites>\n";
}

void write_file(const std::filesystem::path& file, const std::string& text) {
    std::ofstream out(file, std::ios::binary);
    out << text;
    if (!out.flush()) {
        throw std::runtime_error(fmt::format("cannot write {}", file.string()));
    }
}

std::string read_file(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) {
        throw std::runtime_error(fmt::format("cannot open {}", file.string()));
    }
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace ravelin::testbench
