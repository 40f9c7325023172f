// Telling other harts that what they may have cached of an address space, or the thread they run,
// is gone.
//
// The asking hart holds the kernel lock, posts one request, kicks the harts it concerns and waits,
// halted, until each has answered. A hart answers as it enters the kernel, before it takes the
// lock, and whenever it wakes while it waits for the lock: so an asker that waits for a hart and a
// hart that waits for the asker's lock do not wait for each other. The ticks an answer takes are paid
// for as the asking entry is, and so is the wait for it (R12). Bound: one kick and one entry of each
// hart asked.
#pragma once

#include "core/kernel.h"

namespace ravelin {

/// Answers the request made to this hart. No lock needed.
[[gnu::noinline]] void answer_shootdown(Kernel& kernel, Hart& hart);

/// Answers a request made to this hart, if there is one.
inline void serve_shootdown(Kernel& kernel, Hart& hart) {
    if (hart.asked.load(std::memory_order_acquire) != 0) answer_shootdown(kernel, hart);
}

/// Does what the memory room asks after an operation on the process's space: on this hart, and on
/// the others that have seen it.
void apply(Kernel& kernel, Hart& self, Process& process, const Flush& flush);

/// The process's space ends: no hart has it active or caches anything of it afterwards.
void leave_space(Kernel& kernel, Hart& self, Process& process);

/// Hart `hart` is out of user mode afterwards: the thread it ran can be taken apart.
void evict(Kernel& kernel, Hart& self, HartIndex hart);

}  // namespace ravelin
