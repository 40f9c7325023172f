// The scheduling trace: what a checked kernel records of every decision, in the order it made them
// under its lock. Shared by the kernel, the oracle and the viewers; docs/trace.md describes the
// file. Production images contain none of it (R23).
#pragma once

#include <cstdint>

namespace ravelin::abi {

/// One event. `entry` counts kernel entries from 1; records of one entry stand together.
struct TraceRecord {
    std::uint64_t x;
    std::uint64_t y;
    std::uint64_t id;  ///< a budget's id, or 0
    std::uint32_t entry;
    std::uint8_t kind;   ///< TraceKind
    std::uint8_t hart;   ///< the hart that made the record, by index
    std::uint16_t what;  ///< a detail named by the kind
};
static_assert(sizeof(TraceRecord) == 32);

enum class TraceKind : std::uint8_t {
    // Entry and exit of the kernel.
    enter =
        1,  ///< x trap time, y time the lock was taken; id the budget interrupted (0: idle); what TraceCause, call number - 0x100 in the high byte for calls
    leave =
        2,  ///< x time of the return, y slice end of the thread that goes on (0: idle); id its budget (0: idle); what TraceLeave
    // The queue. x, y: the budget's pass after the event, low and high half.
    wake = 3,
    requeue = 4,
    out = 5,      ///< left the queue; what 1: destroyed
    pass = 6,     ///< a charge was folded into the pass
    pick = 7,     ///< picked by this hart
    uncap = 8,    ///< left the cap set; x, y the pass after the lift
    floor = 9,    ///< x, y the floor after a rise
    counts = 10,  ///< x waiting threads, y harts running it
    runner = 11,  ///< this hart's new runner; x free weight, y pid << 32 | tid; id 0: none
    // Charges: every tick of kernel and user time is in exactly one of these.
    charge =
        12,  ///< x ticks, y the weight they were or will be folded at; id payer (0: nobody); what TraceCharge
    top_up = 13,  ///< x ticks added so that a deschedule charges MIN_CHARGE; id the budget
    // Budgets.
    create =
        14,  ///< id new budget; x parent's id, y weight limit; what: low 16 bits of its account
    entry_pass = 15,  ///< follows create: x, y the child's pass and entry
    reweigh = 16,     ///< id; x old free weight, y new free weight
    reweighed = 17,   ///< follows reweigh: x, y pass after
    rem = 18,         ///< id; x remainder, y weight: follows reweighed, lifted
    lift = 19,        ///< id child; x parent's id, y child's weight
    lift_work =
        20,  ///< id child; x, y work since entry (low, high), before division by the parent's weight
    lifted = 21,         ///< id parent; x, y pass after
    destroy_begin = 22,  ///< id top; x time; what 1: by deadline
    destroy_end = 23,    ///< id top; x time
    // Time.
    expire = 24,  ///< id payer; x when it was due, y time found; what TraceExpiry
    arm = 25,     ///< x the point this hart's timer is armed for
    // Several harts.
    lock_wait =
        26,  ///< x ticks waited, y sections ahead when the ticket was drawn; id the runner that pays
    answer =
        32,  ///< hart: one that answered this entry's shootdown; x the ticks it took, which this entry pays, y when it began
    // Memory.
    freed =
        33,  ///< x frames given back since the last of these; id who owes their zeroing, 0: nobody
    zero = 34,  ///< this hart idles and zeroes a frame; id who pays; x who owed it
    // Threads.
    thread_end = 27,  ///< id its budget; x pid, y tid
    // Devices.
    claim =
        31,  ///< x the source claimed, 0: another hart had taken it; id the budget that pays for it (0: nobody)
    // The run as a whole.
    start = 28,   ///< first record: x time, y timebase in Hz; what harts configured
    online = 29,  ///< a hart comes online: hart; x time
    end =
        30,  ///< last record: x time, y records before it; what 0 off, 1 reboot, 2 failed, 3 panic
};

enum class TraceCause : std::uint8_t {
    call = 1,
    fault = 2,
    timer = 3,
    external = 4,
    kick = 5,
    boot = 6
};

/// How an entry left: nothing switched, the slice ended, the thread blocked or ended, a deadline
/// preempted it, or from idle.
enum class TraceLeave : std::uint8_t {
    resumed = 1,
    slice_end = 2,
    gave_up = 3,
    preempted = 4,
    from_idle = 5
};

enum class TraceCharge : std::uint8_t {
    user = 1,  ///< user time
    call = 2,  ///< a call's kernel time
    fault = 3,
    timer = 4,        ///< the rest of a timer interrupt
    interrupt = 5,    ///< a device interrupt
    expiry = 6,       ///< an expired timeout or a stale wait
    destruction = 7,  ///< a deadline's destruction
    pick = 8,         ///< pick and switch
    lock_wait = 9,
    idle = 10,     ///< nobody: the hart idled
    kick = 11,     ///< nobody: a software interrupt that found nothing
    nothing = 12,  ///< nobody: a timer interrupt that found nothing and ended no slice
    no_pick = 13,  ///< nobody: a pick of nothing
    boot = 14,     ///< nobody: before the first return
    zeroing = 15,
    audit = 16,  ///< nobody: a checked build's scan; the running slice's end moves by it
    audit_wait =
        17,  ///< nobody: the part of a lock wait behind another hart's audit; the slice's end moves by it
};

enum class TraceExpiry : std::uint8_t { timeout = 1, stale = 2, deadline = 3 };

/// Fletcher's two sums over the 64-bit words of all records so far. The writer keeps one for each full
/// block of kTraceBlock records and one for the last, partial block, so that a record which is altered
/// behind its writer is refused, with the place. Any one altered word changes `a`.
struct TraceSums {
    std::uint64_t a = 0;
    std::uint64_t b = 0;

    constexpr void add(const TraceRecord& r) {
        add(r.x);
        add(r.y);
        add(r.id);
        add(std::uint64_t{r.entry} | std::uint64_t{r.kind} << 32 | std::uint64_t{r.hart} << 40 |
            std::uint64_t{r.what} << 48);
    }

    constexpr bool operator==(const TraceSums&) const = default;

  private:
    constexpr void add(std::uint64_t word) {
        a += word;
        b += a;
    }
};
static_assert(sizeof(TraceSums) == 16);

/// Records of a block, a power of two.
inline constexpr std::uint64_t kTraceBlock = 128;

/// Sums behind that many records.
constexpr std::uint64_t trace_blocks(std::uint64_t records) {
    return (records + kTraceBlock - 1) / kTraceBlock;
}

/// The file's head. Records follow it, then the sums of the blocks; `digest` is FNV-1a over every byte
/// of the file, those of the digest itself taken as 0.
struct TraceHead {
    char magic[8];          ///< "RAVTRACE"
    std::uint32_t version;  ///< kTraceVersion
    std::uint32_t record_size;
    std::uint64_t records;
    std::uint64_t dropped;
    std::uint64_t digest;
    std::uint64_t timebase;  ///< ticks a second
    std::uint32_t harts;
    std::uint32_t slice_ticks;
    std::uint64_t seed;
};
static_assert(sizeof(TraceHead) == 64);

inline constexpr std::uint32_t kTraceVersion = 2;

}  // namespace ravelin::abi
