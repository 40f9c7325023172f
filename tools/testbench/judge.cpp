#include "tools/testbench/judge.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>

#include <fmt/format.h>

#include "tools/oracle/measures.h"
#include "tools/oracle/replay.h"
#include "tools/oracle/shares.h"
#include "tools/oracle/trace_file.h"

namespace ravelin::testbench {

namespace {

/// In virtual time a timer fires where it is set; a thread may run on only for what one clock step is.
constexpr std::uint64_t kLateOfSlice = 10;

/// Ticks that an interrupt from one hart to another may take in the hosted port's virtual time: 8, behind the few
/// between the kernel's last look at the clock and its sending.
constexpr std::uint64_t kIdleTicks = 20;

/// Ticks that a frame takes to be zeroed there, at most.
constexpr std::uint64_t kZeroingTicks = 46;

const std::vector<std::string>& end_names() {
    static const std::vector<std::string> names = {"off", "reboot", "failed", "panic"};
    return names;
}

class Judge {
  public:
    Judge(const RunPlan& plan, const RunResult& run, std::uint32_t cores)
        : plan_(plan),
          case_(*plan.judged),
          run_(run),
          judges_time_(!plan.judged->record && (!plan.host_clock || plan.harts <= cores)) {}

    Outcome go() {
        out_.name = case_.name;
        out_.description = case_.description;
        out_.port = plan_.port;
        out_.harts = plan_.harts;
        out_.seed = plan_.seed;
        out_.clock = runner_for(plan_.port)->clock_name(plan_.host_clock);
        out_.preset = run_.preset;
        out_.command = run_.command;
        out_.wall_s = run_.wall_s;
        if (!run_.not_run.empty()) {
            out_.verdict = Verdict::notrun;
            out_.reason = run_.not_run;
            return std::move(out_);
        }
        if (!run_.broke.empty()) {
            fail("run", run_.broke);
        }
        console();
        if (case_.checked && !case_.suite) {
            trace();
        }
        verdict();
        return std::move(out_);
    }

  private:
    const RunPlan& plan_;
    const Case& case_;
    const RunResult& run_;
    bool judges_time_;
    Outcome out_;

    void fail(std::string check, std::string reason, std::string records = {}) {
        out_.failures.push_back({.check = std::move(check),
                                 .reason = std::move(reason),
                                 .records = std::move(records)});
    }

    void fail(const oracle::Finding& finding, const oracle::Trace& trace) {
        std::string records;
        for (const std::uint64_t place : finding.records) {
            if (place < trace.records.size()) {
                records += oracle::describe(place, trace.records[place]) + "\n";
            }
        }
        fail(finding.check, finding.text, std::move(records));
    }

    void console() {
        std::vector<std::string> forbid = case_.forbid;
        if (case_.ends != "panic") {
            forbid.emplace_back("PANIC");
        }
        for (const std::string& text : forbid) {
            const std::regex regex(text, std::regex::extended);
            for (const std::string& line : run_.console) {
                if (std::regex_search(line, regex)) {
                    fail("console", fmt::format("a console line matches '{}': {}", text, line));
                    break;
                }
            }
        }
        auto line = run_.console.begin();
        for (const std::string& text : case_.expect) {
            const std::regex regex(text, std::regex::extended);
            line = std::find_if(line, run_.console.end(), [&](const std::string& candidate) {
                return std::regex_search(candidate, regex);
            });
            if (line == run_.console.end()) {
                fail("console", fmt::format("no console line matches '{}'", text));
                return;
            }
            ++line;
        }
    }

    void trace() {
        if (!run_.has_trace) {
            fail("trace", "the run left no trace");
            return;
        }
        const oracle::TraceResult read = oracle::read_trace(plan_.trace);
        if (!read.trace) {
            fail("trace", "the trace is refused: " + read.refusal);
            return;
        }
        const oracle::Trace& trace = *read.trace;
        out_.records = trace.head.records;
        out_.dropped = trace.head.dropped;
        check_head(trace.head);

        oracle::Options options;
        if (plan_.port == Port::hosted && !plan_.host_clock) {
            options.late_ticks = trace.head.slice_ticks / kLateOfSlice;
            options.idle_ticks = kIdleTicks;
            options.zeroing_ticks = kZeroingTicks;
        }
        const oracle::Replay replay = oracle::replay(trace, options);
        for (const oracle::Finding& finding : replay.findings) {
            fail(finding, trace);
        }
        if (replay.rejected > replay.findings.size()) {
            fail(replay.findings.back().check,
                 fmt::format("and {} more", replay.rejected - replay.findings.size()));
        }
        check_end(replay);

        std::string error;
        const std::vector<oracle::Window> windows = oracle::find_windows(replay, error);
        if (!error.empty()) {
            fail("case", error);
        }
        const oracle::Window first =
            windows.empty() ? oracle::Window{.first = 0, .last = trace.records.size()} : windows[0];
        shares(trace, replay, windows);
        figures(oracle::figures(trace, replay, windows));
        measures(trace, replay, first);
        detail(trace, replay, windows);
    }

