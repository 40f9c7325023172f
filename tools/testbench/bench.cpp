#include "tools/testbench/bench.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <fmt/format.h>

#include "tools/oracle/measures.h"
#include "tools/oracle/replay.h"
#include "tools/oracle/trace_file.h"
#include "tools/testbench/case.h"
#include "tools/testbench/judge.h"
#include "tools/testbench/process.h"
#include "tools/testbench/report.h"
#include "tools/testbench/runner.h"
#include "tools/testbench/words.h"

namespace ravelin::testbench {

namespace {

namespace fs = std::filesystem;

constexpr int kFailed = 1;
constexpr int kWrongUse = 2;

/// A seed sweep longer than this is a typing error.
constexpr std::uint64_t kMostSeeds = 10'000;

/// A command line that asks for what is not there.
struct WrongUse : std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::uint64_t number_of(const std::string& text, const char* what) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        throw WrongUse(fmt::format("{}: '{}' is no number", what, text));
    }
    return value;
}

fs::path cases_of(const Request& request) {
    return request.root / "tests" / "cases";
}

Case load(const fs::path& file) {
    auto loaded = load_case(file);
    if (auto* error = std::get_if<std::string>(&loaded)) {
        throw WrongUse(*error);
    }
    return std::get<Case>(std::move(loaded));
}

std::vector<std::string> known_cases(const Request& request) {
    std::vector<std::string> names = case_names(cases_of(request));
    if (names.empty()) {
        throw WrongUse(fmt::format("there are no cases in {}", cases_of(request).string()));
    }
    return names;
}

Case case_named(const Request& request, const std::string& name) {
    const std::vector<std::string> names = known_cases(request);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
        throw WrongUse(unknown("case", name, names));
    }
    return load(cases_of(request) / (name + ".toml"));
}

/// What the words of a command line mean, before any case is read.
struct Wanted {
    Port port = Port::hosted;
    std::optional<std::uint32_t> harts;
    std::vector<std::uint64_t> seeds;  ///< empty: the case's
    std::optional<bool> host_clock;
};

Wanted wanted_by(const Request& request) {
    Wanted wanted;
    if (request.port) {
        const auto port = port_named(*request.port);
        if (!port) {
            throw WrongUse(unknown("port", *request.port, port_names()));
        }
        wanted.port = *port;
    }
    if (request.harts) {
        const std::uint64_t harts = number_of(*request.harts, "--harts");
        if (harts < 1 || harts > kMaxHarts) {
            throw WrongUse(
                fmt::format("--harts: {} harts; 1 to {} are possible", harts, kMaxHarts));
        }
        wanted.harts = static_cast<std::uint32_t>(harts);
    }
    if (request.seed && request.seeds) {
        throw WrongUse("--seed and --seeds exclude each other");
    }
    if (request.seed) {
        wanted.seeds = {number_of(*request.seed, "--seed")};
    }
    if (request.seeds) {
        const std::size_t dots = request.seeds->find("..");
        if (dots == std::string::npos) {
            throw WrongUse(fmt::format("--seeds: '{}' is not A..B", *request.seeds));
        }
        const std::uint64_t first = number_of(request.seeds->substr(0, dots), "--seeds");
        const std::uint64_t last = number_of(request.seeds->substr(dots + 2), "--seeds");
        if (last < first || last - first >= kMostSeeds) {
            throw WrongUse(fmt::format("--seeds: {} to {} is no sweep of 1 to {} seeds", first,
                                       last, kMostSeeds));
        }
        for (std::uint64_t seed = first; seed <= last; ++seed) {
            wanted.seeds.push_back(seed);
        }
    }
    if (request.clock) {
        wanted.host_clock = host_clock_named(wanted.port, *request.clock);
        if (!wanted.host_clock) {
            throw WrongUse(fmt::format("on {}: {}", name_of(wanted.port),
                                       unknown("clock", *request.clock, clock_names(wanted.port))));
        }
    }
    return wanted;
}

/// The runs of a case: all its hart counts and seeds, or only the first of each.
std::vector<RunPlan> plans_of(const Request& request, const Wanted& wanted, const Case& judged,
                              bool all) {
    std::vector<std::uint32_t> harts = judged.harts;
    if (wanted.harts && !judged.keep_harts) {
        harts = {*wanted.harts};
    }
    std::vector<std::uint64_t> seeds = wanted.seeds.empty() ? judged.seeds : wanted.seeds;
    if (!all) {
        harts.resize(1);
        seeds.resize(1);
    }
    std::vector<RunPlan> plans;
    for (const std::uint32_t count : harts) {
        for (const std::uint64_t seed : seeds) {
            plans.push_back({.judged = &judged,
                             .port = wanted.port,
                             .harts = count,
                             .seed = seed,
                             .host_clock = wanted.host_clock.value_or(judged.host_clock),
                             .root = request.root,
                             .trace = {}});
        }
    }
    return plans;
}

