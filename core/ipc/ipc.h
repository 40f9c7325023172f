// Messages between threads: call, send, receive, reply, and the notices that receive brings (R2 to
// R4, R13, R14).
//
// A queued message is its blocked sender and its words are still in the sender's registers: nothing
// is allocated and nothing is copied but once, from thread to thread. Every wait ends exactly once,
// by who ends it. Bound: each function is constant time but where it says otherwise.
#pragma once

#include "core/kernel.h"

namespace ravelin::ipc {

/// The call `call` or `send` of the thread that hart `self` runs: takes the message to a receiver
/// or blocks.
void send(Kernel& kernel, Hart& self, Thread& thread, bool wants_reply);

/// The call `receive`: brings what is due at the endpoint or blocks; without a handle it sleeps.
void receive(Kernel& kernel, Hart& self, Thread& thread);

/// The call `reply`: answers an open call by its message id. O(open calls of the process).
void reply(Kernel& kernel, Hart& self, Thread& thread);

/// The taken call of this id that the process has not answered, or null.
OpenCall* find_open(Process& process, u64 id);

/// The call `serve`: says which open call the thread works on.
void serve(Thread& thread);

/// The call `reply_receive`: reply, then receive; if the reply is refused nothing is received.
void reply_receive(Kernel& kernel, Hart& self, Thread& thread);

/// The thread's wait has reached its timeout.
void time_out(Kernel& kernel, Hart& self, Thread& thread);

/// A thread is about to end: its wait is undone, calls it held end Dead, the call it waited for is
/// abandoned.
void thread_ends(Kernel& kernel, Hart& self, Thread& thread);

/// An ended process's exit notice goes to its endpoint. False: there is none any more, the object
/// can be freed.
bool give_notice(Kernel& kernel, Hart& self, Process& process);

/// A device's interrupt fired and is masked: its oldest waiter takes it, or the next receive will.
void fire(Kernel& kernel, Hart& self, Device& device);

/// A device object ends: who waits for its interrupt gets Dead.
void device_dies(Kernel& kernel, Hart& self, Device& device);

/// An endpoint's owner dies: who waits there gets Dead, calls taken through it are abandoned, its
/// notices are dropped.
void endpoint_dies(Kernel& kernel, Hart& self, Endpoint& endpoint);

/// A stamp dies: messages queued and calls taken through its handles fail their callers with Dead.
void stamp_dies(Kernel& kernel, Hart& self, Budget& stamp);

/// Checked builds: looks at the endpoints whose lists this entry changed, 64 members of each list.
#if RAVELIN_CHECKED
void audit_touched(Kernel& kernel);
#else
inline void audit_touched(Kernel&) {}
#endif

}  // namespace ravelin::ipc
