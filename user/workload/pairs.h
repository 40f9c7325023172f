// Creations and destructions of budgets, one behind the other.
#pragma once

#include "user/workload/child.h"

namespace ravelin::workload {

/// Makes an empty child of weight 1 below this process's own budget, the role handle 0, and destroys it, until the window
/// ends; reports nothing done. Fails if there were fewer pairs than asked for, or if the budget uses then what it did not before.
///   0 pairs at least
void make_pairs(Child& child);

}  // namespace ravelin::workload
