// The messages that wait at an endpoint, in fair groups (R2).
//
// Rule: senders of one account and label set are one group, and those without an account one a
// budget. The group whose turn is longest ago is served next, its oldest message first; a group that
// was served goes behind all others, and so does a new one. A receiver that can take no more calls is
// served from the groups that have a send waiting, in an order of the same kind. A group waits with
// at most kWaitCap messages.
// Invariant: a group's state lies in the thread page of one of its members, the leader, so that it
// costs nobody else a page; every member knows its leader. Groups are found by a tree (object/tree.h)
// over a hash that a secret of the machine is mixed into.
// Bound: next() is constant time. The others walk the tree, which is as deep as there are bits in a
// hash at most, whoever has queued how much; a group whose leader goes is handed to its newest member,
// with at most kWaitCap pointers set.
#pragma once

#include "core/kernel.h"

namespace ravelin::ipc {

/// Queues a thread's message at the endpoint its wait names. False, and nothing done: its group has
/// kWaitCap waiting.
bool enqueue(Kernel& kernel, Thread& sender);

/// Takes a waiting message out. Its group keeps its turn.
void dequeue(Thread& sender);

/// The message whose turn it is, or null; of sends alone with `sends_only`.
Thread* next(const Endpoint& endpoint, bool sends_only);

/// Takes out a message that was served, and puts its group behind the others.
void serve_group(Thread& sender);

#if RAVELIN_CHECKED
/// Stops the machine if a list of the endpoint holds what does not belong there. Looks at no more
/// than `most` members of each.
void audit(const Endpoint& endpoint, u32 most);
#endif

}  // namespace ravelin::ipc