/// A folder of this process for traces, removed when it goes.
class Scratch {
  public:
    Scratch() {
        std::string name = (fs::temp_directory_path() / "ravelin-bench-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) {
            throw std::runtime_error("no folder for traces in " +
                                     fs::temp_directory_path().string());
        }
        folder_ = name;
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    const fs::path& folder() const { return folder_; }

  private:
    fs::path folder_;
};

std::string trace_name(const RunPlan& plan) {
    return fmt::format("{}-{}-h{}-s{}-{}.trace", plan.judged->name, name_of(plan.port), plan.harts,
                       plan.seed, plan.host_clock ? "host" : "virtual");
}

/// Why a plan is not run here, or nothing.
std::string not_here(const Runner& runner, const RunPlan& plan) {
    const Case& judged = *plan.judged;
    if (std::find(judged.ports.begin(), judged.ports.end(), plan.port) == judged.ports.end()) {
        return fmt::format("the case does not run on {}", name_of(plan.port));
    }
    for (const std::string& program : judged.needs) {
        if (find_program(program).empty()) {
            return fmt::format("the case needs {}, which is not installed", program);
        }
    }
    return runner.missing(plan);
}

Outcome perform(RunPlan plan, const Request& request, const fs::path& scratch) {
    const std::unique_ptr<Runner> runner = runner_for(plan.port);
    plan.trace = scratch / trace_name(plan);
    RunResult run;
    run.not_run = not_here(*runner, plan);
    if (run.not_run.empty()) {
        run = runner->run(plan);
    }
    Outcome outcome = judge(plan, run, std::max(1U, std::thread::hardware_concurrency()));

    const bool keep = request.traces || outcome.verdict == Verdict::fail;
    std::error_code error;
    if (keep && fs::exists(plan.trace)) {
        const fs::path folder =
            request.traces ? fs::path(*request.traces) : request.root / "build" / "traces";
        fs::create_directories(folder, error);
        const fs::path kept = folder / trace_name(plan);
        fs::copy_file(plan.trace, kept, fs::copy_options::overwrite_existing, error);
        if (!error) {
            outcome.trace_kept = kept.string();
        }
    }
    fs::remove(plan.trace, error);
    return outcome;
}

/// Runs the plans, `jobs` at a time; those on the host's clock alone, at the end.
std::vector<Outcome> perform_all(const std::vector<RunPlan>& plans, const Request& request,
                                 bool progress) {
    const Scratch scratch;
    std::vector<Outcome> outcomes(plans.size());
    std::vector<std::size_t> together;
    std::vector<std::size_t> alone;
    for (std::size_t i = 0; i < plans.size(); ++i) {
        (plans[i].host_clock ? alone : together).push_back(i);
    }
    std::mutex printing;
    std::size_t done = 0;
    const auto one = [&](std::size_t i) {
        outcomes[i] = perform(plans[i], request, scratch.folder());
        const std::lock_guard lock(printing);
        ++done;
        if (progress) {
            fmt::print(stderr, "[{}/{}] {} {} harts {} seed {}: {} ({:.1f} s)\n", done,
                       plans.size(), outcomes[i].name, name_of(outcomes[i].port), outcomes[i].harts,
                       outcomes[i].seed, name_of(outcomes[i].verdict), outcomes[i].wall_s);
        }
    };
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> workers;
    for (unsigned job = 0; job < std::min<std::size_t>(std::max(1U, request.jobs), together.size());
         ++job) {
        workers.emplace_back([&] {
            for (std::size_t i; (i = next++) < together.size();) {
                one(together[i]);
            }
        });
    }
    workers.clear();
    for (const std::size_t i : alone) {
        one(i);
    }
    return outcomes;
}

int exit_code_of(const std::vector<Outcome>& outcomes) {
    const auto is_good = [](const Outcome& outcome) {
        return outcome.verdict == Verdict::pass || outcome.verdict == Verdict::recorded;
    };
    return std::all_of(outcomes.begin(), outcomes.end(), is_good) ? 0 : kFailed;
}

void write_json(const Request& request, const std::vector<Outcome>& outcomes) {
    if (!request.json) {
        return;
    }
    std::ofstream file(*request.json);
    file << json_of(outcomes, request.root);
    if (!file.flush()) {
        throw std::runtime_error(fmt::format("cannot write {}", *request.json));
    }
}

/// A file that the run's results will go to is tried before the run, not after it.
void check_json(const Request& request) {
    if (request.json && !std::ofstream(*request.json, std::ios::app)) {
        throw WrongUse(fmt::format("cannot write {}", *request.json));
    }
}

/// The cases that the patterns mean; each pattern must mean one at least.
std::vector<Case> cases_matching(const Request& request) {
    const std::vector<std::string> names = known_cases(request);
    std::vector<std::string> chosen;
    const std::vector<std::string> everything = {"*"};
    for (const std::string& pattern : request.patterns.empty() ? everything : request.patterns) {
        const bool exact = std::find(names.begin(), names.end(), pattern) != names.end();
        bool any = false;
        for (const std::string& name : names) {
            if (exact ? name == pattern : matches(pattern, name)) {
                any = true;
                if (std::find(chosen.begin(), chosen.end(), name) == chosen.end()) {
                    chosen.push_back(name);
                }
            }
        }
        if (!any) {
            throw WrongUse(unknown("case", pattern, names));
        }
    }
    std::vector<Case> cases;
    for (const std::string& name : chosen) {
        cases.push_back(load(cases_of(request) / (name + ".toml")));
    }
    return cases;
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
        const Case judged = case_named(request, request.patterns[0]);
        if (judged.keep_harts && wanted.harts &&
            std::find(judged.harts.begin(), judged.harts.end(), *wanted.harts) ==
                judged.harts.end()) {
            throw WrongUse(fmt::format("{} keeps its hart count: it cannot run with {}",
                                       judged.name, *wanted.harts));
        }
        check_json(request);
        std::vector<RunPlan> plans = plans_of(request, wanted, judged, false);
        if (wanted.harts) {
            plans[0].harts = *wanted.harts;
        }
        const std::vector<Outcome> outcomes = perform_all(plans, request, false);
        fmt::print("{}", account_of(outcomes[0]));
        write_json(request, outcomes);
        return exit_code_of(outcomes);
    });
}

