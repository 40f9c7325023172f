// Carving a budget out of its parent (R7, R8).
#pragma once

#include "core/abi/records.h"
#include "core/kernel.h"

namespace ravelin {

/// Makes a child of `parent` as the record asks, for a caller in `creator`. Errors, in the order they
/// are checked: too_large (labels, depth), label_denied (labels lack one of the parent's), class_denied
/// (labels that the parent has not, from a creator that is not of the system class), out_of_memory
/// (pages and the child's own page over the parent's free pages), out_of_processes, invalid_argument
/// (weight over the parent's free weight, or all of it from a parent that holds a process).
abi::Status create_budget(Kernel& kernel, Hart& self, const Budget& creator, Budget& parent,
                          const abi::BudgetSpec& spec, Budget*& child);

}  // namespace ravelin
