// Device objects: windows of registers, interrupts and the reset. Made at boot from the board's
// facts, charged to the system budget, named by handles; there is no call that makes or ends one
// (R18).
//
// Rules: an interrupt that fires is completed and then masked (R5); a receive on its object unmasks
// it, so that it fires at most once a receive, and one that fired with nobody waiting is kept. A
// source is masked at boot and again once its object is gone. A window's mapping outlives the handle
// and the object.
// Bound: constant, but end_device, which costs the threads that wait and the handles.
#pragma once

#include "core/object/object.h"
#include "core/port.h"

namespace ravelin {

struct Hart;
struct Kernel;
struct Thread;

struct Device {
    ObjectHead head;
    DeviceFact fact;
    Budget* owner = nullptr;  ///< pays for the object and for the interrupts
    Link owner_link;

    // Of an interrupt.
    bool fired = false;    ///< it fired and nobody waited; the next receive takes it
    List<Thread> waiters;  ///< threads that wait to receive, oldest first
};
static_assert(sizeof(Device) <= kPageSize);

/// Why the kernel refuses the board's devices, or null: its windows and sources are sound (R18).
const char* unsound_devices(const BoardFacts& facts);

/// Makes an object of a device, owned by the system budget. Null: the budget cannot pay for it.
Device* make_device(Kernel& kernel, Hart& hart, const DeviceFact& fact);

/// Ends a device object: masks its source, ends its waiters' receives with Dead, closes its handles.
void end_device(Kernel& kernel, Hart& self, Device& device);

/// Answers a device interrupt that the hart took: claims, completes, masks, and wakes the oldest
/// waiter or keeps that it fired. `expired`: this entry has found timed items, so that its open
/// interval is the last one's. The interrupt's own time is the device owner's; of a claim that found
/// nothing, or a source that no object owns, nobody's.
[[gnu::noinline]] void take_interrupt(Kernel& kernel, Hart& self, bool expired);

}  // namespace ravelin
