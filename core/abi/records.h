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

/// What call, send and reply read of a message that carries handles; its words travel in registers.
/// A reply that brings handles is written over the caller's.
struct Body {
    std::uint64_t handle_count;
    std::uint64_t handles[kMaxMessageHandles];
};
static_assert(sizeof(Body) == 5 * 8);

/// What receive writes of a message that brought handles, pages or labels: all of it then, and
/// nothing of it otherwise.
struct Arrival {
    std::uint64_t label_count;
    std::uint64_t labels[kMaxLabels];  ///< in ascending order
    std::uint64_t handle_count;
    std::uint64_t handles[kMaxMessageHandles];  ///< 0: revoked before it arrived
    std::uint64_t address;                      ///< of the pages lent or transferred
    std::uint64_t pages;
};
static_assert(sizeof(Arrival) == 24 * 8);

}  // namespace ravelin::abi
