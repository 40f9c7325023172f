// The call table: decodes what a thread asks for, checks it in the stated order and hands it to the
// room it belongs to (I14).
#pragma once

#include "core/kernel.h"

namespace ravelin {

/// Answers the call in the thread's registers, on hart `self`, which runs it. A call that blocks or
/// ends its thread makes the hart give it up. Unknown numbers get invalid_argument, and nothing
/// happens.
[[gnu::noinline]] void dispatch_call(Kernel& kernel, Hart& self, Thread& thread);

}  // namespace ravelin