    /// The page shows the harts around what decided the first failures.
    void detail(const oracle::Trace& trace, const oracle::Replay& replay,
                const std::vector<oracle::Window>& windows) {
        constexpr std::size_t kShownFailures = 3;
        std::vector<std::pair<std::uint64_t, std::string>> places;
        for (const oracle::Finding& finding : replay.findings) {
            if (!finding.records.empty() && places.size() < kShownFailures &&
                finding.records.back() < trace.records.size()) {
                places.emplace_back(finding.records.back(), finding.check);
            }
        }
        out_.detail = detail_of(case_, trace, replay, windows, places);
    }

    void check_head(const abi::TraceHead& head) {
        const std::uint64_t slice = head.timebase * case_.slice_us / 1'000'000;
        if (head.harts != plan_.harts) {
            fail("trace", fmt::format("the trace is of {} harts, not {}", head.harts, plan_.harts));
        }
        if (head.seed != plan_.seed) {
            fail("trace", fmt::format("the trace is of seed {}, not {}", head.seed, plan_.seed));
        }
        if (head.slice_ticks != slice) {
            fail("trace", fmt::format("the kernel's slice is {} ticks, and {} us are {}",
                                      head.slice_ticks, case_.slice_us, slice));
        }
    }

    void check_end(const oracle::Replay& replay) {
        const std::size_t kind = replay.end_kind.value_or(0xffff);
        const std::string ended = kind < end_names().size() ? end_names()[kind] : "?";
        if (ended != case_.ends) {
            fail("run", fmt::format("the trace ends with '{}', not '{}'", ended, case_.ends));
        }
    }

    bool judged_at(const Scope& scope, bool counts = false) const {
        const auto holds = [](const auto& list, auto value) {
            return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
        };
        return (judges_time_ || (counts && !case_.record)) && holds(scope.harts, plan_.harts) &&
               holds(scope.ports, plan_.port);
    }

    /// A count that no clock decides is judged with any number of harts.
    bool figure_judged_at(const FigureRule& rule) const {
        const auto& names = oracle::figure_names();
        const auto found =
            std::find_if(names.begin(), names.end(),
                         [&](const oracle::FigureName& known) { return known.name == rule.name; });
        return judged_at(rule.scope, found != names.end() && found->counts);
    }

    static bool takes_part(const JudgedBudget& budget, std::uint32_t window) {
        return budget.windows.empty() || std::find(budget.windows.begin(), budget.windows.end(),
                                                   window) != budget.windows.end();
    }

    void shares(const oracle::Trace& trace, const oracle::Replay& replay,
                const std::vector<oracle::Window>& windows) {
        std::uint32_t wanted = case_.shares.empty() ? 0 : 1;
        for (const ShareRule& rule : case_.shares) {
            wanted = std::max(wanted, rule.window);
        }
        if (windows.size() < wanted) {
            fail("case", fmt::format("the run has {} windows, and window {} is judged",
                                     windows.size(), wanted));
        }
        for (std::uint32_t number = 1; number <= windows.size(); ++number) {
            shares_of(trace, replay, windows[number - 1], number);
        }
    }

