// Budgets: the tree that holds pages, processes and weight, and the unit that the scheduler runs
// (R6, R7, R8, R10, R12).
//
// Invariant: what its children were carved counts in a budget's used pages and processes and its
// carved weight; their own use does not. A budget that holds a process has free weight.
#pragma once

#include "core/abi/limits.h"
#include "core/memory/frames.h"
#include "core/object/labels.h"
#include "core/object/object.h"
#include "core/stride/entity.h"
#include "core/time/heap.h"

namespace ravelin {

struct Device;
struct Process;
struct Endpoint;
struct OpenCall;
struct Thread;

/// Decides trust, never order.
enum class BudgetClass : u8 { system, user };

struct Budget {
    ObjectHead head;
    stride::Entity entity;  ///< its place in time; the weight there is the free weight

    Budget* parent = nullptr;
    List<Budget> children;
    Link sibling_link;
    u32 depth = 0;
    BudgetClass budget_class = BudgetClass::user;
    bool dying = false;
    u64 account = 0;
    LabelSet labels;

    u32 page_limit = 0;
    u32 pages_used = 0;
    u32 process_limit = 0;
    u32 processes_used = 0;
    u32 weight_limit = 0;
    u32 weight_carved = 0;

    // Which of its processes have a ready thread, and the thread picked last, behind which its
    // turns go on.
    Bits<abi::kMaxPid + 1> ready_pids;
    u32 cursor_pid = 0;
    u32 cursor_tid = 0;

    // Its thread counts changed in this entry: on the scheduler's list until the reconcile.
    bool marked = false;
    Link mark_link;
    Budget* next_woken = nullptr;

    // Time. A budget's deadline waits with its parent, who pays for it; `timed` is all it pays for,
    // and `earliest` stands for the first of that in the kernel's heap of payers.
    TimerNode deadline;
    TimerHeap timed;
    TimerNode earliest;

    Unclean unclean;  ///< frames whose zeroing it pays for

    HandleSlot* stamped = nullptr;  ///< every handle stamped with it
    List<Process> processes;        ///< processes that run in it or whose PID still counts in it
    u32 live_processes = 0;         ///< those of them that have not ended
    List<Process> charged;          ///< process objects it pays for
    List<Endpoint> endpoints;       ///< endpoints it owns
    List<Device> devices;           ///< device objects it owns: the system budget's alone
    List<Thread> queued_under;      ///< messages queued through a handle stamped with it
    List<OpenCall> taken_under;     ///< taken calls that came through one

    u32 free_weight() const { return weight_limit - weight_carved; }
    u32 free_pages() const { return page_limit - pages_used; }
    u32 free_processes() const { return process_limit - processes_used; }
};
static_assert(sizeof(Budget) <= kPageSize);

/// Charges `pages` to a budget; false, and nothing changed, if its limit does not allow it (R6).
bool charge(Budget& budget, u32 pages);

/// Gives back what was charged.
void uncharge(Budget& budget, u32 pages);

/// Whether information may go from one budget to the other: its labels go with it, and system-class
/// budgets are trusted with any (R1).
inline bool flows(const Budget& from, const Budget& to) {
    if (from.labels.empty()) return true;
    return from.budget_class == BudgetClass::system || to.budget_class == BudgetClass::system ||
           from.labels.within(to.labels);
}

/// The budget a scheduling entity is part of.
inline Budget& budget_of(stride::Entity& entity) {
    return *reinterpret_cast<Budget*>(reinterpret_cast<char*>(&entity) -
                                      __builtin_offsetof(Budget, entity));
}

}  // namespace ravelin
