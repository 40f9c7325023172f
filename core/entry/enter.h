// The upcalls: how a port enters the kernel, and the path every entry takes.
//
// Each entry takes the kernel lock once, accrues the interrupted thread's time, answers what is
// due, does its work, reconciles the run queue once, picks if the thread left, releases the lock
// and arms the hart's timer. It is never preempted: a port calls these with interrupts off and on
// the hart's own kernel stack.
#pragma once

#include "core/port.h"

namespace ravelin {

struct Kernel;

/// The first program, already in memory as a page table can map it. A port fills it before boot.
struct BootProgram {
    Word entry = 0;
    Word stack = 0;
    Word argument = 0;
    struct Segment {
        Word address = 0;  ///< user address, page-aligned
        u32 rights = 0;    ///< abi::kRead and so on; never write with execute
        FrameNumber
            first;  ///< the pages' frames, in order; taken out of the free RAM by the kernel
        u32 count = 0;
    };
    std::span<const Segment> segments;
};

/// Upcall: makes the kernel's objects and the first program, on the boot hart (index 0), before any
/// other hart runs. Returns the context the boot hart runs first; other harts are started from
/// inside through Port::start.
Port::Context* boot(Kernel& kernel, const BootProgram& program);

/// Upcall: a hart that Port::start began is on its own kernel stack. Returns what it runs first, or
/// null to idle.
Port::Context* hart_online(Kernel& kernel, HartIndex hart);

/// Upcall: hart `hart` trapped, from the context it ran or from idle. Returns the context it
/// resumes, or null: the hart idles until an interrupt is pending and enters again with it. After
/// it returns, the hart's timer is armed for whatever comes first.
Port::Context* enter(Kernel& kernel, HartIndex hart, const Trap& trap);

}  // namespace ravelin
