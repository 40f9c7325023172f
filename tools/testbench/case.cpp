#include "tools/testbench/case.h"

#include <algorithm>
#include <regex>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "tools/oracle/measures.h"
#include "tools/testbench/words.h"

namespace ravelin::testbench {

namespace {

/// What a budget that must keep at least its share keeps of it with its lock waits counted in, per 1000.
constexpr std::int64_t kGrossKept = 900;

/// What is wrong with a case file, and where.
struct Malformed : std::runtime_error {
    Malformed(const toml::source_region& where, const std::string& what)
        : std::runtime_error(what), line(where.begin.line) {}
    std::uint32_t line;
};

/// One table of the file, read key by key; whatever is not asked for is unknown.
class Reader {
  public:
    Reader(const toml::table& table, std::string name) : table_(table), name_(std::move(name)) {}

    bool has(const char* key) { return node(key) != nullptr; }

    std::string text(const char* key) {
        const toml::node& found = required(key);
        if (const auto value = found.value_exact<std::string>()) {
            return *value;
        }
        fail(found, fmt::format("{} must be a string", path(key)));
    }

    std::string text(const char* key, std::string fallback) {
        return has(key) ? text(key) : fallback;
    }

    bool flag(const char* key, bool fallback) {
        const toml::node* found = node(key);
        if (found == nullptr) {
            return fallback;
        }
        if (const auto value = found->value_exact<bool>()) {
            return *value;
        }
        fail(*found, fmt::format("{} must be true or false", path(key)));
    }

    std::int64_t number(const char* key, std::int64_t least, std::int64_t most) {
        return number_of(required(key), path(key), least, most);
    }

    std::int64_t number(const char* key, std::int64_t least, std::int64_t most,
                        std::int64_t fallback) {
        return has(key) ? number(key, least, most) : fallback;
    }

    /// A list of integers, or one integer.
    std::vector<std::int64_t> numbers(const char* key, std::int64_t least, std::int64_t most,
                                      std::vector<std::int64_t> fallback) {
        const toml::node* found = node(key);
        if (found == nullptr) {
            return fallback;
        }
        if (!found->is_array()) {
            return {number_of(*found, path(key), least, most)};
        }
        std::vector<std::int64_t> values;
        for (const toml::node& element : *found->as_array()) {
            const std::int64_t value = number_of(element, path(key), least, most);
            if (std::find(values.begin(), values.end(), value) != values.end()) {
                fail(element, fmt::format("{} has {} twice", path(key), value));
            }
            values.push_back(value);
        }
        if (values.empty()) {
            fail(*found, fmt::format("{} must not be empty", path(key)));
        }
        return values;
    }

    std::vector<std::string> texts(const char* key, std::vector<std::string> fallback) {
        const toml::node* found = node(key);
        if (found == nullptr) {
            return fallback;
        }
        std::vector<std::string> values;
        if (!found->is_array()) {
            fail(*found, fmt::format("{} must be a list of strings", path(key)));
        }
        for (const toml::node& element : *found->as_array()) {
            const auto value = element.value_exact<std::string>();
            if (!value) {
                fail(element, fmt::format("{} must be a list of strings", path(key)));
            }
            values.push_back(*value);
        }
        return values;
    }

    /// A string that must be one of those words.
    std::string word(const char* key, const std::vector<std::string>& known) {
        const std::string value = text(key);
        if (std::find(known.begin(), known.end(), value) == known.end()) {
            fail(required(key), unknown(path(key), value, known));
        }
        return value;
    }

    std::optional<Reader> table(const char* key) {
        const toml::node* found = node(key);
        if (found == nullptr) {
            return std::nullopt;
        }
        if (!found->is_table()) {
            fail(*found, fmt::format("{} must be a table", path(key)));
        }
        return Reader(*found->as_table(), path(key));
    }

    std::vector<Reader> tables(const char* key) {
        const toml::node* found = node(key);
        std::vector<Reader> readers;
        if (found == nullptr) {
            return readers;
        }
        if (!found->is_array_of_tables()) {
            fail(*found, fmt::format("{} must be written as [[{}]]", path(key), key));
        }
        for (const toml::node& element : *found->as_array()) {
            readers.emplace_back(*element.as_table(), path(key));
        }
        return readers;
    }

    /// Rejects what was never asked for.
    void done() {
        for (const auto& [key, value] : table_) {
            const std::string name(key.str());
            if (!known_.contains(name)) {
                const std::vector<std::string> known(known_.begin(), known_.end());
                throw Malformed(key.source(),
                                unknown(name_.empty() ? "key" : "key of " + name_, name, known));
            }
        }
    }

    [[noreturn]] void fail(const std::string& what) const {
        throw Malformed(table_.source(), what);
    }

