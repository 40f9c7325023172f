// Random sequences of scheduling steps: made from a seed, written as text, read back.
//
// A step names a budget by its place among those alive and a hart by its number, both modulo how
// many there are, so that a sequence with steps taken out is a sequence still.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ravelin::differential {

enum class Do : std::uint8_t {
    create,     // a child of budget a, n of its free weight
    destroy,    // budget a with its subtree
    carve,      // n of budget a's free weight away
    give_back,  // n of what carve took of budget a
    ready,      // a thread of budget a
    unready,    // a waiting thread of budget a
    run,        // hart b's runner, n ticks
    bill,       // n ticks to budget a on hart b
    stay,       // the entry on hart b ends and its thread stays
    slice,      // ... ends its slice
    preempt,    // ... is preempted by a deadline
    block,      // ... blocks
    exit,       // ... ends
    online,     // one more hart
};

inline constexpr std::size_t kSteps = 14;

struct Step {
    Do what = Do::stay;
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    std::uint64_t n = 0;

    bool operator==(const Step&) const = default;
};

struct Sequence {
    std::uint32_t harts = 1;           // when all are online
    std::uint32_t online = 1;          // from the start
    std::uint32_t budgets = 12;        // at most
    std::uint32_t threads = 3;         // of one budget, at most
    std::uint32_t weight = 1'000'000;  // of the root
    std::uint32_t start = 0;           // where the root's pass stands: see start_pass
    std::vector<Step> steps;
};

/// The passes a sequence can start from: 0, 2^127 - 2^80, and so near the top that it saturates.
inline constexpr std::uint32_t kStarts = 3;
unsigned __int128 start_pass(std::uint32_t start);

/// The sequence of this seed with `harts` harts. The same on every machine.
Sequence sequence_of(std::uint64_t seed, std::uint32_t harts);

/// One line: "harts/online/budgets/threads/weight/start: step; step; ...".
std::string to_text(const Sequence& sequence);

/// Reads what to_text wrote; nothing if it is not that.
std::optional<Sequence> from_text(std::string_view text);

}  // namespace ravelin::differential
