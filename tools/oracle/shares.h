// Shares: what the kernel charged each judged party in a window, against what water-filling owes it.
//
// A party is an account: every budget of it counts, whenever it was made. A window lies between the
// creation of a budget with account 1000 and one with account 1001. The share is of what all budgets
// were charged: net of billed lock waits (R12 promises shares of the harts a budget could use) and
// gross. Bound: one pass over the window.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tools/oracle/replay.h"

namespace ravelin::oracle {

inline constexpr std::uint16_t kWindowStarts = 1000;
inline constexpr std::uint16_t kWindowEnds = 1001;

/// A stretch of the trace: records from `first` up to, not with, `last`.
struct Window {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
};

struct Charged {
    std::uint64_t gross = 0;
    std::uint64_t lock_waits = 0;

    std::uint64_t net() const { return gross - lock_waits; }
};

struct WindowCharges {
    std::unordered_map<std::uint16_t, Charged> by_account;
    Charged all;
};

struct Party {
    std::uint64_t weight = 0;
    std::uint64_t threads = 1;
};

/// The windows in their order. `error` is set if a mark has no partner or windows overlap.
std::vector<Window> find_windows(const Replay& replay, std::string& error);

/// What the window charged, by account.
WindowCharges charges_in(const Trace& trace, const Replay& replay, const Window& window);

/// What is a part of a whole, per 1000; 0 of nothing.
double per_thousand(std::uint64_t part, std::uint64_t whole);

/// Shares per 1000 of what the parties can use of `harts`: harts in proportion to weight, no party
/// more than its threads, what it cannot use to the others in proportion.
std::vector<double> water_filling(std::span<const Party> parties, std::uint32_t harts);

/// The budgets of an account whose parent has another account.
std::vector<BudgetInfo> outermost(const Replay& replay, std::uint16_t account);

/// Why a window cannot be judged for an account of that weight (0: any), or nothing: its outermost
/// budgets must have been made before it, outlive it, and have that weight together.
std::optional<std::string> why_not_judged(const Replay& replay, const Window& window,
                                          std::uint16_t account, std::uint64_t weight);

/// Why no share can be asked of an account in a window, or nothing: the weight of an outermost budget of it
/// changes there, so that it has no one share to get.
std::optional<std::string> why_no_share(const Replay& replay, const Window& window,
                                        std::uint16_t account);

}  // namespace ravelin::oracle