    /// Fails at a key's own line.
    [[noreturn]] void fail_at(const char* key, const std::string& what) {
        fail(required(key), what);
    }

  private:
    const toml::table& table_;
    std::string name_;
    std::set<std::string> known_;

    const toml::node* node(const char* key) {
        known_.insert(key);
        return table_.get(key);
    }

    const toml::node& required(const char* key) {
        const toml::node* found = node(key);
        if (found == nullptr) {
            fail(fmt::format("{} is missing", path(key)));
        }
        return *found;
    }

    std::string path(const char* key) const {
        return name_.empty() ? key : fmt::format("{}.{}", name_, key);
    }

    static std::int64_t number_of(const toml::node& node, const std::string& path,
                                  std::int64_t least, std::int64_t most) {
        const auto value = node.value_exact<std::int64_t>();
        if (!value) {
            fail(node, fmt::format("{} must be an integer", path));
        }
        if (*value < least || *value > most) {
            fail(node, fmt::format("{} must be from {} to {}, not {}", path, least, most, *value));
        }
        return *value;
    }

    [[noreturn]] static void fail(const toml::node& node, const std::string& what) {
        throw Malformed(node.source(), what);
    }
};

template <class To>
std::vector<To> cast(const std::vector<std::int64_t>& values) {
    std::vector<To> cast_values;
    for (const std::int64_t value : values) {
        cast_values.push_back(static_cast<To>(value));
    }
    return cast_values;
}

std::vector<std::uint32_t> hart_counts(Reader& reader, std::vector<std::int64_t> fallback) {
    return cast<std::uint32_t>(reader.numbers("harts", 1, kMaxHarts, std::move(fallback)));
}

std::size_t budget_named(const Case& judged, Reader& reader, const char* key,
                         const std::string& name) {
    std::vector<std::string> known;
    for (std::size_t i = 0; i < judged.budgets.size(); ++i) {
        if (judged.budgets[i].name == name) {
            return i;
        }
        known.push_back(judged.budgets[i].name);
    }
    reader.fail_at(key, unknown("budget", name, known));
}

Op op_named(const std::string& name) {
    return name == "within" ? Op::within : name == "at_least" ? Op::at_least : Op::at_most;
}

void read_budgets(Case& judged, Reader& file) {
    for (Reader& reader : file.tables("budget")) {
        JudgedBudget budget;
        budget.name = reader.text("name");
        budget.account = static_cast<std::uint16_t>(reader.number("account", 1, 999));
        budget.weight = static_cast<std::uint64_t>(reader.number("weight", 0, 1'000'000, 0));
        budget.threads = static_cast<std::uint64_t>(reader.number("threads", 1, 1'000'000, 1));
        budget.windows = cast<std::uint32_t>(reader.numbers("windows", 1, 1000, {}));
        for (const JudgedBudget& other : judged.budgets) {
            if (other.name == budget.name) {
                reader.fail_at("name", fmt::format("two budgets are named '{}'", budget.name));
            }
            if (other.account == budget.account) {
                reader.fail_at("account", fmt::format("budgets '{}' and '{}' have one account",
                                                      other.name, budget.name));
            }
        }
        reader.done();
        judged.budgets.push_back(std::move(budget));
    }
}

std::vector<Port> ports_of(Reader& reader, const std::vector<std::string>& fallback) {
    std::vector<Port> ports;
    for (const std::string& name : reader.texts("ports", fallback)) {
        const auto port = port_named(name);
        if (!port) {
            reader.fail_at("ports", unknown("port", name, port_names()));
        }
        ports.push_back(*port);
    }
    if (ports.empty() && reader.has("ports")) {
        reader.fail_at("ports", "ports must not be empty");
    }
    return ports;
}

Scope read_scope(Reader& reader) {
    return {.harts = hart_counts(reader, {}), .ports = ports_of(reader, {})};
}

void read_shares(Case& judged, Reader& file) {
    for (Reader& reader : file.tables("share")) {
        ShareRule rule;
        rule.budget = budget_named(judged, reader, "budget", reader.text("budget"));
        rule.window = static_cast<std::uint32_t>(reader.number("window", 1, 1000, 1));
        if (reader.has("op")) {
            rule.op = op_named(reader.word("op", {"within", "at_least", "at_most"}));
        }
        if (reader.has("want")) {
            rule.want = reader.number("want", 0, 1000);
        }
        rule.tolerance = reader.number("tolerance", 0, 1000, 50);
        rule.turns_tolerance = reader.number("turns_tolerance", 0, 1000, rule.tolerance);
        rule.host_tolerance = reader.number("host_tolerance", 0, 1000, 2 * rule.tolerance);
        rule.gross = reader.number("gross", 0, 1000, rule.op == Op::at_least ? kGrossKept : 0);
        rule.turns_gross = reader.number("turns_gross", 0, 1000, rule.gross);
        rule.scope = read_scope(reader);
        const JudgedBudget& budget = judged.budgets[rule.budget];
        if (!rule.want && budget.weight == 0) {
            reader.fail_at(
                "budget",
                fmt::format("budget '{}' has no weight, so its share needs a want", budget.name));
        }
        if (!budget.windows.empty() && std::find(budget.windows.begin(), budget.windows.end(),
                                                 rule.window) == budget.windows.end()) {
            reader.fail_at("budget", fmt::format("budget '{}' takes no part in window {}",
                                                 budget.name, rule.window));
        }
        reader.done();
        judged.shares.push_back(std::move(rule));
    }
}

void read_figures(Case& judged, Reader& file) {
    std::vector<std::string> known;
    for (const oracle::FigureName& figure : oracle::figure_names()) {
        known.emplace_back(figure.name);
    }
    for (Reader& reader : file.tables("figure")) {
        FigureRule rule;
        rule.name = reader.word("name", known);
        rule.op = op_named(reader.word("op", {"at_least", "at_most"}));
        rule.target = reader.number("target", 0, std::int64_t{1} << 53);
        rule.scope = read_scope(reader);
        reader.done();
        judged.figures.push_back(std::move(rule));
    }
}

void read_checks(Case& judged, Reader& file) {
    std::optional<Reader> checks = file.table("checks");
    if (!checks) {
        return;
    }
    const auto wakes = [&](const char* key) -> std::optional<WakeRule> {
        auto reader = checks->table(key);
        if (!reader) {
            return std::nullopt;
        }
        const WakeRule rule{
            .budget = budget_named(judged, *reader, "budget", reader->text("budget")),
            .at_least = static_cast<std::uint64_t>(reader->number("at_least", 1, 1'000'000))};
        reader->done();
        return rule;
    };
    judged.wake_no_preempt = wakes("wake_no_preempt");
    judged.irq_wake_no_preempt = wakes("irq_wake_no_preempt");
    if (auto reader = checks->table("round_robin")) {
        judged.round_robin = RoundRobinRule{
            .budget = budget_named(judged, *reader, "budget", reader->text("budget")),
            .threads = static_cast<std::uint64_t>(reader->number("threads", 2, 1'000'000)),
            .rounds = static_cast<std::uint64_t>(reader->number("rounds", 1, 1'000'000)),
            .tolerance = static_cast<std::uint64_t>(reader->number("tolerance", 0, 1000, 100))};
        reader->done();
    }
    if (auto reader = checks->table("wake_wait")) {
        const auto number = [&reader](const char* key, std::int64_t least) {
            return static_cast<std::uint64_t>(reader->number(key, least, 1'000'000'000));
        };
        WakeWaitRule rule;
        for (const std::string& name : reader->texts("budgets", {})) {
            rule.budgets.push_back(budget_named(judged, *reader, "budgets", name));
        }
        if (rule.budgets.empty()) {
            reader->fail("checks.wake_wait.budgets must name budgets");
        }
        rule.bounds = {.at_floor = number("at_floor", 0),
                       .ahead = number("ahead", 0),
                       .p50_us = number("p50_us", 1),
                       .p99_us = number("p99_us", 1)};
        reader->done();
        judged.wake_wait = std::move(rule);
    }
    if (auto reader = checks->table("lift_delay")) {
        judged.lift_delay = LiftDelayRule{
            .budget = budget_named(judged, *reader, "budget", reader->text("budget")),
            .peers = budget_named(judged, *reader, "peers", reader->text("peers")),
            .at_least = static_cast<std::uint64_t>(reader->number("at_least", 1, 1'000'000))};
        reader->done();
    }
    if (auto reader = checks->table("ties")) {
        TiesRule rule;
        for (const std::string& name : reader->texts("groups", {})) {
            rule.groups.push_back(budget_named(judged, *reader, "groups", name));
        }
        if (rule.groups.empty()) {
            reader->fail("checks.ties.groups must name budgets");
        }
        rule.size = static_cast<std::uint64_t>(reader->number("size", 2, 1000));
        reader->done();
        judged.ties = std::move(rule);
    }
    checks->done();
}

void check_regexes(Reader& reader, const char* key, const std::vector<std::string>& regexes) {
    for (const std::string& text : regexes) {
        try {
            std::regex compiled(text, std::regex::extended);
        } catch (const std::regex_error& error) {
            reader.fail_at(key,
                           fmt::format("'{}' is no regular expression: {}", text, error.what()));
        }
    }
}

/// In the order of feature_names, so that one set of them is one build.
std::vector<std::string> features_of(Reader& reader) {
    const std::vector<std::string> asked = reader.texts("features", {});
    const std::vector<std::string>& known = feature_names();
    for (const std::string& name : asked) {
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            reader.fail_at("features", unknown("feature", name, known));
        }
    }
    std::vector<std::string> features;
    for (const std::string& name : known) {
        if (std::find(asked.begin(), asked.end(), name) != asked.end()) {
            features.push_back(name);
        }
    }
    return features;
}

Case read_case(const toml::table& table, const std::filesystem::path& file) {
    Reader reader(table, "");
    Case judged;
    judged.name = file.stem().string();
    judged.file = file;
    judged.description = reader.text("description");
    judged.program = reader.text("program", judged.name);
    judged.ports = ports_of(reader, port_names());
    judged.harts = hart_counts(reader, {1});
    judged.keep_harts = reader.flag("keep_harts", false);
    judged.seeds = cast<std::uint64_t>(reader.numbers("seeds", 0, std::int64_t{1} << 53, {1}));
    if (reader.has("clock")) {
        judged.host_clock = reader.word("clock", {"virtual", "host"}) == "host";
    }
    judged.timeout_s = static_cast<std::uint32_t>(reader.number("timeout_s", 1, 36'000, 60));
    judged.memory_mib = static_cast<std::uint32_t>(reader.number("memory_mib", 1, 65'536, 64));
    judged.checked = reader.flag("checked", true);
    judged.suite = reader.flag("suite", false);
    judged.slice_us = static_cast<std::uint32_t>(reader.number("slice_us", 1, 1'000'000, 1000));
    judged.icount = static_cast<std::uint32_t>(reader.number("icount", 0, 10, 3));
    judged.features = features_of(reader);
    judged.gate = reader.flag("gate", true);
    judged.record = reader.flag("record", false);
    judged.needs = reader.texts("needs", {});
    judged.expect = reader.texts("expect", {});
    judged.forbid = reader.texts("forbid", {});
    check_regexes(reader, "expect", judged.expect);
    check_regexes(reader, "forbid", judged.forbid);
    if (reader.has("ends")) {
        judged.ends = reader.word("ends", {"off", "reboot", "failed", "panic"});
    }
    if (reader.has("must_fail")) {
        judged.must_fail = reader.word("must_fail", check_names());
    }
    read_budgets(judged, reader);
    read_shares(judged, reader);
    read_figures(judged, reader);
    read_checks(judged, reader);
    reader.done();
    const bool judges_trace = !judged.shares.empty() || !judged.figures.empty() ||
                              judged.wake_no_preempt || judged.irq_wake_no_preempt ||
                              judged.round_robin || judged.ties || judged.lift_delay ||
                              judged.wake_wait || judged.must_fail;
    if (judged.suite && judges_trace) {
        reader.fail_at("suite", "the conformance suite has no trace to judge");
    }
    if (!judged.checked && judges_trace) {
        reader.fail_at("checked", "a release kernel has no trace to judge");
    }
    if (!judged.checked && !judged.features.empty()) {
        reader.fail_at("features", "a release kernel refuses every feature");
    }
    if (judged.record && judged.must_fail) {
        reader.fail_at("record", "a case that must fail is judged");
    }
    return judged;
}

}  // namespace

const std::vector<std::string>& port_names() {
    static const std::vector<std::string> names = {"hosted", "rv64", "rv32"};
    return names;
}

std::string name_of(Port port) {
    return port_names()[static_cast<std::size_t>(port)];
}

std::string name_of(Op op) {
    return op == Op::within ? "within" : op == Op::at_least ? "at_least" : "at_most";
}

std::optional<Port> port_named(const std::string& name) {
    const auto found = std::find(port_names().begin(), port_names().end(), name);
    if (found == port_names().end()) {
        return std::nullopt;
    }
    return static_cast<Port>(found - port_names().begin());
}

const std::vector<std::string>& feature_names() {
    static const std::vector<std::string> names = {"arm-under-lock"};
    return names;
}

std::vector<std::string> check_names() {
    std::vector<std::string> names;
    for (const std::string_view name : oracle::check_names()) {
        names.emplace_back(name);
    }
    for (const char* name : {"share", "figure", "wake_no_preempt", "irq_wake_no_preempt",
                             "round_robin", "ties", "lift_delay", "wake_wait"}) {
        names.emplace_back(name);
    }
    return names;
}

std::variant<Case, std::string> load_case(const std::filesystem::path& file) {
    try {
        const toml::table table = toml::parse_file(file.string());
        return read_case(table, file);
    } catch (const toml::parse_error& error) {
        return fmt::format("{}:{}: {}", file.string(), error.source().begin.line,
                           error.description());
    } catch (const Malformed& error) {
        return fmt::format("{}:{}: {}", file.string(), std::max(error.line, 1U), error.what());
    }
}

std::vector<std::string> case_names(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        if (entry.path().extension() == ".toml") {
            names.push_back(entry.path().stem().string());
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace ravelin::testbench
