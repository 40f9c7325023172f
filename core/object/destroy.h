// Destruction of a budget with all below it (R10), in the nine steps of the rule, as one section of
// the lock. Bound: linear in what dies and in the handles that name it; nothing else is walked.
#pragma once

#include "core/kernel.h"

namespace ravelin {

/// Destroys `top` and its descendants. `found` is when its deadline was found past, or kNever if a
/// call does it. The work is the calling hart's open interval; returns who pays for it if a
/// deadline did it: the parent once the carve is back, or the nearest ancestor with free weight;
/// null if root itself dies. A caller inside the subtree ends with it: the hart has no thread then.
Budget* destroy_budget(Kernel& kernel, Hart& self, Budget& top, Ticks found);

}  // namespace ravelin
