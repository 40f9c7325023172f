// What every kernel object begins with. Each object is one frame of RAM charged to a budget; a
// handle points at the head.
#pragma once

#include "core/object/list.h"

namespace ravelin {

/// Kinds of object, also the kinds of handle. Values are large so that a frame that holds none is
/// told apart in a dump.
enum class ObjectKind : u32 {
    none = 0,
    budget = 0x42554447,
    endpoint = 0x454e4450,
    device = 0x44455649,
    process = 0x50524f43,
    thread = 0x54485244,
};

struct Budget;
struct HandleSlot;

/// Links of a handle slot into one chain of handles.
struct HandleLink {
    HandleSlot* next = nullptr;
    HandleSlot* previous = nullptr;
};

struct ObjectHead {
    ObjectKind kind = ObjectKind::none;
    u64 id = 0;                     ///< from one counter for all objects, never used again (I12)
    HandleSlot* handles = nullptr;  ///< every handle that names this object
};

/// A handle: 64 bytes on a 64-bit machine. Free when `object` is null.
struct HandleSlot {
    ObjectHead* object = nullptr;
    Budget* stamp = nullptr;  ///< its destruction closes the handle (R9)
    u64 badge = 0;            ///< of an endpoint: 0 is the receive right
    HandleLink by_object;
    HandleLink by_stamp;
    u16 pid = 0;    ///< the process whose table this is in; 0: it is in a message
    u16 index = 0;  ///< its place in that table or message
};

}  // namespace ravelin
