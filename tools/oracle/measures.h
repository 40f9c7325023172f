// What cases ask of order and preemption beyond the rules every trace must keep, and the figures of
// a run. Everything here is read from the replay, never from what a program says of itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/oracle/replay.h"
#include "tools/oracle/shares.h"

namespace ravelin::oracle {

/// One number of a run.
struct Figure {
    std::string name;
    double value = 0.0;
    std::string unit;
};

/// The answer to one question: a number, and why it does not hold if it does not.
struct Measure {
    double value = 0.0;
    std::vector<Finding> findings;
};

/// A figure the oracle gives: its name and what it is.
struct FigureName {
    std::string_view name;
    std::string_view meaning;
    bool counts = false;  ///< a count that no clock decides
};

/// All figures `figures` gives.
const std::vector<FigureName>& figure_names();

/// Timer work done on one party's harts for others: what timer interrupts of an account's threads
/// charged to other accounts, per 1000 of what the account was charged in the window. The most over
/// the accounts 1 to 999.
double foreign_timer_most(const Trace& trace, const Replay& replay, const Window& window);

/// The figures of a trace; those of time are of the first of `windows`, but for
/// `foreign_timer_most`, which is the most over all of them. Without a window: of the whole trace.
std::vector<Figure> figures(const Trace& trace, const Replay& replay,
                            std::span<const Window> windows);

/// Which wakes a measure is of: all, or those by a device interrupt.
enum class Waker : std::uint8_t { any, device };

/// Wakes of the account's budgets that were answered over another budget's running thread, which
/// then kept its hart to its slice's end or left it by itself. A finding for each that lost it
/// otherwise, and one if there are fewer than `at_least`.
Measure wake_no_preempt(const Replay& replay, const Window& window, std::uint16_t account,
                        std::uint64_t at_least, Waker waker = Waker::any);

/// Rounds in which the account's `threads` threads ran in (pid, tid) order, each once, wrapping, those
/// left out that another hart runs: of its runs in the window with more than half a slice of user
/// time, in the order of their picks on all harts, from the first on. A finding
/// for the first run out of turn before `rounds` are full, and for a thread whose slices or user
/// ticks are more than `tolerance` per 1000 from the threads' mean.
Measure round_robin(const Trace& trace, const Replay& replay, const Window& window,
                    std::uint16_t account, std::uint64_t threads, std::uint64_t rounds,
                    std::uint64_t tolerance);

/// Groups of `size` of the account's budgets that woke in one entry at one pass and were then first
/// picked in ascending id. A finding for one that was not, and one if there is none.
Measure ties(const Replay& replay, std::uint16_t account, std::uint64_t size);

/// What a measure of waits asks for.
struct WaitBounds {
    std::uint64_t at_floor = 0;  ///< wakes without a lead over the floor, at least
    std::uint64_t ahead = 0;     ///< wakes with one, at least
    std::uint64_t p50_us = 0;    ///< the waits' median, at most
    std::uint64_t p99_us = 0;    ///< their 99th percentile, at most
};

/// The 99th percentile in us of the waits of the account's budgets, from the wake to the return that runs it, over its
/// wakes in the window. A finding if it or the median is over its bound, and if there are too few wakes of a kind.
Measure wake_wait(const Trace& trace, const Replay& replay, const Window& window,
                  std::uint16_t account, const WaitBounds& bounds);

/// Destroyed children of the account's outermost budgets whose next sibling waited for their debt and no
/// longer: the most picks of another budget between its first wake and its first pick are less than a round
/// from the child's work over the parent's weight, in rounds, and from the sibling's lead at its wake; the floor
/// rose by less than half a round in between. A round is a slice for each budget of the account `peers`, which
/// have one weight. A finding for each that was not so, and one if there are fewer than `at_least`.
Measure lift_delay(const Trace& trace, const Replay& replay, const Window& window,
                   std::uint16_t account, std::uint16_t peers, std::uint64_t at_least);

}  // namespace ravelin::oracle
