// The two ends of every entry, shared by the upcalls.
#pragma once

#include "core/kernel.h"

namespace ravelin {

/// Takes the kernel lock, answering other harts' shootdowns while it waits. Returns the time it was
/// taken, and how many sections were ahead.
Ticks take_lock(Kernel& kernel, Hart& hart, u32& ahead);

/// The way out: switch if the thread gave up, close the interval, release the lock, arm the timer.
Port::Context* leave_kernel(Kernel& kernel, Hart& hart);

}  // namespace ravelin
