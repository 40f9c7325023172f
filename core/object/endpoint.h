// Endpoints: where messages are sent and received. An endpoint holds no queue of its own: a queued
// message is its blocked sender.
#pragma once

#include "core/object/object.h"

namespace ravelin {

struct Process;
struct Thread;
struct OpenCall;

struct Endpoint {
    ObjectHead head;
    Budget* owner = nullptr;
    Link owner_link;
    List<Thread> receivers;    ///< threads that wait to receive, oldest first
    List<Thread> senders;      ///< threads whose message waits to be taken, oldest first
    List<OpenCall> open;       ///< taken calls that came through it
    List<Process> notices;     ///< ended processes whose exit notice waits
    List<Process> exits_here;  ///< processes whose exit notice will come here
};
static_assert(sizeof(Endpoint) <= kPageSize);

}  // namespace ravelin
