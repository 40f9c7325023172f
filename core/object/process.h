// Processes: an address space, a handle table and threads, in a budget (R6, R20, R21).
#pragma once

#include "core/memory/space.h"
#include "core/object/budget.h"
#include "core/object/thread.h"

namespace ravelin {

/// Handle slots in one page of a table, and pages of a full table.
inline constexpr u32 kSlotsPerPage = 64;
inline constexpr u32 kHandlePages = abi::kMaxHandles / kSlotsPerPage;
static_assert(sizeof(HandleSlot) * kSlotsPerPage <= kPageSize);

enum class ProcessState : u8 { created, running, ended };

struct Process {
    ObjectHead head;
    Budget* budget =
        nullptr;  ///< it runs in: pays for its pages and its time, and counts its PID until the object is freed
    Budget* creator = nullptr;  ///< pays for this object until the exit notice was taken
    Link budget_link;
    Link creator_link;
    u32 pid = 0;
    ProcessState state = ProcessState::created;

    // Threads, by TID.
    u32 thread_count = 0;
    u32 last_tid = 0;
    Bits<abi::kMaxThreads + 1> ready_tids;
    u32 ready_count = 0;
    Thread* threads[abi::kMaxThreads + 1] = {};
    u32 harts_seen = 0;  ///< bits of the harts that have had its space active

    // Handles.
    HandleSlot* handle_pages[kHandlePages] = {};
    u64 handles_used[kHandlePages] = {};  ///< a bit a slot; slot 0 of page 0 is never free
    u32 first_free_page = 0;              ///< no page before it has a free slot

    // Messages.
    u64 last_message = 0;
    Tree<OpenCall> open_calls;  ///< taken, not answered, by id
    u32 open_count = 0;

    // Its end.
    Endpoint* exit_endpoint = nullptr;
    Link exit_link;  ///< in the endpoint's exits_here, or in its notices once ended
    abi::ExitCause cause = abi::ExitCause::exited;
    u32 exit_code = 0;
    u64 blamed = 0;  ///< account
    LabelSet blamed_labels;
    LabelSet labels;       ///< its budget's, which may be gone when its notice is taken
    bool trusted = false;  ///< that budget was a system-class one

    Space space;
};
static_assert(sizeof(Process) <= kPageSize);

}  // namespace ravelin
