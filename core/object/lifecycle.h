// How processes, threads and endpoints begin and end (R6, R20, R21). Bound: creation is constant
// time, but the draw of a PID, at most 510 looks; an end costs what the process has.
#pragma once

#include "core/kernel.h"

namespace ravelin {

/// Makes an empty process that will run in `budget`, its object charged to `creator`; its exit
/// notice goes to `exit_endpoint` if that is not null. Errors: out_of_memory, out_of_processes,
/// invalid_argument (the budget has no free weight).
abi::Status create_process(Kernel& kernel, Hart& self, Budget& creator, Budget& budget,
                           Endpoint* exit_endpoint, Process*& process);

/// Makes a thread that may run at once. Errors: out_of_memory, too_many_threads.
abi::Status create_thread(Kernel& kernel, Hart& self, Process& process, Word entry, Word stack,
                          Word argument, u32& tid);

/// Ends one thread; with the last one the process ends as exited with code 0.
void end_thread(Kernel& kernel, Hart& self, Thread& thread);

/// Ends a process with all its threads, and sends its notice or frees its object.
void end_process(Kernel& kernel, Hart& self, Process& process, abi::ExitCause cause, u32 code);

/// Frees an ended process's object and its PID.
void free_process(Kernel& kernel, Hart& self, Process& process);

/// Makes an endpoint owned by the budget. Errors: out_of_memory.
abi::Status create_endpoint(Kernel& kernel, HartIndex hart, Budget& owner, Endpoint*& endpoint);

/// Ends an endpoint and closes its handles.
void end_endpoint(Kernel& kernel, Hart& self, Endpoint& endpoint);

/// A new object in a frame of its own, which the caller has charged: charged pages always have
/// frames. `hart` is the calling one.
template <class T>
T& make_object(Kernel& kernel, HartIndex hart, ObjectKind kind) {
    FrameNumber frame = kernel.frames.take(kernel.port);
    kernel.port.work(hart, Work::frame, 1);
    T& object = *new (kernel.port.frame_pointer(frame)) T;
    object.head.kind = kind;
    object.head.id = ++kernel.last_id;
    return object;
}

/// Gives an object's frame back.
template <class T>
void free_object(Kernel& kernel, T& object) {
    object.head.kind = ObjectKind::none;
    kernel.frames.give(kernel.port.frame_number(&object));
}

/// The memory room's view of a process.
inline MemoryContext memory_of(Kernel& kernel, Hart& self, Process& process) {
    return {kernel.port, self.index, kernel.frames, *process.budget, process.space, process.pid};
}

}  // namespace ravelin