    void shares_of(const oracle::Trace& trace, const oracle::Replay& replay,
                   const oracle::Window& window, std::uint32_t number) {
        std::vector<const JudgedBudget*> budgets;
        std::vector<oracle::Party> parties;
        for (const JudgedBudget& budget : case_.budgets) {
            if (!takes_part(budget, number)) {
                continue;
            }
            const bool ruled =
                std::any_of(case_.shares.begin(), case_.shares.end(), [&](const ShareRule& rule) {
                    return &case_.budgets[rule.budget] == &budget && rule.window == number;
                });
            if (const auto why =
                    oracle::why_not_judged(replay, window, budget.account, budget.weight)) {
                if (ruled) {
                    fail("case", fmt::format("window {}: {}", number, *why));
                }
                continue;
            }
            if (const auto why = oracle::why_no_share(replay, window, budget.account);
                ruled && why) {
                fail("case", fmt::format("window {}: {}", number, *why));
            }
            budgets.push_back(&budget);
            parties.push_back({.weight = budget.weight, .threads = budget.threads});
        }
        const std::vector<double> owed = oracle::water_filling(parties, plan_.harts);
        oracle::WindowCharges charges = oracle::charges_in(trace, replay, window);
        for (std::size_t i = 0; i < budgets.size(); ++i) {
            const oracle::Charged charged = charges.by_account[budgets[i]->account];
            ShareRow row{.window = number,
                         .budget = budgets[i]->name,
                         .weight = budgets[i]->weight,
                         .threads = budgets[i]->threads,
                         .want = owed[i],
                         .got = oracle::per_thousand(charged.net(), charges.all.net()),
                         .gross = oracle::per_thousand(charged.gross, charges.all.gross)};
            bool ruled = false;
            for (const ShareRule& rule : case_.shares) {
                if (&case_.budgets[rule.budget] == budgets[i] && rule.window == number) {
                    ShareRow judged = row;
                    judge_share(judged, rule, window);
                    out_.shares.push_back(std::move(judged));
                    ruled = true;
                }
            }
            if (!ruled) {
                out_.shares.push_back(std::move(row));
            }
        }
    }

    void judge_share(ShareRow& row, const ShareRule& rule, const oracle::Window& window) {
        row.judged = judged_at(rule.scope);
        row.op = rule.op;
        const bool in_turns = plan_.port != Port::hosted && plan_.harts > 1;
        row.tolerance = plan_.host_clock ? rule.host_tolerance
                        : in_turns       ? rule.turns_tolerance
                                         : rule.tolerance;
        if (rule.want) {
            row.want = static_cast<double>(*rule.want);
        }
        const auto tolerance = static_cast<double>(row.tolerance);
        const double over = row.got - row.want;
        row.margin = tolerance + (row.op == Op::within     ? -std::abs(over)
                                  : row.op == Op::at_least ? over
                                                           : -over);
        if (row.judged && row.margin < 0.0) {
            fail("share",
                 fmt::format("window {}: budget '{}' got {:.0f} of 1000 (gross {:.0f}) where {} is "
                             "{:.0f}, {} {}",
                             row.window, row.budget, row.got, row.gross, "owed", row.want,
                             name_of(row.op), row.tolerance),
                 fmt::format("records {} to {} are the window\n", window.first, window.last));
        }
        if (!plan_.host_clock) {
            judge_gross(row, in_turns ? rule.turns_gross : rule.gross, window);
        }
    }

    /// `kept`: the least of what it is owed, per 1000 of that.
    void judge_gross(ShareRow& row, std::int64_t kept, const oracle::Window& window) {
        if (kept == 0) {
            return;
        }
        const double over = row.gross - row.want * static_cast<double>(kept) / 1000.0;
        row.margin = std::min(row.margin, over);
        if (row.judged && over < 0.0) {
            fail("share",
                 fmt::format("window {}: budget '{}' got {:.0f} of 1000 with its lock waits, where "
                             "{:.0f} is owed and {} of 1000 of that must be kept",
                             row.window, row.budget, row.gross, row.want, kept),
                 fmt::format("records {} to {} are the window\n", window.first, window.last));
        }
    }

    void figures(const std::vector<oracle::Figure>& found) {
        for (const oracle::Figure& figure : found) {
            bool ruled = false;
            for (const FigureRule& rule : case_.figures) {
                if (rule.name == figure.name) {
                    judge_figure(figure, rule);
                    ruled = true;
                }
            }
            if (!ruled) {
                out_.figures.push_back(
                    {.name = figure.name, .value = figure.value, .unit = figure.unit});
            }
        }
    }

    void judge_figure(const oracle::Figure& figure, const FigureRule& rule) {
        const auto target = static_cast<double>(rule.target);
        FigureRow row{.name = figure.name,
                      .value = figure.value,
                      .unit = figure.unit,
                      .target = rule.target,
                      .op = rule.op,
                      .judged = figure_judged_at(rule),
                      .margin =
                          rule.op == Op::at_least ? figure.value - target : target - figure.value};
        if (row.judged && row.margin < 0.0) {
            fail("figure",
                 fmt::format("{} is {:.1f}{}{}, {} {}", row.name, row.value,
                             row.unit.empty() ? "" : " ", row.unit, name_of(row.op), rule.target));
        }
        out_.figures.push_back(std::move(row));
    }

