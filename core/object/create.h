// Carving a budget out of its parent (R7, R8).
#pragma once

#include "core/abi/records.h"
#include "core/kernel.h"

namespace ravelin {

/// Makes a child of `parent` as the record asks. Errors, in the order they are checked: too_large
/// (depth, labels), label_denied, out_of_memory (pages and the child's own page over the parent's
/// free pages), out_of_processes, invalid_argument (weight over the parent's free weight, or all of
/// it from a parent that holds a process).
abi::Status create_budget(Kernel& kernel, Hart& self, Budget& parent, const abi::BudgetSpec& spec,
                          Budget*& child);

}  // namespace ravelin
