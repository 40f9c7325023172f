// Records in user memory: arrays of 64-bit slots, 8-byte aligned, alike on both widths; unused
// slots are 0.
#pragma once

#include <cstdint>

#include "core/abi/limits.h"

namespace ravelin::abi {

/// What budget_create reads.
struct BudgetSpec {
    std::uint64_t pages;
    std::uint64_t processes;
    std::uint64_t weight;
    std::uint64_t label_count;
    std::uint64_t labels[kMaxLabels];
    std::uint64_t account;   ///< taken when the parent has none, 0 otherwise
    std::uint64_t deadline;  ///< microseconds since boot, or kForever
};
static_assert(sizeof(BudgetSpec) == 22 * 8);

/// What budget_usage writes.
struct BudgetUsage {
    std::uint64_t page_limit;
    std::uint64_t pages_used;
    std::uint64_t process_limit;
    std::uint64_t processes_used;
    std::uint64_t weight_limit;
    std::uint64_t weight_carved;
};
static_assert(sizeof(BudgetUsage) == 6 * 8);

}  // namespace ravelin::abi
