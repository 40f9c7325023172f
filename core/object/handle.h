// Handle tables and the chains through them (R9, I1, I2): pages of 64 slots, each page charged to
// the process's budget when its first handle arrives and freed with its last. Every handle is on
// the chain of its object and of its stamp, so that either's end finds it; so is a copy on its way in
// a message, which either's end empties. Bound: find, install and close are constant time (64 pages
// of one word each); the others cost the handles they close.
#pragma once

#include "core/kernel.h"

namespace ravelin {

/// The slot of a handle, or null if the process has none of that number.
HandleSlot* find_handle(Process& process, Word handle);

/// Gives the process a handle, at the lowest free number. Errors: out_of_memory (a table page),
/// too_large (the table is full).
abi::Status install_handle(Kernel& kernel, Process& process, ObjectHead& object, Budget& stamp,
                           u64 badge, u32& handle);

/// Whether `count` more handles fit into the process's table, and the pages that it would grow by.
bool room_for_handles(const Process& process, u32 count, u32& pages);

/// Makes a copy of a handle in a message: on the chains of its object and its stamp, in no table.
void copy_to_message(HandleSlot& copy, const HandleSlot& handle);

/// Closes one handle; one in a message becomes empty.
void close_handle(Kernel& kernel, HandleSlot& slot);

/// Closes every handle that names the object.
void close_object(Kernel& kernel, ObjectHead& object);

/// Closes every handle stamped with the budget.
void close_stamped(Kernel& kernel, Budget& stamp);

/// Closes a process's whole table.
void close_table(Kernel& kernel, Process& process);

}  // namespace ravelin
