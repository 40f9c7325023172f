// The guest's side of a trap: how a thread leaves guest code for its hart's loop and comes back.
#pragma once

#include "port-hosted/source/machine.h"

namespace ravelin::hosted {

/// Where a guest thread's own stack begins.
void guest_entry(Transfer transfer);

/// Goes to the loop of the hart that runs `thread`, and returns when a hart resumes it. Not in
/// guest code (in_user is 0) before and after. Inlined, so that fault.cpp's own copy is free of
/// sanitizers.
[[gnu::always_inline]] inline void switch_to_loop(GuestThread& thread, Why why) {
    thread.why.store(why, std::memory_order_relaxed);
    fiber_switch(thread.fiber, thread.hart.load(std::memory_order_relaxed)->loop);
}

/// Ends the port's own code: guest code may be preempted from here on. What came meanwhile is taken
/// first. After the mark the thread may move to another hart at any point: then it reads another
/// hart's flag, and at worst makes a turn through the loop for nothing.
[[gnu::always_inline]] inline void enter_user(GuestThread& thread) {
    for (;;) {
        thread.in_user.store(1, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        Hart* hart = thread.hart.load(std::memory_order_relaxed);
        if (hart->signalled.load(std::memory_order_relaxed) == 0) {
            return;
        }
        thread.in_user.store(0, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        switch_to_loop(thread, Why::interrupt);
    }
}

/// Begins the port's own code: not preempted until enter_user.
[[gnu::always_inline]] inline void leave_user(GuestThread& thread) {
    thread.in_user.store(0, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace ravelin::hosted
