#include "tools/oracle/shares.h"

#include <algorithm>

#include <fmt/format.h>

namespace ravelin::oracle {

using abi::TraceCharge;
using abi::TraceKind;

std::vector<Window> find_windows(const Replay& replay, std::string& error) {
    std::vector<Window> windows;
    bool open = false;
    std::uint64_t first = 0;
    for (const BudgetInfo& budget : replay.budgets) {
        if (budget.account != kWindowStarts && budget.account != kWindowEnds) {
            continue;
        }
        if (open == (budget.account == kWindowStarts)) {
            error = fmt::format("the mark at record {} {} a window that is {}", budget.created,
                                open ? "starts" : "ends", open ? "open" : "not open");
            return windows;
        }
        if (open) {
            windows.push_back({.first = first, .last = budget.created});
        } else {
            first = budget.created;
        }
        open = !open;
    }
    if (open) {
        error = fmt::format("the window that starts at record {} does not end", first);
    }
    return windows;
}

WindowCharges charges_in(const Trace& trace, const Replay& replay, const Window& window) {
    std::unordered_map<std::uint64_t, std::uint16_t> accounts;
    for (const BudgetInfo& budget : replay.budgets) {
        accounts.emplace(budget.id, budget.account);
    }
    WindowCharges charges;
    for (std::uint64_t at = window.first; at < window.last; ++at) {
        const abi::TraceRecord& r = trace.records[at];
        if (r.kind != static_cast<std::uint8_t>(TraceKind::charge) || r.id == 0) {
            continue;
        }
        const std::uint64_t waited =
            r.what == static_cast<std::uint16_t>(TraceCharge::lock_wait) ? r.x : 0;
        for (Charged* sum : {&charges.all, &charges.by_account[accounts[r.id]]}) {
            sum->gross += r.x;
            sum->lock_waits += waited;
        }
    }
    return charges;
}

double per_thousand(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0.0 : 1000.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::vector<double> water_filling(std::span<const Party> parties, std::uint32_t harts) {
    std::vector<double> got(parties.size(), 0.0);
    std::vector<bool> full(parties.size(), false);
    double left = harts;
    for (bool again = true; again;) {
        again = false;
        double weight = 0.0;
        for (std::size_t i = 0; i < parties.size(); ++i) {
            weight += full[i] ? 0.0 : static_cast<double>(parties[i].weight);
        }
        for (std::size_t i = 0; i < parties.size(); ++i) {
            if (full[i] || weight <= 0.0) {
                continue;
            }
            const auto threads = static_cast<double>(parties[i].threads);
            got[i] = left * static_cast<double>(parties[i].weight) / weight;
            if (got[i] > threads) {
                got[i] = threads;
                full[i] = true;
                left = std::max(0.0, left - threads);
                again = true;
                break;
            }
        }
    }
    double sum = 0.0;
    for (const double share : got) {
        sum += share;
    }
    for (double& share : got) {
        share = sum > 0.0 ? 1000.0 * share / sum : 0.0;
    }
    return got;
}

std::vector<BudgetInfo> outermost(const Replay& replay, std::uint16_t account) {
    std::unordered_map<std::uint64_t, std::uint16_t> accounts;
    for (const BudgetInfo& budget : replay.budgets) {
        accounts.emplace(budget.id, budget.account);
    }
    std::vector<BudgetInfo> found;
    for (const BudgetInfo& budget : replay.budgets) {
        const auto parent = accounts.find(budget.parent);
        if (budget.account == account && (parent == accounts.end() || parent->second != account)) {
            found.push_back(budget);
        }
    }
    return found;
}

std::optional<std::string> why_not_judged(const Replay& replay, const Window& window,
                                          std::uint16_t account, std::uint64_t weight) {
    std::uint64_t sum = 0;
    std::size_t there = 0;
    for (const BudgetInfo& budget : outermost(replay, account)) {
        if (budget.ended < window.first || budget.created >= window.last) {
            continue;
        }
        if (budget.created > window.first) {
            return fmt::format("budget {} of account {} is made within the window (record {})",
                               budget.id, account, budget.created);
        }
        if (budget.ended < window.last) {
            return fmt::format("budget {} of account {} ends within the window (record {})",
                               budget.id, account, budget.ended);
        }
        sum += budget.limit;
        ++there;
    }
    if (there == 0) {
        return fmt::format("no budget of account {} exists in the window", account);
    }
    if (weight != 0 && sum != weight) {
        return fmt::format("account {} has weight {} in the trace, not {}", account, sum, weight);
    }
    return std::nullopt;
}

std::optional<std::string> why_no_share(const Replay& replay, const Window& window,
                                        std::uint16_t account) {
    for (const BudgetInfo& budget : outermost(replay, account)) {
        const auto found =
            std::lower_bound(budget.reweighed.begin(), budget.reweighed.end(), window.first);
        if (found != budget.reweighed.end() && *found < window.last) {
            return fmt::format("budget {} of account {} is reweighed within the window (record {})",
                               budget.id, account, *found);
        }
    }
    return std::nullopt;
}

}  // namespace ravelin::oracle
