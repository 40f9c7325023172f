// The replay: applies a trace's records one by one to the oracle's own state of the scheduler and
// checks each against its own reading of the rules (R12, R78, R10's lifts; docs/trace.md).
//
// It shares nothing with the kernel but the record format. The order of the queue is rebuilt from the
// four tie clauses, not from a tie key: a waker is known by its entry and id, a requeued budget by when
// it was requeued.
//
// Invariant: behind a record that was rejected the replay takes the kernel's value, so that one fault is
// one finding and not a thousand. Bound: one pass; a pick costs the number of queued budgets.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/oracle/describe.h"
#include "tools/oracle/trace_file.h"

namespace ravelin::oracle {

/// One broken rule.
struct Finding {
    std::string check;                   ///< a check of docs/trace.md
    std::string text;                    ///< what was expected and what is there
    std::vector<std::uint64_t> records;  ///< places in the trace, the one that decided it last
};

struct Options {
    /// Ticks of user time a thread may run past its slice's end before that is a fault; none: the
    /// machine's clock is not the kernel's alone (host time, harts in turns) and it is reported only.
    std::optional<std::uint64_t> late_ticks;
    /// Ticks that a hart may idle past a thread that no hart runs, until it traps: one interrupt between
    /// harts, and `zeroing_ticks` more if it zeroes a frame. Behind its trap it waits for the lock in turn. None: as above.
    std::optional<std::uint64_t> idle_ticks = std::nullopt;
    std::uint64_t zeroing_ticks = 0;
    /// Findings kept; what is beyond is counted only.
    std::size_t max_findings = 20;
};

inline constexpr std::uint64_t kNowhere = std::numeric_limits<std::uint64_t>::max();

/// A budget over the whole trace.
struct BudgetInfo {
    std::uint64_t id = 0;
    std::uint64_t parent = 0;                   ///< id, 0: root
    std::uint16_t account = 0;                  ///< low 16 bits
    std::uint64_t limit = 0;                    ///< weight limit
    std::uint64_t created = 0;                  ///< place of its create
    std::uint64_t ended = kNowhere;             ///< place of the record it died at
    std::vector<std::uint64_t> reweighed = {};  ///< places of its weight's changes
};

/// One thread's stay on a hart, from a pick to its deschedule or its end.
struct Run {
    std::uint32_t hart = 0;
    std::uint64_t budget = 0;
    std::uint64_t thread = 0;       ///< pid << 32 | tid
    std::uint64_t picked = 0;       ///< place of the pick
    std::uint64_t began = 0;        ///< place of the leave that started its slice
    std::uint64_t lost = kNowhere;  ///< place of the leave by which it lost the hart
    std::uint64_t user = 0;         ///< user ticks
    std::uint64_t slice_end = 0;
    std::uint64_t trapped = 0;  ///< time of its last trap
    abi::TraceLeave how =
        abi::TraceLeave::resumed;  ///< how it lost the hart; resumed: the trace ended
};

/// One wake, with what the entry that answered it did to the thread it interrupted.
struct Wake {
    std::uint64_t record = 0;
    std::uint64_t budget = 0;
    std::uint32_t entry = 0;
    U128 pass = 0;
    U128 floor = 0;            ///< as it joined the queue
    bool over_runner = false;  ///< the entry interrupted a thread
    std::size_t run = 0;       ///< index of that thread's run
    bool resumed = false;      ///< and it went on
    bool by_device = false;    ///< the entry was a device interrupt
};

/// Ticks of a stretch of the trace by what they were for.
struct Tally {
    std::uint64_t hart_ticks = 0;             ///< all charges
    std::uint64_t by_charge[18] = {};         ///< by TraceCharge
    std::uint64_t nobody_by_charge[18] = {};  ///< those with no payer
    std::uint64_t foreign_timer_ticks =
        0;  ///< timer interrupts' charges to others than the interrupted
    std::uint64_t lock_wait_longest = 0;
};

struct Replay {
    std::vector<Finding> findings;
    std::uint64_t rejected = 0;  ///< all findings, kept or not
    std::vector<BudgetInfo> budgets;
    std::vector<Run> runs;
    std::vector<Wake> wakes;
    std::uint64_t picks = 0;
    std::uint64_t wakes_counted = 0;
    std::uint64_t lifts = 0;
    /// Of them, those whose parent would have another pass if it took the higher of the two instead.
    std::uint64_t telling_lifts = 0;
    std::uint64_t weight_changes = 0;
    std::uint64_t uncaps = 0;
    std::uint64_t deadlines = 0;     ///< destructions by deadline
    std::uint64_t late_longest = 0;  ///< most ticks a thread ran past its slice's end
    /// Most ticks from taking the lock to the return, a hart's boot left out.
    std::uint64_t section_longest = 0;
    /// Most ticks a hart idled, until it trapped, while a queued budget had a thread that no hart ran.
    std::uint64_t idle_past_longest = 0;
    /// Most ticks from a wake's entry to the return behind its budget's pick.
    std::uint64_t wake_wait_longest = 0;
    std::uint64_t claims = 0;       ///< device interrupts taken
    std::uint64_t lost_claims = 0;  ///< those that another hart had taken
    std::uint32_t harts_online = 0;
    std::optional<std::uint16_t> end_kind;

    /// The budget of that id, or null.
    const BudgetInfo* budget(std::uint64_t id) const;
};

/// Replays a trace.
Replay replay(const Trace& trace, const Options& options);

/// Ticks of the records from `first` up to, not with, `last`.
Tally tally(const Trace& trace, std::uint64_t first, std::uint64_t last);

/// The checks a finding can name.
std::vector<std::string_view> check_names();

/// A finding with its records decoded, several lines.
std::string to_text(const Finding& finding, const Trace& trace);

}  // namespace ravelin::oracle