int command_machine(const Request& request, const fs::path& console) {
    return guarded([&] {
        const Wanted wanted = wanted_by(request);
        if (wanted.port == Port::hosted) {
            throw WrongUse("machine: a hosted run has no machine to emulate");
        }
        const Case judged = case_named(request, request.patterns.at(0));
        RunPlan plan = plans_of(request, wanted, judged, false).at(0);
        if (wanted.harts) {
            plan.harts = *wanted.harts;
        }
        if (const std::string why = not_here(*runner_for(plan.port), plan); !why.empty()) {
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
        const Wanted wanted = wanted_by(request);
        const std::vector<Case> cases = cases_matching(request);
        check_json(request);
        std::vector<RunPlan> plans;
        for (const Case& judged : cases) {
            const std::vector<RunPlan> more = plans_of(request, wanted, judged, true);
            plans.insert(plans.end(), more.begin(), more.end());
        }
        const std::vector<Outcome> outcomes = perform_all(plans, request, true);
        for (const Outcome& outcome : outcomes) {
            if (outcome.verdict == Verdict::fail) {
                fmt::print("{}\n", account_of(outcome));
            }
        }
        fmt::print("{}", table_of(outcomes));
        const auto count = [&](Verdict verdict) {
            return std::count_if(outcomes.begin(), outcomes.end(),
                                 [&](const Outcome& o) { return o.verdict == verdict; });
        };
        fmt::print("{} runs: {} passed, {} failed, {} recorded, {} not run\n", outcomes.size(),
                   count(Verdict::pass), count(Verdict::fail), count(Verdict::recorded),
                   count(Verdict::notrun));
        write_json(request, outcomes);
        return exit_code_of(outcomes);
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
            const auto loaded = load_case(cases_of(request) / (name + ".toml"));
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
        fmt::print("  runs     on {}; harts {}{}; seeds {}; {} clock\n", names(judged.ports),
                   counts(judged.harts), judged.keep_harts ? " only" : "", counts(judged.seeds),
                   judged.host_clock ? "host" : "virtual");
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

int command_trace(const fs::path& file, std::uint64_t first, std::uint64_t count) {
    return guarded([&] {
        const oracle::TraceResult read = oracle::read_trace(file);
        if (!read.trace) {
            throw std::runtime_error(fmt::format("{}: {}", file.string(), read.refusal));
        }
        const std::vector<abi::TraceRecord>& records = read.trace->records;
        for (std::uint64_t at = first; at < records.size() && at - first < count; ++at) {
            fmt::print("{}\n", oracle::describe(at, records[at]));
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
