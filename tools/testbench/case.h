// Case files: what is run and how it is judged. tests/cases/README.md describes every field.
//
// Reading is strict: an unknown key, a wrong type, a value out of range, a name that is not known is
// one error with file and line. Invariant: a Case that load_case gives is consistent in itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tools/oracle/measures.h"

namespace ravelin::testbench {

enum class Port : std::uint8_t { hosted, rv64, rv32 };
enum class Op : std::uint8_t { within, at_least, at_most };

inline constexpr std::uint32_t kMaxHarts = 8;

const std::vector<std::string>& port_names();
std::string name_of(Port port);
std::string name_of(Op op);
std::optional<Port> port_named(const std::string& name);

struct JudgedBudget {
    std::string name;
    std::uint16_t account = 0;
    std::uint64_t weight = 0;
    std::uint64_t threads = 1;
    std::vector<std::uint32_t> windows;  ///< empty: all
};

/// Where a rule is judged; elsewhere what it says is recorded. Empty: everywhere.
struct Scope {
    std::vector<std::uint32_t> harts;
    std::vector<Port> ports;
};

struct ShareRule {
    std::size_t budget = 0;
    std::uint32_t window = 1;
    Op op = Op::within;
    std::optional<std::int64_t> want;  ///< per 1000; none: water-filling
    std::int64_t tolerance = 50;
    std::int64_t turns_tolerance = 50;  ///< several harts in an emulator's turns
    std::int64_t host_tolerance = 100;  ///< on the host's clock
    /// The least of what it is owed, per 1000 of that, that it gets with its lock waits counted in; 0: not judged.
    std::int64_t gross = 0;
    std::int64_t turns_gross = 0;  ///< several harts in an emulator's turns
    Scope scope;
};

struct FigureRule {
    std::string name;
    Op op = Op::at_least;
    std::int64_t target = 0;
    Scope scope;
};

struct WakeRule {
    std::size_t budget = 0;
    std::uint64_t at_least = 1;
};

struct RoundRobinRule {
    std::size_t budget = 0;
    std::uint64_t threads = 1;
    std::uint64_t rounds = 1;
    std::uint64_t tolerance = 100;
};

struct TiesRule {
    std::vector<std::size_t> groups;
    std::uint64_t size = 2;
};

struct WakeWaitRule {
    std::vector<std::size_t> budgets;
    oracle::WaitBounds bounds;
};

struct LiftDelayRule {
    std::size_t budget = 0;  ///< the parents
    std::size_t peers = 0;
    std::uint64_t at_least = 1;
};

struct Case {
    std::string name;
    std::filesystem::path file;
    std::string description;
    std::string program;
    std::vector<Port> ports;
    std::vector<std::uint32_t> harts;
    bool keep_harts = false;
    std::vector<std::uint64_t> seeds;
    bool host_clock = false;
    std::uint32_t timeout_s = 60;
    std::uint32_t memory_mib = 64;
    bool checked = true;
    bool suite = false;  ///< the port conformance suite runs in the kernel's place
    std::uint32_t slice_us = 1000;
    std::uint32_t icount = 3;           ///< QEMU: an instruction takes 2^icount ns of guest time
    std::vector<std::string> features;  ///< of feature_names, in that order
    bool gate = true;                   ///< one of the runs of `bench --gates`
    bool record = false;                ///< shares and figures are recorded, never judged
    std::vector<std::string> needs;
    std::vector<std::string> expect;
    std::vector<std::string> forbid;
    std::string ends = "off";
    std::optional<std::string> must_fail;
    std::vector<JudgedBudget> budgets;
    std::vector<ShareRule> shares;
    std::vector<FigureRule> figures;
    std::optional<WakeRule> wake_no_preempt;
    std::optional<WakeRule> irq_wake_no_preempt;
    std::optional<RoundRobinRule> round_robin;
    std::optional<TiesRule> ties;
    std::optional<WakeWaitRule> wake_wait;
    std::optional<LiftDelayRule> lift_delay;
};

/// A case, or one line that says what is wrong: "FILE:LINE: MESSAGE".
std::variant<Case, std::string> load_case(const std::filesystem::path& file);

/// The names of the cases of a folder, sorted.
std::vector<std::string> case_names(const std::filesystem::path& folder);

/// What a kernel can be built with for tests alone; `a-b` is the option RAVELIN_A_B of the build.
const std::vector<std::string>& feature_names();

/// The checks that `must_fail` may name.
std::vector<std::string> check_names();

}  // namespace ravelin::testbench
