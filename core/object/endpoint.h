// Endpoints: where messages are sent and received. An endpoint holds no queue of its own: a queued
// message is its blocked sender, in its fair group (core/ipc/groups.h).
#pragma once

#include "core/object/object.h"
#include "core/object/tree.h"

namespace ravelin {

struct Process;
struct Thread;
struct OpenCall;

struct Endpoint {
    ObjectHead head;
    Budget* owner = nullptr;
    Link owner_link;
    List<Thread> receivers;    ///< threads that wait to receive, oldest first
    List<Thread> groups;       ///< leaders of groups with a message, whose turn is next first
    List<Thread> send_groups;  ///< those of them with a send, likewise
    Tree<Thread> leaders;      ///< of its groups, by hash
    List<OpenCall> open;       ///< taken calls that came through it
    List<Process> notices;     ///< ended processes whose exit notice waits
    List<Process> exits_here;  ///< processes whose exit notice will come here
#if RAVELIN_CHECKED
    Link audit_link;  ///< in the kernel's `touched`
#endif
};
static_assert(sizeof(Endpoint) <= kPageSize);

}  // namespace ravelin
