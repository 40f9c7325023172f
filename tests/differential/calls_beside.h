// A kernel and the reference of the calls (tests/model/calls.h) go through one sequence of calls by
// several threads of several processes and budgets, and must agree after every step: on each register
// that a call defines, on every byte that a record wrote, and on the whole state.
//
// The kernel is the shipped core on the null port at one or more harts; which thread runs where is its
// own scheduler's decision. One argument in ten is hostile. Between calls the clock moves, slices end,
// accesses fault and the device fires. Rule (I14): no call ends the kernel, whatever its arguments; and
// a refused call changes nothing.
// Bound: 150 steps a sequence, kernel entries that make way for others not counted.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "tests/model/calls.h"

namespace ravelin::differential {

inline constexpr std::uint32_t kMostSteps = 150;
inline constexpr std::uint32_t kMostFullSteps = 1'400;

/// Where a sequence's decisions come from: a seed, or a fuzzer's bytes.
class Choice {
  public:
    explicit Choice(std::uint64_t seed) : random_(seed) {}
    Choice(const std::uint8_t* bytes, std::size_t count) : bytes_(bytes), left_(count) {}

    /// A number below `bound`, which is not 0.
    std::uint64_t below(std::uint64_t bound);

    /// Whether there is nothing left to decide from.
    bool over() const { return bytes_ != nullptr && left_ == 0; }

  private:
    std::mt19937_64 random_;
    const std::uint8_t* bytes_ = nullptr;
    std::size_t left_ = 0;
};

/// What sequences met, for a test to see that they meet it.
struct CallsMet {
    std::uint64_t steps = 0;
    std::uint64_t entries = 0;
    std::uint64_t hostile = 0;
    std::uint64_t calls[abi::kCallCount + 1] = {};  ///< by number; 0: unknown ones
    std::uint64_t statuses[16] = {};
    std::uint64_t most_open = 0;  ///< open calls of one process
};

/// Runs one sequence. Nothing: they agree; else the step and where they part. `log`: every step, as text.
std::optional<std::string> run_beside(Choice& choice, std::uint32_t harts,
                                      model::calls::Mutation mutation, CallsMet& met,
                                      std::string* log = nullptr);

/// The same for a longer sequence of calls alone, in which a process takes as many as it may.
std::optional<std::string> fill_beside(Choice& choice, std::uint32_t harts,
                                       model::calls::Mutation mutation, CallsMet& met);

}  // namespace ravelin::differential
