#include "tools/oracle/measures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

namespace ravelin::oracle {

using abi::TraceCharge;
using abi::TraceLeave;

namespace {

bool within(std::uint64_t place, const Window& window) {
    return place >= window.first && place < window.last;
}

std::unordered_set<std::uint64_t> budgets_of(const Replay& replay, std::uint16_t account) {
    std::unordered_set<std::uint64_t> ids;
    for (const BudgetInfo& budget : replay.budgets) {
        if (budget.account == account) {
            ids.insert(budget.id);
        }
    }
    return ids;
}

/// What entered the kernel in a window.
struct Entries {
    std::uint64_t interrupts_most = 0;
    std::uint64_t hand_overs = 0;
};

Entries entries_in(const Trace& trace, const Window& window) {
    Entries found;
    std::map<std::uint8_t, std::uint64_t> interrupts;
    std::optional<std::uint8_t> last;  // the hart of the entry before
    bool changed_hands = false;        // in this entry, which has found nothing due yet
    for (std::uint64_t place = window.first; place < window.last; ++place) {
        const abi::TraceRecord& record = trace.records[place];
        switch (static_cast<abi::TraceKind>(record.kind)) {
        case abi::TraceKind::enter: {
            const auto cause = static_cast<abi::TraceCause>(record.what & 0xff);
            if (cause == abi::TraceCause::timer || cause == abi::TraceCause::kick ||
                cause == abi::TraceCause::external) {
                found.interrupts_most = std::max(found.interrupts_most, ++interrupts[record.hart]);
            }
            changed_hands = last && *last != record.hart;
            last = record.hart;
            break;
        }
        case abi::TraceKind::expire: changed_hands = false; break;
        case abi::TraceKind::leave: found.hand_overs += changed_hands ? 1 : 0; break;
        default: break;
        }
    }
    return found;
}

std::uint64_t harts_that_ran(const Replay& replay) {
    std::unordered_set<std::uint32_t> harts;
    for (const Run& run : replay.runs) {
        if (run.user != 0) {
            harts.insert(run.hart);
        }
    }
    return harts.size();
}

/// Threads that a deadline's destruction took off their hart in the middle of a slice.
std::uint64_t preempted_mid_slice(const Replay& replay, const Window& window) {
    return static_cast<std::uint64_t>(
        std::count_if(replay.runs.begin(), replay.runs.end(), [&window](const Run& run) {
            return within(run.lost, window) && run.how == TraceLeave::preempted &&
                   run.trapped < run.slice_end;
        }));
}

std::uint64_t stale_waits(const Trace& trace, const Window& window) {
    std::uint64_t found = 0;
    for (std::uint64_t place = window.first; place < window.last; ++place) {
        const abi::TraceRecord& record = trace.records[place];
        found += static_cast<abi::TraceKind>(record.kind) == abi::TraceKind::expire &&
                         static_cast<abi::TraceExpiry>(record.what) == abi::TraceExpiry::stale
                     ? 1
                     : 0;
    }
    return found;
}

/// Ticks from taking the lock to the return of each timer interrupt that ended a slice and found
/// nothing due, without the audits, ascending.
std::vector<std::uint64_t> slice_end_sections(const Trace& trace, const Window& window) {
    std::vector<std::uint64_t> sections;
    bool timer = false;  // this entry is a timer interrupt of a running thread
    bool ended = false;  // and its slice was over
    std::uint64_t locked = 0;
    std::uint64_t audits = 0;
    for (std::uint64_t place = window.first; place < window.last; ++place) {
        const abi::TraceRecord& record = trace.records[place];
        switch (static_cast<abi::TraceKind>(record.kind)) {
        case abi::TraceKind::enter:
            timer = static_cast<abi::TraceCause>(record.what & 0xff) == abi::TraceCause::timer &&
                    record.id != 0;
            ended = false;
            locked = record.y;
            audits = 0;
            break;
        case abi::TraceKind::requeue: ended = timer; break;
        case abi::TraceKind::expire: timer = ended = false; break;
        case abi::TraceKind::charge:
            audits += record.what == static_cast<std::uint16_t>(TraceCharge::audit) ? record.x : 0;
            break;
        case abi::TraceKind::leave:
            if (ended) {
                sections.push_back(record.x - locked - audits);
            }
            break;
        default: break;
        }
    }
    std::sort(sections.begin(), sections.end());
    return sections;
}

/// Ticks of the waits for the lock that a window's entries end during which another hart held it.
std::uint64_t waits_behind_holders(const Trace& trace, const Window& window) {
    struct Hold {
        std::uint64_t from = 0;
        std::uint64_t until = 0;
    };
    std::vector<Hold> holds;  // of all entries so far: one behind the other, as the lock goes
    std::uint64_t waited = 0;
    Hold now;
    for (std::uint64_t place = 0; place < window.last; ++place) {
        const abi::TraceRecord& record = trace.records[place];
        const auto kind = static_cast<abi::TraceKind>(record.kind);
        if (kind == abi::TraceKind::enter) {
            now.from = record.y;
            if (place < window.first) {
                continue;
            }
            for (auto held = holds.rbegin(); held != holds.rend() && held->until > record.x;
                 ++held) {
                const std::uint64_t from = std::max(held->from, record.x);
                const std::uint64_t until = std::min(held->until, record.y);
                waited += until > from ? until - from : 0;
            }
        } else if (kind == abi::TraceKind::leave) {
            now.until = record.x;
            holds.push_back(now);
        }
    }
    return waited;
}

std::uint64_t budgets_that_ran(const Replay& replay) {
    std::unordered_set<std::uint64_t> budgets;
    for (const Run& run : replay.runs) {
        if (run.user != 0) {
            budgets.insert(run.budget);
        }
    }
    return budgets.size();
}

/// The longest time from when a budget that had destroyed another by call lost its hart to its next pick.
std::uint64_t destroyer_away(const Trace& trace, const Window& window) {
    std::uint64_t longest = 0;
    std::unordered_set<std::uint64_t> destroyed;             // and have their hart still
    std::unordered_map<std::uint64_t, std::uint64_t> waits;  // since when, by budget
    std::uint64_t caller = 0;
    std::uint64_t now = 0;
    for (std::uint64_t place = window.first; place < window.last; ++place) {
        const abi::TraceRecord& record = trace.records[place];
        switch (static_cast<abi::TraceKind>(record.kind)) {
        case abi::TraceKind::enter:
            caller = static_cast<abi::TraceCause>(record.what & 0xff) == abi::TraceCause::call
                         ? record.id
                         : 0;
            now = record.y;
            break;
        case abi::TraceKind::destroy_begin:
            if (record.what == 0 && caller != 0) {
                destroyed.insert(caller);
            }
            break;
        case abi::TraceKind::requeue:
            if (destroyed.erase(record.id) != 0) {
                waits[record.id] = now;
            }
            break;
        case abi::TraceKind::pick:
            if (const auto found = waits.find(record.id); found != waits.end()) {
                longest = std::max(longest, now - found->second);
                waits.erase(found);
            }
            break;
        default: break;
        }
    }
    return longest;
}

/// The most often one other budget was picked between the first wake of a budget made in the window and
/// its first pick.
std::uint64_t newborn_passed(const Trace& trace, const Window& window) {
    std::uint64_t most = 0;
    std::unordered_set<std::uint64_t> born;
    std::map<std::uint64_t, std::unordered_map<std::uint64_t, std::uint64_t>> passed;
    for (std::uint64_t place = window.first; place < window.last; ++place) {
        const abi::TraceRecord& record = trace.records[place];
        switch (static_cast<abi::TraceKind>(record.kind)) {
        case abi::TraceKind::create: born.insert(record.id); break;
        case abi::TraceKind::wake:
            if (born.erase(record.id) != 0) {
                passed[record.id];
            }
            break;
        case abi::TraceKind::pick:
            passed.erase(record.id);
            for (auto& [waiting, picks] : passed) {
                most = std::max(most, ++picks[record.id]);
            }
            break;
        default: break;
        }
    }
    return most;
}

std::uint64_t ticks_of(const Tally& sum, TraceCharge what) {
    return sum.by_charge[static_cast<std::size_t>(what)];
}

/// Ticks of kernel time that nobody pays for: idling and audits are none.
std::uint64_t unpaid(const Tally& sum) {
    std::uint64_t ticks = 0;
    for (const std::uint64_t charged : sum.nobody_by_charge) {
        ticks += charged;
    }
    return ticks - sum.nobody_by_charge[static_cast<std::size_t>(TraceCharge::idle)] -
           ticks_of(sum, TraceCharge::audit) - ticks_of(sum, TraceCharge::audit_wait);
}

/// What is judged of all windows: of each the most.
struct Worst {
    Tally unpaid;             ///< the window with the most of `nobody`
    double nobody = 0.0;      ///< per 1000 of its hart time, as the others
    double nothing = 0.0;     ///< of it timer interrupts that found nothing
    double waits = 0.0;       ///< waits for the lock
    double waits_held = 0.0;  ///< of them, while a hart held it
};

Worst worst_of(const Trace& trace, std::span<const Window> windows) {
    Worst worst;
    for (const Window& window : windows) {
        const Tally sum = tally(trace, window.first, window.last);
        const auto part = [&sum](std::uint64_t ticks) {
            return per_thousand(ticks, sum.hart_ticks);
        };
        if (const double nobody = part(unpaid(sum));
            &window == &windows[0] || nobody > worst.nobody) {
            worst.nobody = nobody;
            worst.unpaid = sum;
        }
        worst.nothing =
            std::max(worst.nothing,
                     part(sum.nobody_by_charge[static_cast<std::size_t>(TraceCharge::nothing)]));
        worst.waits = std::max(worst.waits, part(ticks_of(sum, TraceCharge::lock_wait)));
        worst.waits_held = std::max(worst.waits_held, part(waits_behind_holders(trace, window)));
    }
    return worst;
}

double microseconds(const Trace& trace, std::uint64_t ticks) {
    return 1e6 * static_cast<double>(ticks) / static_cast<double>(trace.head.timebase);
}

}  // namespace

const std::vector<FigureName>& figure_names() {
    static const std::vector<FigureName> names = {
        {"picks", "picks of the whole run"},
        {"wakes", "wakes of the whole run"},
        {"lifts", "destroyed budgets whose work was lifted"},
        {"telling_lifts",
         "lifts that leave the parent elsewhere than at the higher of the two passes"},
        {"weight_changes", "carves and returns"},
        {"uncaps", "lifts out of the cap set"},
        {"deadlines", "destructions by a deadline"},
        {"preempted", "threads that a deadline took off their hart before their slice's end"},
        {"stale_waits",
         "waits found to have ended before their time came, of the window with the most"},
        {"nobody",
         "kernel time charged to nobody, per 1000 of hart time, of the window with the most"},
        {"nobody_kick", "of it: software interrupts that found nothing"},
        {"nobody_nothing", "timer interrupts that found nothing and ended no slice, per 1000 of "
                           "hart time, of the window with the most"},
        {"nobody_no_pick", "of it: picks of nothing"},
        {"nobody_boot", "of it: before a hart's first return"},
        {"nobody_interrupt", "of it: device interrupts with no owner"},
        {"nobody_lock_wait", "of it: waits for the kernel lock that began in idle"},
        {"nobody_other", "of it: all else"},
        {"idle", "idle time, per 1000 of hart time"},
        {"zeroing", "frames zeroed by idle harts, per 1000 of hart time"},
        {"audits", "audits and waits behind them, per 1000 of hart time"},
        {"idle_past", "the longest a hart idled, until it trapped, while a queued budget had a "
                      "thread that no hart ran"},
        {"wake_wait_longest", "the longest a waking budget waited for its pick"},
        {"lock_waits",
         "waits for the kernel lock, per 1000 of hart time, of the window with the most"},
        {"lock_waits_held",
         "of them, while a hart held the lock: without the time that it stood free "
         "and an emulator ran the waiter's turn not yet"},
        {"lock_wait_longest", "the longest of them"},
        {"foreign_timer",
         "what timer interrupts charged to others than the interrupted budget, per "
         "1000 of hart time"},
        {"foreign_timer_most", "the most that timer interrupts of one account's threads charged to "
                               "other accounts, per 1000 "
                               "of its own charges, of all windows"},
        {"slice_overrun", "the most user time past a slice's end"},
        {"destroyer_away",
         "the longest a budget that had destroyed another by call waited for its next "
         "pick"},
        {"newborn_passed",
         "the most often one other budget was picked between a new budget's first wake "
         "and its first pick"},
        {"budgets_ran", "budgets that ran user code", true},
        {"section_longest", "the longest lock section behind the boot"},
        {"slice_end_p99",
         "the 99th percentile of the lock sections of timer interrupts that ended a "
         "slice"},
        {"slice_end_longest", "the longest of them"},
        {"interrupts_most", "entries by a timer, a kick or a device, of the hart with the most"},
        {"hand_overs", "times the lock went to another hart for an entry that found nothing due"},
        {"claims", "device interrupts taken", true},
        {"lost_claims", "device interrupts that another hart had taken", true},
        {"harts_ran", "harts that ran user code", true},
    };
    return names;
}

double foreign_timer_most(const Trace& trace, const Replay& replay, const Window& window) {
    constexpr std::uint16_t kMostJudged = 999;
    std::map<std::uint64_t, std::uint16_t> accounts;
    for (const BudgetInfo& budget : replay.budgets) {
        accounts.emplace(budget.id, budget.account);
    }
    struct Account {
        std::uint64_t charged = 0;
        std::uint64_t foreign = 0;
    };
    std::map<std::uint16_t, Account> sums;
    std::uint16_t interrupted = 0;  // the account whose thread a timer interrupted
    for (std::uint64_t at = window.first; at < window.last; ++at) {
        const abi::TraceRecord& r = trace.records[at];
        const auto kind = static_cast<abi::TraceKind>(r.kind);
        if (kind == abi::TraceKind::enter) {
            const bool timer =
                static_cast<abi::TraceCause>(r.what & 0xff) == abi::TraceCause::timer;
            interrupted = timer && r.id != 0 ? accounts[r.id] : std::uint16_t{0};
        }
        if (kind != abi::TraceKind::charge || r.id == 0) {
            continue;
        }
        const std::uint16_t payer = accounts[r.id];
        sums[payer].charged += r.x;
        const auto what = static_cast<TraceCharge>(r.what);
        const bool timed = what == TraceCharge::timer || what == TraceCharge::expiry ||
                           what == TraceCharge::destruction;
        if (timed && interrupted != 0 && payer != interrupted) {
            sums[interrupted].foreign += r.x;
        }
    }
    double most = 0.0;
    for (const auto& [account, sum] : sums) {
        if (account != 0 && account <= kMostJudged) {
            most = std::max(most, per_thousand(sum.foreign, sum.charged));
        }
    }
    return most;
}

std::vector<Figure> figures(const Trace& trace, const Replay& replay,
                            std::span<const Window> windows) {
    const Window window =
        windows.empty() ? Window{.first = 0, .last = trace.records.size()} : windows.front();
    double foreign_most = foreign_timer_most(trace, replay, window);
    for (const Window& other : windows) {
        foreign_most = std::max(foreign_most, foreign_timer_most(trace, replay, other));
    }
    std::uint64_t stale_most = stale_waits(trace, window);
    std::uint64_t preempted = windows.empty() ? preempted_mid_slice(replay, window) : 0;
    for (const Window& one : windows) {
        stale_most = std::max(stale_most, stale_waits(trace, one));
        preempted += preempted_mid_slice(replay, one);
    }
    const std::vector<std::uint64_t> slice_ends = slice_end_sections(trace, window);
    const std::uint64_t slice_end_p99 =
        slice_ends.empty() ? 0 : slice_ends[(slice_ends.size() - 1) * 99 / 100];
    const Tally sum = tally(trace, window.first, window.last);
    const Worst worst =
        worst_of(trace, windows.empty() ? std::span<const Window>(&window, 1) : windows);
    const auto nobody = [&worst](TraceCharge what) {
        return per_thousand(worst.unpaid.nobody_by_charge[static_cast<std::size_t>(what)],
                            worst.unpaid.hart_ticks);
    };
    const double known = nobody(TraceCharge::kick) + nobody(TraceCharge::nothing) +
                         nobody(TraceCharge::no_pick) + nobody(TraceCharge::boot) +
                         nobody(TraceCharge::interrupt) + nobody(TraceCharge::lock_wait);
    const std::uint64_t idle = sum.nobody_by_charge[static_cast<std::size_t>(TraceCharge::idle)];
    const std::uint64_t audits =
        ticks_of(sum, TraceCharge::audit) + ticks_of(sum, TraceCharge::audit_wait);
    const Entries entries = entries_in(trace, window);
    const auto count = [](std::uint64_t n) { return static_cast<double>(n); };
    const auto part = [&](std::uint64_t ticks) { return per_thousand(ticks, sum.hart_ticks); };
    return {
        {"picks", count(replay.picks), ""},
        {"wakes", count(replay.wakes_counted), ""},
        {"lifts", count(replay.lifts), ""},
        {"telling_lifts", count(replay.telling_lifts), ""},
        {"weight_changes", count(replay.weight_changes), ""},
        {"uncaps", count(replay.uncaps), ""},
        {"deadlines", count(replay.deadlines), ""},
        {"preempted", count(preempted), ""},
        {"stale_waits", count(stale_most), ""},
        {"nobody", worst.nobody, "per 1000"},
        {"nobody_kick", nobody(TraceCharge::kick), "per 1000"},
        {"nobody_nothing", worst.nothing, "per 1000"},
        {"nobody_no_pick", nobody(TraceCharge::no_pick), "per 1000"},
        {"nobody_boot", nobody(TraceCharge::boot), "per 1000"},
        {"nobody_interrupt", nobody(TraceCharge::interrupt), "per 1000"},
        {"nobody_lock_wait", nobody(TraceCharge::lock_wait), "per 1000"},
        {"nobody_other", worst.nobody - known, "per 1000"},
        {"idle", part(idle), "per 1000"},
        {"zeroing", part(ticks_of(sum, TraceCharge::zeroing)), "per 1000"},
        {"audits", part(audits), "per 1000"},
        {"idle_past", microseconds(trace, replay.idle_past_longest), "us"},
        {"wake_wait_longest", microseconds(trace, replay.wake_wait_longest), "us"},
        {"lock_waits", worst.waits, "per 1000"},
        {"lock_waits_held", worst.waits_held, "per 1000"},
        {"lock_wait_longest", microseconds(trace, sum.lock_wait_longest), "us"},
        {"foreign_timer", part(sum.foreign_timer_ticks), "per 1000"},
        {"foreign_timer_most", foreign_most, "per 1000"},
        {"slice_overrun", microseconds(trace, replay.late_longest), "us"},
        {"destroyer_away", microseconds(trace, destroyer_away(trace, window)), "us"},
        {"newborn_passed", count(newborn_passed(trace, window)), ""},
        {"budgets_ran", count(budgets_that_ran(replay)), ""},
        {"section_longest", microseconds(trace, replay.section_longest), "us"},
        {"slice_end_p99", microseconds(trace, slice_end_p99), "us"},
        {"slice_end_longest", microseconds(trace, slice_ends.empty() ? 0 : slice_ends.back()),
         "us"},
        {"interrupts_most", count(entries.interrupts_most), ""},
        {"hand_overs", count(entries.hand_overs), ""},
        {"claims", count(replay.claims), ""},
        {"lost_claims", count(replay.lost_claims), ""},
        {"harts_ran", count(harts_that_ran(replay)), ""},
    };
}

Measure wake_no_preempt(const Replay& replay, const Window& window, std::uint16_t account,
                        std::uint64_t at_least, Waker waker) {
    const char* check = waker == Waker::device ? "irq_wake_no_preempt" : "wake_no_preempt";
    const auto ids = budgets_of(replay, account);
    Measure measure;
    std::uint64_t kept = 0;
    for (const Wake& wake : replay.wakes) {
        if (!ids.contains(wake.budget) || !within(wake.record, window) || !wake.over_runner ||
            (waker == Waker::device && !wake.by_device)) {
            continue;
        }
        const Run& run = replay.runs[wake.run];
        if (ids.contains(run.budget)) {
            continue;
        }
        if (!wake.resumed) {
            if (run.how == TraceLeave::preempted) {
                measure.findings.push_back(
                    {.check = check,
                     .text =
                         fmt::format("the entry that woke budget {} took hart {} from budget {}",
                                     wake.budget, run.hart, run.budget),
                     .records = {run.began, wake.record, run.lost}});
            }
            continue;
        }
        if (run.how == TraceLeave::slice_end || run.how == TraceLeave::gave_up) {
            ++kept;
        }
    }
    measure.value = static_cast<double>(kept);
    if (kept < at_least) {
        measure.findings.push_back(
            {.check = check,
             .text = fmt::format("{} wakes of account {} were answered over a running thread that "
                                 "kept its hart, and {} are asked for",
                                 kept, account, at_least),
             .records = {}});
    }
    return measure;
}

Measure round_robin(const Trace& trace, const Replay& replay, const Window& window,
                    std::uint16_t account, std::uint64_t threads, std::uint64_t rounds,
                    std::uint64_t tolerance) {
    const auto ids = budgets_of(replay, account);
    std::vector<const Run*> runs;
    std::map<std::uint64_t, std::pair<std::uint64_t, std::uint64_t>> by_thread;  // slices, ticks
    for (const Run& run : replay.runs) {
        if (!ids.contains(run.budget) || !within(run.picked, window)) {
            continue;
        }
        auto& [slices, ticks] = by_thread[run.thread];
        ticks += run.user;
        if (2 * run.user > trace.head.slice_ticks) {
            ++slices;
            runs.push_back(&run);
        }
    }
    std::erase_if(by_thread, [](const auto& thread) { return thread.second.first == 0; });

    Measure measure;
    const auto reject = [&](std::string text, std::vector<std::uint64_t> records) {
        measure.findings.push_back(
            {.check = "round_robin", .text = std::move(text), .records = std::move(records)});
    };
    if (by_thread.size() != threads) {
        reject(fmt::format("{} threads of account {} ran slices, not {}", by_thread.size(), account,
                           threads),
               {});
        return measure;
    }
    const auto after = [&by_thread](std::uint64_t thread) {
        const auto next = by_thread.upper_bound(thread);
        return next == by_thread.end() ? by_thread.begin()->first : next->first;
    };
    const auto on_a_hart = [&runs](std::uint64_t thread, std::uint64_t place) {
        return std::any_of(runs.begin(), runs.end(), [&](const Run* run) {
            return run->thread == thread && run->picked < place && place < run->lost;
        });
    };
    std::uint64_t in_turn = runs.empty() ? 0 : 1;
    for (; in_turn < runs.size(); ++in_turn) {
        const Run& run = *runs[in_turn];
        std::uint64_t next = after(runs[in_turn - 1]->thread);
        for (std::uint64_t i = 1; i < threads && on_a_hart(next, run.picked); ++i) {
            next = after(next);
        }
        if (run.thread != next) {
            break;
        }
    }
    measure.value = static_cast<double>(in_turn / threads);
    if (in_turn < rounds * threads) {
        if (in_turn < runs.size()) {
            const std::uint64_t was = runs[in_turn - 1]->thread;
            const std::uint64_t is = runs[in_turn]->thread;
            reject(fmt::format("thread {}.{} runs behind {}.{} in round {}, out of turn", is >> 32,
                               is & 0xffff'ffff, was >> 32, was & 0xffff'ffff,
                               in_turn / threads + 1),
                   {runs[in_turn - 1]->picked, runs[in_turn]->picked});
        } else {
            reject(fmt::format("{} rounds ran, and {} are asked for", in_turn / threads, rounds),
                   {});
        }
    }
    double mean_slices = 0.0;
    double mean_ticks = 0.0;
    for (const auto& [thread, sums] : by_thread) {
        mean_slices += static_cast<double>(sums.first) / static_cast<double>(threads);
        mean_ticks += static_cast<double>(sums.second) / static_cast<double>(threads);
    }
    const double allowed = static_cast<double>(tolerance) / 1000.0;
    for (const auto& [thread, sums] : by_thread) {
        // One slice more or less is where the window's ends fall, not the kernel.
        if (std::abs(static_cast<double>(sums.first) - mean_slices) >
                std::max(1.0, allowed * mean_slices) ||
            std::abs(static_cast<double>(sums.second) - mean_ticks) > allowed * mean_ticks) {
            reject(
                fmt::format("thread {}.{} ran {} slices and {} ticks, the threads' mean is {:.1f} "
                            "and {:.0f}",
                            thread >> 32, thread & 0xffff'ffff, sums.first, sums.second,
                            mean_slices, mean_ticks),
                {});
        }
    }
    return measure;
}

namespace {

/// A destroyed child's debt at its parent, and the sibling that meets it.
struct Lifted {
    std::uint64_t place = 0;  ///< of the lift
    double delay = 0.0;       ///< foretold, in rounds
    double floor = 0.0;       ///< at the lift
    std::uint64_t sibling = 0;
    std::uint64_t woke = kNowhere;
    double lead = 0.0;   ///< of the sibling at its wake, in rounds
    double moved = 0.0;  ///< how far the floor rose from the lift to the wake, in rounds
    std::unordered_map<std::uint64_t, std::uint64_t> picks = {};  ///< of others, since the wake
};

double number(U128 value) {
    return static_cast<double>(value);
}

/// The weight that all the account's outermost budgets have, 0 if they are not alike.
std::uint64_t weight_of_each(const Replay& replay, std::uint16_t account) {
    const std::vector<BudgetInfo> all = outermost(replay, account);
    const auto other = [&](const BudgetInfo& budget) { return budget.limit != all[0].limit; };
    return all.empty() || std::any_of(all.begin(), all.end(), other) ? 0 : all[0].limit;
}

std::string fault_of(const Lifted& lifted) {
    std::uint64_t most = 0;
    for (const auto& [budget, picks] : lifted.picks) {
        most = std::max(most, picks);
    }
    const auto picked = static_cast<double>(most);
    if (std::abs(picked - lifted.delay) >= 1.0 || std::abs(picked - lifted.lead) >= 1.0) {
        return fmt::format("budget {} waits while another is picked {} times; its dead sibling's "
                           "work foretells {:.1f} rounds, and its lead at its wake is {:.1f}",
                           lifted.sibling, most, lifted.delay, lifted.lead);
    }
    if (lifted.moved >= 0.5) {
        return fmt::format("the floor rises by {:.1f} rounds between a lift and the wake of budget "
                           "{}",
                           lifted.moved, lifted.sibling);
    }
    return {};
}

}  // namespace

Measure wake_wait(const Trace& trace, const Replay& replay, const Window& window,
                  std::uint16_t account, const WaitBounds& bounds) {
    const auto ids = budgets_of(replay, account);
    struct Wait {
        std::uint64_t ticks = 0;
        const Wake* wake = nullptr;
        const Run* run = nullptr;
    };
    std::vector<Wait> waits;
    std::uint64_t ahead = 0;
    for (const Wake& wake : replay.wakes) {
        if (!ids.contains(wake.budget) || !within(wake.record, window)) {
            continue;
        }
        const auto run = std::find_if(replay.runs.begin(), replay.runs.end(), [&](const Run& r) {
            return r.budget == wake.budget && r.picked > wake.record;
        });
        if (run == replay.runs.end()) {
            continue;
        }
        ahead += wake.pass > wake.floor ? 1 : 0;
        std::uint64_t place = wake.record;
        while (static_cast<abi::TraceKind>(trace.records[place].kind) != abi::TraceKind::enter) {
            --place;
        }
        waits.push_back({.ticks = trace.records[run->began].x - trace.records[place].y,
                         .wake = &wake,
                         .run = &*run});
    }
    Measure measure;
    const auto reject = [&measure](std::string text, std::vector<std::uint64_t> records) {
        measure.findings.push_back(
            {.check = "wake_wait", .text = std::move(text), .records = std::move(records)});
    };
    const std::uint64_t at_floor = waits.size() - ahead;
    if (at_floor < bounds.at_floor || ahead < bounds.ahead || waits.empty()) {
        reject(fmt::format("account {} woke {} times at the floor and {} times ahead of it, where "
                           "{} and {} are "
                           "asked for",
                           account, at_floor, ahead, bounds.at_floor, bounds.ahead),
               {});
    }
    if (waits.empty()) {
        return measure;
    }
    std::sort(waits.begin(), waits.end(),
              [](const Wait& a, const Wait& b) { return a.ticks < b.ticks; });
    const auto hold = [&](std::size_t percentile, std::uint64_t most) {
        const Wait& wait = waits[(waits.size() - 1) * percentile / 100];
        const double took = microseconds(trace, wait.ticks);
        if (took > static_cast<double>(most)) {
            reject(fmt::format("percentile {} of the waits of account {} is {:.0f} us, over {}",
                               percentile, account, took, most),
                   {wait.wake->record, wait.run->picked});
        }
        return took;
    };
    hold(50, bounds.p50_us);
    measure.value = hold(99, bounds.p99_us);
    return measure;
}

Measure lift_delay(const Trace& trace, const Replay& replay, const Window& window,
                   std::uint16_t account, std::uint16_t peers, std::uint64_t at_least) {
    constexpr double kStride = 1 << 20;
    Measure measure;
    const auto reject = [&](std::string text, std::vector<std::uint64_t> records) {
        measure.findings.push_back(
            {.check = "lift_delay", .text = std::move(text), .records = std::move(records)});
    };
    const std::uint64_t peer = weight_of_each(replay, peers);
    if (peer == 0) {
        reject(fmt::format("the budgets of account {} have not one weight", peers), {});
        return measure;
    }
    const double round = trace.head.slice_ticks * kStride / static_cast<double>(peer);
    std::unordered_set<std::uint64_t> parents;
    for (const BudgetInfo& budget : outermost(replay, account)) {
        parents.insert(budget.id);
    }
    std::unordered_map<std::uint64_t, Lifted> lifts;     // by parent, until a sibling is made
    std::unordered_map<std::uint64_t, Lifted> siblings;  // until their first pick
    double floor = 0.0;
    std::uint64_t held = 0;
    for (std::uint64_t place = 0; place < window.last; ++place) {
        const abi::TraceRecord& r = trace.records[place];
        switch (static_cast<abi::TraceKind>(r.kind)) {
        case abi::TraceKind::floor: floor = number(wide(r)); break;
        case abi::TraceKind::lift: {
            // Its group: the work, the parent's pass, the parent's weight.
            const bool grouped = place + 3 < window.last && trace.records[place + 3].y != 0;
            if (parents.contains(r.x) && within(place, window) && grouped) {
                const double weight = static_cast<double>(trace.records[place + 3].y);
                const double work = number(wide(trace.records[place + 1]));
                lifts[r.x] = {.place = place, .delay = work / weight / round, .floor = floor};
            }
            break;
        }
        case abi::TraceKind::create:
            if (const auto found = lifts.find(r.x); found != lifts.end()) {
                found->second.sibling = r.id;
                siblings[r.id] = std::move(found->second);
                lifts.erase(found);
            }
            break;
        case abi::TraceKind::wake:
            if (const auto found = siblings.find(r.id);
                found != siblings.end() && found->second.woke == kNowhere) {
                found->second.woke = place;
                found->second.lead = (number(wide(r)) - floor) / round;
                found->second.moved = (floor - found->second.floor) / round;
            }
            break;
        case abi::TraceKind::pick:
            if (const auto found = siblings.find(r.id); found != siblings.end()) {
                const Lifted& lifted = found->second;
                if (std::string fault = fault_of(lifted); !fault.empty()) {
                    reject(std::move(fault), {lifted.place, lifted.woke, place});
                } else {
                    ++held;
                }
                siblings.erase(found);
            }
            for (auto& [sibling, lifted] : siblings) {
                if (lifted.woke != kNowhere) {
                    ++lifted.picks[r.id];
                }
            }
            break;
        default: break;
        }
    }
    measure.value = static_cast<double>(held);
    if (held < at_least) {
        reject(fmt::format("{} siblings waited for a lift, and {} are asked for", held, at_least),
               {});
    }
    return measure;
}

Measure ties(const Replay& replay, std::uint16_t account, std::uint64_t size) {
    const auto ids = budgets_of(replay, account);
    std::map<std::uint32_t, std::vector<const Wake*>> by_entry;
    for (const Wake& wake : replay.wakes) {
        if (ids.contains(wake.budget)) {
            by_entry[wake.entry].push_back(&wake);
        }
    }
    Measure measure;
    std::uint64_t groups = 0;
    for (auto& [entry, wakes] : by_entry) {
        const U128 first_pass = wakes[0]->pass;
        const auto same_pass = [first_pass](const Wake* w) { return w->pass == first_pass; };
        if (wakes.size() != size || !std::all_of(wakes.begin(), wakes.end(), same_pass)) {
            continue;
        }
        std::sort(wakes.begin(), wakes.end(),
                  [](const Wake* a, const Wake* b) { return a->budget < b->budget; });
        std::vector<std::uint64_t> picked;
        for (const Wake* wake : wakes) {
            const auto run =
                std::find_if(replay.runs.begin(), replay.runs.end(), [&](const Run& r) {
                    return r.budget == wake->budget && r.picked > wake->record;
                });
            if (run != replay.runs.end()) {
                picked.push_back(run->picked);
            }
        }
        if (picked.size() == size && std::is_sorted(picked.begin(), picked.end())) {
            ++groups;
            continue;
        }
        std::vector<std::uint64_t> records{wakes[0]->record};
        records.insert(records.end(), picked.begin(), picked.end());
        measure.findings.push_back(
            {.check = "ties",
             .text = fmt::format("{} budgets of account {} woke in entry {} at one pass and {}",
                                 size, account, entry,
                                 picked.size() == size ? "were not picked lowest id first"
                                                       : "not all of them were picked"),
             .records = std::move(records)});
    }
    measure.value = static_cast<double>(groups);
    if (by_entry.empty() || (groups == 0 && measure.findings.empty())) {
        measure.findings.push_back(
            {.check = "ties",
             .text = fmt::format("no {} budgets of account {} woke in one entry at one pass", size,
                                 account),
             .records = {}});
    }
    return measure;
}

}  // namespace ravelin::oracle
