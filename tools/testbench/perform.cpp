#include "tools/testbench/perform.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "tools/testbench/process.h"

namespace ravelin::testbench {

namespace {

namespace fs = std::filesystem;

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

Outcome perform_once(RunPlan plan, const PerformOptions& options, const fs::path& scratch) {
    plan.trace = scratch / trace_name(plan);
    RunResult run;
    run.not_run = not_here(plan);
    if (run.not_run.empty()) {
        run = runner_for(plan.port)->run(plan);
    }
    Outcome outcome = judge(plan, run, std::max(1U, std::thread::hardware_concurrency()));

    std::error_code error;
    if ((options.traces || outcome.verdict == Verdict::fail) && fs::exists(plan.trace)) {
        const fs::path folder = options.traces.value_or(options.root / "build" / "traces");
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

/// Did the run miss nothing but targets of time?
bool misses_time_alone(const Outcome& outcome) {
    return outcome.verdict == Verdict::fail && !outcome.failures.empty() &&
           std::all_of(outcome.failures.begin(), outcome.failures.end(),
                       [](const Failure& failure) {
                           return failure.check == "share" || failure.check == "figure";
                       });
}

Outcome perform(const RunPlan& plan, const PerformOptions& options, const fs::path& scratch) {
    Outcome outcome = perform_once(plan, options, scratch);
    if (plan.host_clock && misses_time_alone(outcome)) {
        Outcome again = perform_once(plan, options, scratch);
        const std::string first =
            fmt::format("it missed once before: {}", outcome.failures[0].reason);
        again.reason = again.reason.empty() ? first : again.reason + "; " + first;
        again.runs = 2;
        again.wall_s += outcome.wall_s;
        return again;
    }
    return outcome;
}

/// How long what is left may take, from what earlier runs took.
class Estimate {
  public:
    Estimate(const std::vector<RunPlan>& plans, const PerformOptions& options)
        : plans_(plans), open_(plans.size(), true) {
        for (const RunPlan& plan : plans) {
            known_.push_back(options.expected ? options.expected(plan) : std::nullopt);
        }
    }

    void done(std::size_t run, double seconds) {
        open_[run] = false;
        Mean& mean = means_[plans_[run].port];
        mean.seconds += seconds;
        ++mean.runs;
    }

    double left(unsigned workers) const {
        double together = 0.0;
        double alone = 0.0;
        for (std::size_t run = 0; run < plans_.size(); ++run) {
            if (open_[run]) {
                (plans_[run].host_clock ? alone : together) += of(run);
            }
        }
        return together / workers + alone;
    }

  private:
    struct Mean {
        double seconds = 0.0;
        unsigned runs = 0;
    };

    const std::vector<RunPlan>& plans_;
    std::vector<bool> open_;
    std::vector<std::optional<double>> known_;
    std::map<Port, Mean> means_;

    double of(std::size_t run) const {
        constexpr double kFirstGuess = 5.0;
        const auto mean = means_.find(plans_[run].port);
        return known_[run].value_or(
            mean == means_.end() ? kFirstGuess : mean->second.seconds / mean->second.runs);
    }
};

std::string duration(double seconds) {
    const auto whole = static_cast<long>(std::ceil(seconds));
    return whole < 120 ? fmt::format("{} s", whole) : fmt::format("{} min", (whole + 59) / 60);
}

}  // namespace

std::string not_here(const RunPlan& plan) {
    const Case& judged = *plan.judged;
    if (std::find(judged.ports.begin(), judged.ports.end(), plan.port) == judged.ports.end()) {
        return fmt::format("the case does not run on {}", name_of(plan.port));
    }
    for (const std::string& program : judged.needs) {
        if (find_program(program).empty()) {
            return fmt::format("the case needs {}, which is not installed", program);
        }
    }
    return runner_for(plan.port)->missing(plan);
}

std::vector<Outcome> perform_all(const std::vector<RunPlan>& plans, const PerformOptions& options) {
    const Scratch scratch;
    std::vector<Outcome> outcomes(plans.size());
    std::vector<std::size_t> together;
    std::vector<std::size_t> alone;
    for (std::size_t i = 0; i < plans.size(); ++i) {
        (plans[i].host_clock ? alone : together).push_back(i);
    }
    const auto workers = static_cast<unsigned>(
        std::clamp<std::size_t>(options.jobs, 1, std::max<std::size_t>(1, together.size())));
    const std::vector<unsigned> cores = usable_cores();

    std::mutex finishing;
    std::size_t done = 0;
    Estimate estimate(plans, options);
    const auto one = [&](std::size_t i, std::optional<unsigned> core) {
        RunPlan plan = plans[i];
        plan.core = core;
        outcomes[i] = perform(plan, options, scratch.folder());
        const Outcome& outcome = outcomes[i];
        const std::lock_guard lock(finishing);
        ++done;
        estimate.done(i, outcome.wall_s);
        if (options.finished) {
            options.finished(plan, outcome);
        }
        if (options.progress) {
            fmt::print(stderr, "[{}/{}] {} {} harts {} seed {}: {} ({:.1f} s){}\n", done,
                       plans.size(), outcome.name, name_of(outcome.port), outcome.harts,
                       outcome.seed, name_of(outcome.verdict), outcome.wall_s,
                       done == plans.size()
                           ? ""
                           : fmt::format(", about {} left", duration(estimate.left(workers))));
        }
    };
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> threads;
    for (unsigned job = 0; job < workers; ++job) {
        // One job alone may use every core; of more, each has its own.
        const std::optional<unsigned> core =
            workers > 1 ? std::optional(cores[job % cores.size()]) : std::nullopt;
        threads.emplace_back([&, core] {
            for (std::size_t i; (i = next++) < together.size();) {
                one(together[i], core);
            }
        });
    }
    threads.clear();
    for (const std::size_t i : alone) {
        one(i, std::nullopt);
    }
    return outcomes;
}

}  // namespace ravelin::testbench
