// Leases that are full of all that a destruction has to take away.
#pragma once

#include "user/workload/launcher.h"

namespace ravelin::workload {

/// What one filler holds when it is full, beside what every child has.
inline constexpr u32 kFillEndpoints = 2'000;
inline constexpr u32 kFillHandles = abi::kMaxHandles - 3;
inline constexpr u32 kFillThreads = 250;

/// Calls of its threads that the server of role handle 0 is to take and leave open, and calls and sends
/// that wait there then.
inline constexpr u32 kFillTaken = 60;
inline constexpr u32 kFillQueued = 20;

/// Pages beside those of its own process that a filler's budget needs.
u64 filler_pages();

/// Makes endpoints and fills its handle table with senders to them; has threads call through role handle 0,
/// call its own endpoints, which nobody serves, and sleep. Reports endpoints, handles and threads when it is
/// full, and stays so. It calls the server kFillTaken + kFillQueued times.
void fill(Child& child);

/// Has a lease below users filled, destroys it with nothing else to run, and gives how long the call took. Fails the
/// launcher unless all that was carved is back, and each call that was taken is told as abandoned, once.
Micros destroy_full_lease(Launcher& launcher);

}  // namespace ravelin::workload
