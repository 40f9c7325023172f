#include "tools/testbench/plan.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "tools/testbench/words.h"

namespace ravelin::testbench {

namespace {

namespace fs = std::filesystem;

/// A seed sweep longer than this is a typing error.
constexpr std::uint64_t kMostSeeds = 10'000;

/// The sweep of `--long`.
constexpr std::uint64_t kLongSeeds = 100;

std::uint64_t number_of(const std::string& text, const char* what) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        throw WrongUse(fmt::format("{}: '{}' is no number", what, text));
    }
    return value;
}

std::vector<std::uint64_t> sweep(std::uint64_t first, std::uint64_t last) {
    std::vector<std::uint64_t> seeds;
    for (std::uint64_t seed = first; seed <= last; ++seed) {
        seeds.push_back(seed);
    }
    return seeds;
}

std::vector<std::uint64_t> sweep_named(const std::string& text) {
    const std::size_t dots = text.find("..");
    if (dots == std::string::npos) {
        throw WrongUse(fmt::format("--seeds: '{}' is not A..B", text));
    }
    const std::uint64_t first = number_of(text.substr(0, dots), "--seeds");
    const std::uint64_t last = number_of(text.substr(dots + 2), "--seeds");
    if (last < first || last - first >= kMostSeeds) {
        throw WrongUse(
            fmt::format("--seeds: {} to {} is no sweep of 1 to {} seeds", first, last, kMostSeeds));
    }
    return sweep(first, last);
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

std::vector<Port> ports_named(const Request& request) {
    if (request.ports.empty()) {
        return request.gates ? std::vector{Port::hosted, Port::rv64, Port::rv32}
                             : std::vector{Port::hosted};
    }
    std::vector<Port> ports;
    for (const std::string& name : request.ports) {
        const auto port = port_named(name);
        if (!port) {
            throw WrongUse(unknown("port", name, port_names()));
        }
        if (std::find(ports.begin(), ports.end(), *port) == ports.end()) {
            ports.push_back(*port);
        }
    }
    return ports;
}

/// Has a case judged by the rules every trace must keep, at any hart count. False: it has no trace of
/// the kernel's own, or is there to be rejected.
bool by_rules(Case& judged) {
    if (!judged.checked || judged.suite || judged.must_fail) {
        return false;
    }
    judged.record = true;
    judged.keep_harts = false;
    judged.expect.clear();
    judged.wake_no_preempt.reset();
    judged.irq_wake_no_preempt.reset();
    judged.round_robin.reset();
    judged.ties.reset();
    judged.lift_delay.reset();
    judged.wake_wait.reset();
    return true;
}

}  // namespace

fs::path file_of(const Request& request, const std::string& name) {
    return cases_of(request) / (name + ".toml");
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
    return load(file_of(request, name));
}

Wanted wanted_by(const Request& request) {
    Wanted wanted;
    wanted.ports = ports_named(request);
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
    } else if (request.seeds) {
        wanted.seeds = sweep_named(*request.seeds);
    } else if (request.long_runs) {
        wanted.seeds = sweep(1, kLongSeeds);
    }
    for (const Port port : wanted.ports) {
        if (request.clock) {
            wanted.host_clock = host_clock_named(port, *request.clock);
            if (!wanted.host_clock) {
                throw WrongUse(fmt::format("on {}: {}", name_of(port),
                                           unknown("clock", *request.clock, clock_names(port))));
            }
        }
    }
    return wanted;
}

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
        Case judged = load(file_of(request, name));
        if (request.rules && !by_rules(judged)) {
            continue;
        }
        if (!request.gates || judged.gate) {
            cases.push_back(std::move(judged));
        }
    }
    if (cases.empty()) {
        throw WrongUse(request.rules ? "none of these cases can be judged by the rules alone"
                                     : "none of these cases is a gate");
    }
    return cases;
}

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
    for (const Port port : wanted.ports) {
        const auto& its = judged.ports;
        if ((request.gates || request.rules) &&
            std::find(its.begin(), its.end(), port) == its.end()) {
            continue;
        }
        for (const std::uint32_t count : harts) {
            for (const std::uint64_t seed : seeds) {
                plans.push_back({.judged = &judged,
                                 .port = port,
                                 .harts = count,
                                 .seed = seed,
                                 .host_clock = wanted.host_clock.value_or(judged.host_clock),
                                 .root = request.root,
                                 .trace = {}});
            }
        }
    }
    return plans;
}

std::string key_of(const RunPlan& plan) {
    return fmt::format("{} {} h{} s{} {}", plan.judged->name, name_of(plan.port), plan.harts,
                       plan.seed, runner_for(plan.port)->clock_name(plan.host_clock));
}

}  // namespace ravelin::testbench
