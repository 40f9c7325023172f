// Threads: a user context, what it waits for and the call it has open, all in the thread's own
// page.
#pragma once

#include "core/abi/calls.h"
#include "core/abi/limits.h"
#include "core/memory/space.h"
#include "core/object/labels.h"
#include "core/object/object.h"
#include "core/object/tree.h"
#include "core/port.h"
#include "core/time/heap.h"

namespace ravelin {

struct Budget;
struct Device;
struct Endpoint;
struct Process;
struct Thread;

/// A call that a receiver took and has not answered. It lies in its caller's thread page while the
/// caller waits, and in a frame of its own, already charged to the receiver, once the caller is
/// gone (R3).
struct OpenCall {
    u64 id = 0;                ///< of the receiving process, from 1; 0: none
    Thread* caller = nullptr;  ///< null: abandoned
    Process* server = nullptr;
    Thread* holder =
        nullptr;  ///< the thread that took it: it is told if the call is abandoned, and its end ends the call
    Endpoint* endpoint = nullptr;  ///< null once destroyed
    u64 account = 0;               ///< of the caller's budget, for blame
    bool reported = false;         ///< abandoned, and the holder was told
    PageRun lent;                  ///< in the caller's space; count 0: nothing
    Word borrowed = 0;             ///< where the server has it
    TreeNode server_node;          ///< in the server's `open_calls`, by id
    Link holder_link;              ///< in the holder's `held`
    Link endpoint_link;            ///< in the endpoint's `open`
    Link report_link;              ///< in the holder's `reports` while a report is owed
    Link
        stamp_link;  ///< in `taken_under` of the stamp of the handle it came through, while the caller waits
    Budget* stamp = nullptr;
    LabelSet labels;  ///< once abandoned: those of the budget the caller had
};

enum class ThreadState : u8 { ready, running, waiting };

enum class WaitKind : u8 { none, sleep, receive, send, call, reply, interrupt };

/// What a waiting thread waits for. One record: a thread waits for one thing.
struct Wait {
    WaitKind kind = WaitKind::none;
    Endpoint* endpoint = nullptr;  ///< of receive, send and call
    Device* device = nullptr;      ///< of interrupt
    Budget* stamp = nullptr;       ///< of send and call: of the handle used
    u64 badge = 0;                 ///< of send and call
    bool cargo = false;            ///< of send and call: the message carries more than words
    Link link;       ///< in the endpoint's receivers, in a group's members, or the device's waiters
    Link send_link;  ///< in a group's sends
    Link stamp_link;           ///< in the stamp's `queued_under`
    Thread* leader = nullptr;  ///< of the group its message waits in
    Ticks until = kNever;      ///< when it times out
};

/// The messages of one fair group at one endpoint; see core/ipc/groups.h. In use in its leader alone.
struct SenderGroup {
    List<Thread> members;  ///< oldest first
    List<Thread> sends;    ///< those that wait for no reply
    u32 count = 0;
    TreeNode node;        ///< in the endpoint's `leaders`, by the group's hash
    Link turn_link;       ///< in the endpoint's `groups`
    Link send_turn_link;  ///< in its `send_groups`
};

/// What a message carries beside its words, while it is queued or handed over: copies of handles,
/// each on its object's and its stamp's chain so that either's end empties it, and a run of pages out
/// of the sender's reach.
struct Cargo {
    u32 handle_count = 0;
    HandleSlot handles[abi::kMaxMessageHandles];
    PageRun run;
};

struct Thread {
    Port::Context context;
    ObjectHead head;
    Process* process = nullptr;
    u32 tid = 0;
    ThreadState state = ThreadState::waiting;
    HartIndex hart;  ///< while running
    Wait wait;
    TimerNode
        timeout;  ///< may be armed earlier than `wait.until`, or for a wait that has ended: then it is stale
    SenderGroup group;
    Cargo cargo;
    OpenCall open;  ///< of a call another process took
    u64 current =
        0;  ///< id of the open call it works on: the one a crash blames, if it is open still
    List<OpenCall> held;     ///< open calls it took
    List<OpenCall> reports;  ///< those of them that were abandoned and not reported yet
};
static_assert(sizeof(Thread) <= kPageSize);

/// The thread a context belongs to.
inline Thread& thread_of(Port::Context& context) {
    return *reinterpret_cast<Thread*>(&context);
}

}  // namespace ravelin
