#include "tools/testbench/bench.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/oracle/measures.h"
#include "tools/oracle/replay.h"
#include "tools/oracle/trace_file.h"
#include "tools/testbench/case.h"
#include "tools/testbench/compare.h"
#include "tools/testbench/journal.h"
#include "tools/testbench/page.h"
#include "tools/testbench/perform.h"
#include "tools/testbench/process.h"
#include "tools/testbench/report.h"
#include "tools/testbench/results.h"
#include "tools/testbench/words.h"
#include "tools/viewers/ctf.h"
#include "tools/viewers/trace_event.h"

namespace ravelin::testbench {

namespace {

namespace fs = std::filesystem;

constexpr int kFailed = 1;
constexpr int kWrongUse = 2;

int exit_code_of(const std::vector<Outcome>& outcomes) {
    const auto is_good = [](const Outcome& outcome) {
        return outcome.verdict == Verdict::pass || outcome.verdict == Verdict::recorded;
    };
    return std::all_of(outcomes.begin(), outcomes.end(), is_good) ? 0 : kFailed;
}

/// A file that the run's results will go to is tried before the run, not after it.
void check_file(const std::optional<std::string>& file) {
    if (file && !std::ofstream(*file, std::ios::app)) {
        throw WrongUse(fmt::format("cannot write {}", *file));
    }
}

PageParts parts_of(const Request& request) {
    return {.page = request.root / "tools" / "testbench" / "page",
            .packages = request.page_parts,
            .history = request.root / "build" / "bench" / "history.jsonl",
            .recorded = request.root / "bench" / "results" / "cases.json"};
}

void check_outputs(const Request& request) {
    check_file(request.json);
    check_file(request.junit);
    check_file(request.record);
    if (request.report) {
        std::error_code error;
        fs::create_directories(*request.report, error);
        check_file((fs::path(*request.report) / "index.html").string());
        check_parts(parts_of(request));
    }
}

void write_outputs(const Request& request, const std::vector<Outcome>& outcomes) {
    if (request.record) {
        write_file(*request.record, recorded_of(outcomes, request.root));
    }
    if (!request.json && !request.junit && !request.report) {
        return;
    }
    const std::string json = set_of(outcomes, request.root, false).dump(2) + "\n";
    if (request.json) {
        write_file(*request.json, json);
    }
    if (request.junit) {
        write_file(*request.junit, junit_of(outcomes));
    }
    if (request.report) {
        const fs::path folder = *request.report;
        write_file(folder / "results.json", json);
        write_file(folder / "junit.xml", junit_of(outcomes));
        write_file(folder / "index.html", page_of(outcomes, request.root, parts_of(request)));
        fmt::print("report: {}\n", (folder / "index.html").string());
    }
}

/// All runs of the request; `cases` is what they point into.
std::vector<RunPlan> plans_for(const Request& request, const std::vector<Case>& cases) {
    const Wanted wanted = wanted_by(request);
    std::vector<RunPlan> plans;
    for (const Case& judged : cases) {
        const std::vector<RunPlan> more = plans_of(request, wanted, judged, true);
        plans.insert(plans.end(), more.begin(), more.end());
    }
    return plans;
}

/// The plans that a journal leaves to be run, and the outcomes that it gives.
struct Divided {
    std::vector<RunPlan> open;
    std::vector<std::size_t> places;  ///< of `open`, in all the plans
    std::vector<Outcome> outcomes;    ///< of all plans; empty where open
};

Divided divide(const std::vector<RunPlan>& plans, Journal* journal, bool resume) {
    Divided divided{.open = {}, .places = {}, .outcomes = std::vector<Outcome>(plans.size())};
    for (std::size_t i = 0; i < plans.size(); ++i) {
        const Outcome* known = resume ? journal->find(plans[i]) : nullptr;
        if (known != nullptr) {
            divided.outcomes[i] = *known;
        } else {
            divided.open.push_back(plans[i]);
            divided.places.push_back(i);
        }
    }
    return divided;
}

void print_results(const std::vector<Outcome>& outcomes) {
    for (const Outcome& outcome : outcomes) {
        if (outcome.verdict == Verdict::fail) {
            fmt::print("{}\n", account_of(outcome));
        }
    }
    fmt::print("{}", table_of(outcomes));
    if (const std::string sweeps = sweeps_of(outcomes); !sweeps.empty()) {
        fmt::print("\n{}\n", sweeps);
    }
    const auto count = [&](Verdict verdict) {
        return std::count_if(outcomes.begin(), outcomes.end(),
                             [&](const Outcome& o) { return o.verdict == verdict; });
    };
    fmt::print("{} runs: {} passed, {} failed, {} recorded, {} not run\n", outcomes.size(),
               count(Verdict::pass), count(Verdict::fail), count(Verdict::recorded),
               count(Verdict::notrun));
}

/// Runs a command, turning what it throws into one line and an exit code.
template <class Command>
int guarded(Command command) {
    try {
        return command();
    } catch (const WrongUse& error) {
        fmt::print(stderr, "testbench: {}\n", error.what());
        return kWrongUse;
    } catch (const std::exception& error) {
        fmt::print(stderr, "testbench: {}\n", error.what());
        return kFailed;
    }
}

}  // namespace

int command_run(const Request& request) {
    return guarded([&] {
        if (request.patterns.size() != 1) {
            throw WrongUse("run takes one case");
        }
        const Wanted wanted = wanted_by(request);
        if (wanted.ports.size() != 1) {
            throw WrongUse("run takes one port");
        }
        const Case judged = case_named(request, request.patterns[0]);
        if (judged.keep_harts && wanted.harts &&
            std::find(judged.harts.begin(), judged.harts.end(), *wanted.harts) ==
                judged.harts.end()) {
            throw WrongUse(fmt::format("{} keeps its hart count: it cannot run with {}",
                                       judged.name, *wanted.harts));
        }
        check_outputs(request);
        std::vector<RunPlan> plans = plans_of(request, wanted, judged, false);
        if (wanted.harts) {
            plans[0].harts = *wanted.harts;
        }
        PerformOptions options;
        options.root = request.root;
        options.traces = request.traces;
        const std::vector<Outcome> outcomes = perform_all(plans, options);
        fmt::print("{}", account_of(outcomes[0]));
        write_outputs(request, outcomes);
        return exit_code_of(outcomes);
    });
}

int command_builds(const Request& request) {
    return guarded([&] {
        const std::vector<Case> cases = cases_matching(request);
        std::set<std::string> lines;
        for (const RunPlan& plan : plans_for(request, cases)) {
            const Build build = build_of(plan.port, *plan.judged);
            std::string line = fmt::format("{} {} {}", build.folder, build.preset, build.target);
            for (const std::string& option : build.options) {
                line += " " + option;
            }
            lines.insert(std::move(line));
        }
        for (const std::string& line : lines) {
            fmt::print("{}\n", line);
        }
        return 0;
    });
}

int command_machine(const Request& request, const fs::path& console) {
    return guarded([&] {
        const Wanted wanted = wanted_by(request);
        if (wanted.ports != std::vector{Port::rv64} && wanted.ports != std::vector{Port::rv32}) {
            throw WrongUse("machine: one emulated port, rv64 or rv32");
        }
        const Case judged = case_named(request, request.patterns.at(0));
        RunPlan plan = plans_of(request, wanted, judged, false).at(0);
        if (wanted.harts) {
            plan.harts = *wanted.harts;
        }
        if (const std::string why = not_here(plan); !why.empty()) {
            throw WrongUse(why);
        }
        const DebugTarget target = debug_target(plan, console);
        std::string line;
        for (std::string word : target.command) {
            for (std::size_t at = 0; (at = word.find('\'', at)) != std::string::npos; at += 4) {
                word.replace(at, 1, "'\\''");
            }
            line += fmt::format("{}'{}'", line.empty() ? "" : " ", word);
        }
        fmt::print("{}\n{}\n{}\n", target.kernel.string(), target.program.string(), line);
        return 0;
    });
}

int command_bench(const Request& request) {
    return guarded([&] {
        const std::vector<Case> cases = cases_matching(request);
        std::vector<RunPlan> plans = plans_for(request, cases);
        if ((request.resume || request.failed) && !request.journal) {
            throw WrongUse("--resume and --failed need a --journal");
        }
        check_outputs(request);
        std::optional<Journal> journal;
        if (request.journal) {
            journal.emplace(*request.journal);
        }
        if (request.failed) {
            if (journal->empty()) {
                throw WrongUse(fmt::format("{} has no runs", *request.journal));
            }
            std::erase_if(plans, [&](const RunPlan& plan) { return !journal->failed(plan); });
            if (plans.empty()) {
                fmt::print("none of these runs failed\n");
                return 0;
            }
        } else if (journal && !request.resume) {
            journal->clear();
        }
        Divided divided = divide(plans, journal ? &*journal : nullptr, request.resume);
        if (divided.open.size() < plans.size()) {
            fmt::print(stderr, "{} of {} runs are taken from {}\n",
                       plans.size() - divided.open.size(), plans.size(), *request.journal);
        }
        PerformOptions options{
            .root = request.root,
            .traces = request.traces,
            .jobs = request.jobs != 0 ? request.jobs : static_cast<unsigned>(usable_cores().size()),
            .progress = true,
            .expected = {},
            .finished = {}};
        if (journal) {
            options.expected = [&](const RunPlan& plan) { return journal->seconds(plan); };
            options.finished = [&](const RunPlan& plan, const Outcome& outcome) {
                journal->add(plan, outcome);
            };
        }
        std::vector<Outcome> fresh = perform_all(divided.open, options);
        for (std::size_t i = 0; i < fresh.size(); ++i) {
            divided.outcomes[divided.places[i]] = std::move(fresh[i]);
        }
        const std::vector<Outcome>& outcomes = divided.outcomes;
        print_results(outcomes);
        if (request.journal) {
            add_history(fs::path(*request.journal).parent_path() / "history.jsonl",
                        set_of({}, request.root, false).at("commit"), outcomes);
        }
        write_outputs(request, outcomes);
        return exit_code_of(outcomes);
    });
}

int command_compare(const fs::path& before, const fs::path& after) {
    return guarded([&] {
        const auto read = [](const fs::path& file) {
            const nlohmann::json set = nlohmann::json::parse(read_file(file), nullptr, false);
            if (!set.is_object() || !set.contains("results")) {
                throw WrongUse(fmt::format("{} holds no results of a bench", file.string()));
            }
            return set;
        };
        const Comparison comparison = compare(read(before), read(after));
        fmt::print("{}", comparison.text);
        return comparison.worse ? kFailed : 0;
    });
}

int command_list(const Request& request) {
    return guarded([&] {
        int code = 0;
        std::size_t width = 0;
        const std::vector<std::string> names = known_cases(request);
        for (const std::string& name : names) {
            width = std::max(width, name.size());
        }
        for (const std::string& name : names) {
            const auto loaded = load_case(file_of(request, name));
            if (const auto* error = std::get_if<std::string>(&loaded)) {
                fmt::print(stderr, "testbench: {}\n", *error);
                code = kWrongUse;
            } else {
                fmt::print("{:<{}}  {}\n", name, width, std::get<Case>(loaded).description);
            }
        }
        return code;
    });
}

int command_show(const Request& request, const std::string& name) {
    return guarded([&] {
        const Case judged = case_named(request, name);
        const auto counts = [](const auto& values) {
            std::vector<std::string> words;
            for (const auto value : values) {
                words.push_back(std::to_string(value));
            }
            return listed(words);
        };
        const auto names = [](const std::vector<Port>& ports) {
            std::vector<std::string> words;
            for (const Port port : ports) {
                words.push_back(name_of(port));
            }
            return listed(words);
        };
        const auto where = [&](const Scope& scope) {
            return (scope.harts.empty() ? "" : " at harts " + counts(scope.harts)) +
                   (scope.ports.empty() ? "" : " on " + names(scope.ports));
        };
        fmt::print("{}: {}\n", judged.name, judged.description);
        fmt::print("  file     {}\n", judged.file.string());
        fmt::print("  program  {}, {} kernel, slice {} us, {} MiB, at most {} s\n", judged.program,
                   judged.checked ? "checked" : "release", judged.slice_us, judged.memory_mib,
                   judged.timeout_s);
        fmt::print("  runs     on {}; harts {}{}; seeds {}; {} clock{}{}\n", names(judged.ports),
                   counts(judged.harts), judged.keep_harts ? " only" : "", counts(judged.seeds),
                   judged.host_clock ? "host" : "virtual", judged.gate ? "; a gate" : "",
                   judged.record ? "; recorded only" : "");
        for (const std::string& feature : judged.features) {
            fmt::print("  feature  {}\n", feature);
        }
        if (judged.must_fail) {
            fmt::print("  fails    the check {} must reject it\n", *judged.must_fail);
        }
        for (const JudgedBudget& budget : judged.budgets) {
            fmt::print("  budget   {}: account {}, weight {}, {} thread{}{}\n", budget.name,
                       budget.account, budget.weight, budget.threads,
                       budget.threads == 1 ? "" : "s",
                       budget.windows.empty() ? "" : ", windows " + counts(budget.windows));
        }
        for (const ShareRule& rule : judged.shares) {
            fmt::print("  share    {} in window {}: {} {} of {}{}\n",
                       judged.budgets[rule.budget].name, rule.window, name_of(rule.op),
                       rule.tolerance, rule.want ? std::to_string(*rule.want) : "its water-filling",
                       where(rule.scope));
        }
        for (const FigureRule& rule : judged.figures) {
            fmt::print("  figure   {} {} {}{}\n", rule.name, name_of(rule.op), rule.target,
                       where(rule.scope));
        }
        if (const auto& rule = judged.wake_no_preempt) {
            fmt::print("  check    {} wakes of {} preempt nobody\n", rule->at_least,
                       judged.budgets[rule->budget].name);
        }
        if (const auto& rule = judged.irq_wake_no_preempt) {
            fmt::print("  check    {} wakes of {} by a device preempt nobody\n", rule->at_least,
                       judged.budgets[rule->budget].name);
        }
        if (const auto& rule = judged.round_robin) {
            fmt::print("  check    {} threads of {} take turns for {} rounds, within {} of 1000\n",
                       rule->threads, judged.budgets[rule->budget].name, rule->rounds,
                       rule->tolerance);
        }
        if (const auto& rule = judged.wake_wait) {
            for (const std::size_t budget : rule->budgets) {
                fmt::print(
                    "  check    {} waits {} us in the median and {} at the 99th percentile\n",
                    judged.budgets[budget].name, rule->bounds.p50_us, rule->bounds.p99_us);
            }
        }
        if (const auto& rule = judged.lift_delay) {
            fmt::print("  check    {} siblings of dead children of {} wait for their debt\n",
                       rule->at_least, judged.budgets[rule->budget].name);
        }
        if (const auto& rule = judged.ties) {
            for (const std::size_t group : rule->groups) {
                fmt::print("  check    {} of {} that wake in one entry run lowest id first\n",
                           rule->size, judged.budgets[group].name);
            }
        }
        fmt::print("\nfigures a case can judge:\n");
        for (const oracle::FigureName& figure : oracle::figure_names()) {
            fmt::print("  {:<18} {}\n", figure.name, figure.meaning);
        }
        return 0;
    });
}

int command_trace(const TraceRequest& request) {
    return guarded([&] {
        const oracle::TraceResult read = oracle::read_trace(request.file);
        if (!read.trace) {
            throw std::runtime_error(fmt::format("{}: {}", request.file.string(), read.refusal));
        }
        const std::vector<abi::TraceRecord>& records = read.trace->records;
        for (std::uint64_t at = request.first;
             at < records.size() && at - request.first < request.count; ++at) {
            fmt::print("{}\n", oracle::describe(at, records[at]));
        }
        if (request.perfetto) {
            std::ofstream out(*request.perfetto);
            viewers::write_trace_events(*read.trace, out);
            if (!out.flush()) {
                throw std::runtime_error(fmt::format("cannot write {}", *request.perfetto));
            }
        }
        if (request.ctf) {
            viewers::write_ctf(*read.trace, *request.ctf);
        }
        if (request.perfetto || request.ctf) {
            return 0;
        }
        const oracle::Replay replay = oracle::replay(*read.trace, {});
        for (const oracle::Finding& finding : replay.findings) {
            fmt::print("{}\n", oracle::to_text(finding, *read.trace));
        }
        fmt::print("{} records, {} harts, {} picks: {} findings\n", records.size(),
                   read.trace->head.harts, replay.picks, replay.rejected);
        return replay.rejected == 0 ? 0 : kFailed;
    });
}

}  // namespace ravelin::testbench