    /// Adds a measure that a check asked for, judged.
    void measure(const oracle::Measure& found, const oracle::Trace& trace, const std::string& name,
                 std::uint64_t target, Op op = Op::at_least) {
        const double over = found.value - static_cast<double>(target);
        out_.figures.push_back({.name = name,
                                .value = found.value,
                                .unit = {},
                                .target = static_cast<std::int64_t>(target),
                                .op = op,
                                .judged = true,
                                .margin = op == Op::at_least ? over : -over});
        for (const oracle::Finding& finding : found.findings) {
            fail(finding, trace);
        }
    }

    void measures(const oracle::Trace& trace, const oracle::Replay& replay,
                  const oracle::Window& window) {
        if (const auto& rule = case_.wake_no_preempt) {
            measure(oracle::wake_no_preempt(replay, window, case_.budgets[rule->budget].account,
                                            rule->at_least),
                    trace, "wake_no_preempt", rule->at_least);
        }
        if (const auto& rule = case_.irq_wake_no_preempt) {
            measure(oracle::wake_no_preempt(replay, window, case_.budgets[rule->budget].account,
                                            rule->at_least, oracle::Waker::device),
                    trace, "irq_wake_no_preempt", rule->at_least);
        }
        if (const auto& rule = case_.round_robin) {
            measure(oracle::round_robin(trace, replay, window, case_.budgets[rule->budget].account,
                                        rule->threads, rule->rounds, rule->tolerance),
                    trace, "round_robin", rule->rounds);
        }
        if (const auto& rule = case_.wake_wait) {
            for (const std::size_t budget : rule->budgets) {
                measure(oracle::wake_wait(trace, replay, window, case_.budgets[budget].account,
                                          rule->bounds),
                        trace, fmt::format("wake_wait {}", case_.budgets[budget].name),
                        rule->bounds.p99_us, Op::at_most);
            }
        }
        if (const auto& rule = case_.lift_delay) {
            measure(oracle::lift_delay(trace, replay, window, case_.budgets[rule->budget].account,
                                       case_.budgets[rule->peers].account, rule->at_least),
                    trace, "lift_delay", rule->at_least);
        }
        if (const auto& rule = case_.ties) {
            for (const std::size_t group : rule->groups) {
                measure(oracle::ties(replay, case_.budgets[group].account, rule->size), trace,
                        fmt::format("ties {}", case_.budgets[group].name), 1);
            }
        }
    }

    void verdict() {
        const auto rejected_by = [&](const std::string& check) {
            return std::any_of(out_.failures.begin(), out_.failures.end(),
                               [&](const Failure& failure) { return failure.check == check; });
        };
        if (case_.must_fail) {
            if (rejected_by(*case_.must_fail)) {
                out_.verdict = Verdict::pass;
                out_.reason = fmt::format("rejected by {}, as it must be", *case_.must_fail);
                return;
            }
            out_.verdict = Verdict::fail;
            out_.reason =
                out_.failures.empty()
                    ? fmt::format("{} must reject it and nothing did", *case_.must_fail)
                    : fmt::format("{} must reject it and only {} did: {}", *case_.must_fail,
                                  out_.failures[0].check, out_.failures[0].reason);
            return;
        }
        if (!out_.failures.empty()) {
            out_.verdict = Verdict::fail;
            out_.reason = fmt::format("{}: {}", out_.failures[0].check, out_.failures[0].reason);
            return;
        }
        const bool asks = !case_.shares.empty() || !case_.figures.empty();
        const auto is_judged = [](const auto& row) { return row.judged; };
        const bool judged = std::any_of(out_.shares.begin(), out_.shares.end(), is_judged) ||
                            std::any_of(out_.figures.begin(), out_.figures.end(), is_judged);
        out_.verdict = asks && !judged ? Verdict::recorded : Verdict::pass;
        if (out_.verdict == Verdict::recorded) {
            out_.reason = case_.record ? "the case is for the record; the rules hold"
                          : judges_time_
                              ? "nothing is judged at this hart count; the rules hold"
                              : "more harts than cores on the host's clock; the rules hold";
        }
    }
};

}  // namespace

std::string name_of(Verdict verdict) {
    switch (verdict) {
    case Verdict::pass: return "pass";
    case Verdict::fail: return "fail";
    case Verdict::recorded: return "recorded";
    case Verdict::notrun: return "notrun";
    }
    return "?";
}

Outcome judge(const RunPlan& plan, const RunResult& run, std::uint32_t cores) {
    return Judge(plan, run, cores).go();
}

}  // namespace ravelin::testbench
