// What everything hangs off: one Kernel object holds all that a kernel knows. A process can hold a
// thousand of them.
#pragma once

#include <atomic>

#include "core/abi/trace.h"
#include "core/entry/enter.h"
#include "core/entry/lock.h"
#include "core/memory/frames.h"
#include "core/object/budget.h"
#include "core/object/device.h"
#include "core/object/endpoint.h"
#include "core/object/process.h"
#include "core/object/random.h"
#include "core/sched/ledger.h"
#include "core/stride/queue.h"
#include "core/time/heap.h"
#include "core/trace/trace.h"

namespace ravelin {

/// How the thread that a hart ran left it, or why it did not.
using Leave = abi::TraceLeave;

/// What one hart does now. Read and written under the lock, but for `asked`.
struct Hart {
    HartIndex index;
    bool online = false;
    bool idle = false;

    Thread* thread =
        nullptr;  ///< the user thread it runs; null: idle, or its thread was taken from it
    Budget* runner = nullptr;  ///< whose time it is: the thread's budget
    Ticks pending;             ///< the runner's ticks not yet folded
    Ticks since;               ///< what came before is billed
    Budget* payer = nullptr;   ///< of the interval open since then; null: nobody
    abi::TraceCharge reason = abi::TraceCharge::boot;
    Leave leave = Leave::from_idle;
    bool gives_up = false;     ///< its thread leaves it at the end of this entry
    bool stays_ready = false;  ///< that thread could go on

    bool slice_open =
        false;  ///< a thread was picked and its slice starts at the return to user mode
    Ticks slice_end = kNever;
    Ticks armed = kNever;  ///< what the hart's timer is armed for
    u32 space = 0;         ///< the address space it has active; 0: none

    std::atomic<u32> asked{0};     ///< a shootdown it has not answered: see object/shootdown.h
    FrameNumber zeroing;           ///< the frame it zeroes without the lock; {0}: none
    Ticks zeroed;                  ///< when it had done so
    Budget* zeroed_for = nullptr;  ///< who pays for an entry that found nothing but that it had

    Ticks answer_from;  ///< when its last answer began
    Ticks answer;       ///< and what it took
    Ticks answered;     ///< ticks since its last entry that those who asked pay for
};

/// A range of one address space that other harts may not use any more.
struct Shootdown {
    u32 space = 0;
    Word address = 0;
    u32 pages = 0;
    bool leave = false;  ///< the space ends: harts in it stop running in it
};

struct Kernel {
    explicit Kernel(Port& machine) : port(machine) {}
    Kernel(const Kernel&) = delete;
    Kernel& operator=(const Kernel&) = delete;

    Hart& hart(HartIndex index) { return harts[index.value]; }

    Port& port;
    Lock lock;
    Hart harts[kMaxHarts];
    u32 hart_count = 1;   ///< harts that may come online: bound of the table
    u32 online = 0;       ///< harts online
    u32 idle = 0;         ///< bits of the idle ones
    Shootdown shootdown;  ///< the one under way
    HartIndex asker;      ///< the hart that waits for its answers

    stride::Queue queue;
    List<Budget> marked;  ///< budgets whose thread counts changed in this entry

    TimerHeap payers;  ///< budgets that pay for something timed, by the earliest of it
    bool timers_moved =
        false;  ///< an item was added or a runner changed: other harts' timers may be late
    Ticks booted;
    u64 ticks_per_second = 0;
    Ticks slice;

    Frames frames;
    Process* processes[abi::kMaxPid + 1] = {};
    u32 process_count = 0;
    u64 last_id = 0;  ///< objects' ids (I12)
    Generator generator;
    u64 secret = 0;  ///< mixed into hashes, so that nobody can choose what is hard to find

    Device* sources[kMaxSource + 1] = {};  ///< interrupt objects by source; null: none owns it

    Budget* root = nullptr;
    Budget* system = nullptr;
    Budget* users = nullptr;

#if RAVELIN_CHECKED
    List<Endpoint> touched;  ///< endpoints with a list that this entry changed, for its audit
#endif
    [[no_unique_address]] Ledger ledger;
    trace::Trace trace;
};

}  // namespace ravelin
