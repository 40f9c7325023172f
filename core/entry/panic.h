// How the machine ends: by a program's wish, or by the kernel's own fault.
#pragma once

#include "core/kernel.h"

namespace ravelin {

/// Ends the machine; the trace gets its end record first.
[[noreturn]] void power_off(Kernel& kernel, Hart& self, ResetKind kind);

/// Prints what is wrong and ends the machine as failed.
[[noreturn]] void panic(Kernel& kernel, Hart& self, const char* what);

}  // namespace ravelin
