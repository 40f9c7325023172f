// The path every entry takes; see enter.h and, for who pays for what, sched/sched.h.
#include "core/assert.h"
#include "core/entry/calls.h"
#include "core/entry/panic.h"
#include "core/entry/path.h"
#include "core/ipc/ipc.h"
#include "core/object/lifecycle.h"
#include "core/object/shootdown.h"
#include "core/planted.h"
#include "core/sched/sched.h"
#include "core/sched/zeroing.h"
#include "core/time/timers.h"

namespace ravelin {

using abi::TraceCause;
using abi::TraceCharge;
using abi::TraceKind;
using planted::Row;

namespace {

Ticks wanted_timer(const Kernel& kernel, const Hart& hart) {
    Ticks due = timers::due_for(kernel, hart);
    return hart.thread != nullptr && hart.slice_end < due ? hart.slice_end : due;
}

// Harts whose timers should be armed earlier than they are: each is told, once the lock is free, and arms its own as it leaves.
[[gnu::noinline]] HartMask late_timers(Kernel& kernel, const Hart& self) {
    HartMask late{};
    for (u32 index = 0; index < kernel.hart_count; ++index) {
        const Hart& hart = kernel.harts[index];
        if (!hart.online || &hart == &self || wanted_timer(kernel, hart) >= hart.armed) continue;
        late.bits |= HartMask::of(hart.index).bits;
    }
    return late;
}

abi::FaultCode code_of(FaultKind kind) {
    switch (kind) {
    case FaultKind::fetch: return abi::FaultCode::fetch;
    case FaultKind::load: return abi::FaultCode::load;
    case FaultKind::store: return abi::FaultCode::store;
    case FaultKind::illegal: break;
    }
    return abi::FaultCode::illegal;
}

u32 right_of(FaultKind kind) {
    if (kind == FaultKind::fetch) return abi::kExecute;
    return kind == FaultKind::load ? abi::kRead : abi::kWrite;
}

// A fault that the tables allow by now met what the hart had cached: the access is made again.
// Every other one ends the process.
[[gnu::noinline]] void fault(Kernel& kernel, Hart& hart, const Trap& trap) {
    Process& process = *hart.thread->process;
    if (trap.fault != FaultKind::illegal &&
        permits(memory_of(kernel, hart, process), trap.address, right_of(trap.fault))) {
        kernel.port.flush(hart.index, process.pid, trap.address & ~Word{kPageSize - 1}, 1);
        return;
    }
    end_process(kernel, hart, process, abi::ExitCause::faulted,
                static_cast<u32>(code_of(trap.fault)));
}

TraceCause cause_of(TrapKind kind) {
    switch (kind) {
    case TrapKind::call: return TraceCause::call;
    case TrapKind::fault: return TraceCause::fault;
    case TrapKind::timer: return TraceCause::timer;
    case TrapKind::external: return TraceCause::external;
    case TrapKind::kick: break;
    }
    return TraceCause::kick;
}

void trace_enter(Kernel& kernel, Hart& hart, const Trap& trap, Ticks trapped, Ticks now,
                 u32 ahead) {
    if constexpr (trace::kOn) {
        kernel.trace.next_entry();
        u32 cause = static_cast<u32>(cause_of(trap.kind));
        if (trap.kind == TrapKind::call && hart.thread != nullptr) {
            cause |= static_cast<u32>(hart.thread->context.reg(0) & 0xff) << 8;
        }
        u64 runner = hart.runner == nullptr ? 0 : hart.runner->head.id;
        kernel.trace.write(hart.index, TraceKind::enter, runner, trapped.value, now.value, cause);
        if (ahead != 0)
            kernel.trace.write(hart.index, TraceKind::lock_wait, runner, (now - trapped).value,
                               ahead);
    }
}

// Answers the trap itself, which the hart took the lock for at `now`, once what was due has been
// answered (`expired`).
void answer(Kernel& kernel, Hart& hart, const Trap& trap, Ticks now, bool expired) {
    switch (trap.kind) {
    case TrapKind::call:
        dispatch_call(kernel, hart, *hart.thread);
        if (kernel.frames.freed() != 0) sched::owe_freed(kernel, hart, hart.payer);
        break;
    case TrapKind::fault:
        fault(kernel, hart, trap);
        if (kernel.frames.freed() != 0) sched::owe_freed(kernel, hart, hart.payer);
        break;
    case TrapKind::timer:
        if (hart.thread != nullptr && now >= hart.slice_end) {
            Budget* nobody = nullptr;
            if (!expired)
                sched::set_payer(hart, planted::payer(Row::slice_end, hart.runner, nobody),
                                 TraceCharge::timer);
            sched::give_up(hart, true, Leave::slice_end);
        }
        break;
    case TrapKind::external: take_interrupt(kernel, hart, expired); break;
    case TrapKind::kick: break;
    }
}

// Who pays for an entry of this kind before anything was found: a call's and a fault's runner, or
// who pays for the end of that budget if another hart destroyed it meanwhile; nobody for the
// others.
void open_interval(Kernel& kernel, Hart& hart, TrapKind kind, Ticks now) {
    Budget* runner = hart.runner != nullptr ? hart.runner : hart.payer;
    Budget* nobody = nullptr;
    Budget* other = kernel.root;  // never asked to pay, unless a test moves a row to it
    switch (kind) {
    case TrapKind::call:
        return sched::bill(kernel, hart, now, planted::payer(Row::call, runner, nobody),
                           TraceCharge::call);
    case TrapKind::fault:
        return sched::bill(kernel, hart, now, planted::payer(Row::fault, runner, nobody),
                           TraceCharge::fault);
    case TrapKind::timer:
        return sched::bill(kernel, hart, now, planted::payer(Row::nothing, nobody, other),
                           TraceCharge::nothing);
    case TrapKind::external:
        return sched::bill(kernel, hart, now, planted::payer(Row::lost_claim, nobody, other),
                           TraceCharge::interrupt);
    case TrapKind::kick:
        return sched::bill(kernel, hart, now, planted::payer(Row::kick, nobody, other),
                           TraceCharge::kick);
    }
}

void set_timer(Kernel& kernel, Hart& hart, Ticks wanted) {
    RAVELIN_ASSERT(!kernel.lock.held_by(hart.index));
    if (wanted == kNever) {
        kernel.port.disarm(hart.index);
    } else {
        kernel.port.arm(hart.index, wanted);
    }
}

// The hart has nothing to run: it zeroes a frame, if there is one to be, and idles.
[[gnu::noinline, gnu::cold]] void go_idle(Kernel& kernel, Hart& hart) {
    Budget* nobody = nullptr;
    Budget* payer = sched::begin_zeroing(kernel, hart);
    Ticks now = kernel.port.now(hart.index);
    if (payer != nullptr) {
        sched::bill(kernel, hart, now, planted::payer(Row::zeroing, payer, nobody),
                    TraceCharge::zeroing);
    } else {
        sched::bill(kernel, hart, now, planted::payer(Row::idle, nobody, kernel.root),
                    TraceCharge::idle);
    }
}

}  // namespace

Ticks take_lock(Kernel& kernel, Hart& hart, u32& ahead) {
    serve_shootdown(kernel, hart);
    ahead = kernel.lock.acquire(kernel.port, hart.index, [&] { serve_shootdown(kernel, hart); });
    return kernel.port.now(hart.index);
}

Port::Context* leave_kernel(Kernel& kernel, Hart& hart) {
    Port::Context* next = sched::leave(kernel, hart);
    kernel.port.work(hart.index, Work::leave, 1);
    if (next == nullptr) {
        go_idle(kernel, hart);
    } else if (hart.slice_open || hart.payer != hart.runner || trace::kOn) {
        Ticks now = kernel.port.now(hart.index);
        Ticks from = planted::broken(planted::Rule::slice_from_return) ? hart.since : now;
        if (hart.slice_open) hart.slice_end = from + kernel.slice;
        hart.slice_open = false;
        Budget* nobody = nullptr;
        sched::bill(kernel, hart, now, planted::payer(Row::user, hart.runner, nobody),
                    TraceCharge::user);
    }
    sched::check_ledger(kernel, hart.since);
    ipc::audit_touched(kernel);
    HartMask late{};
    if (kernel.timers_moved) {
        kernel.timers_moved = false;
        if (kernel.online > 1 && !kernel.payers.empty()) late = late_timers(kernel, hart);
    }
    // Who zeroes comes back as soon as may be.
    Ticks wanted =
        next == nullptr && hart.zeroing.value != 0 ? hart.since : wanted_timer(kernel, hart);
    bool arm = wanted != hart.armed;
    hart.armed = wanted;
    if (arm) kernel.trace.write(hart.index, TraceKind::arm, 0, wanted.value, 0);
    kernel.trace.write(hart.index, TraceKind::leave,
                       hart.runner == nullptr ? 0 : hart.runner->head.id, hart.since.value,
                       next == nullptr ? 0 : hart.slice_end.value, static_cast<u32>(hart.leave));
    if (planted::kArmUnderLock && arm) set_timer(kernel, hart, wanted);
    kernel.lock.release(kernel.port, hart.index);
    if (!late.empty()) kernel.port.kick(hart.index, late);
    if (!planted::kArmUnderLock && arm) set_timer(kernel, hart, wanted);
    if (next == nullptr && hart.zeroing.value != 0) sched::zero_frame(kernel, hart);
    return next;
}

namespace {

// The entry itself. Its rare turns are out of line, and the hart is an argument, so that both stay in
// registers from one end of the common path to the other.
[[gnu::flatten, gnu::noinline]] Port::Context* run(Kernel& kernel, Hart& hart, const Trap& trap) {
    HartIndex index = hart.index;
    Ticks trapped = trace::kOn ? kernel.port.now(index) : Ticks{};
    u32 ahead = 0;
    Ticks now = take_lock(kernel, hart, ahead);
    if (ahead == 0) trapped = now;  // nothing was waited for
    kernel.port.work(index, Work::entry, 1);
    trace_enter(kernel, hart, trap, trapped, now, ahead);
    hart.leave = hart.idle                ? Leave::from_idle
                 : hart.thread == nullptr ? Leave::gave_up
                                          : Leave::resumed;
    if (trap.kind == TrapKind::timer) hart.armed = {};
    if (hart.idle && hart.zeroing.value != 0) sched::end_zeroing(kernel, hart);

    if constexpr (trace::kOn) {
        Budget* nobody = nullptr;
        Budget* waits = hart.payer == nullptr ? planted::payer(Row::idle_wait, nobody, kernel.root)
                                              : planted::payer(Row::lock_wait, hart.payer, nobody);
        // Answers to shootdowns lie in the wait, and are paid for: the time before it was longer by them.
        sched::bill(kernel, hart, ahead == 0 ? trapped : trapped + hart.answered, waits,
                    TraceCharge::lock_wait);
        hart.answered = {};
    }
    open_interval(kernel, hart, trap.kind, now);
    if (hart.zeroed_for != nullptr && trap.kind == TrapKind::timer)
        sched::set_payer(hart, hart.zeroed_for, TraceCharge::zeroing);
    bool expired = !kernel.payers.empty() && kernel.payers.first()->due <= now;
    bool preempted = false;
    if (expired) {
        sched::bill(kernel, hart, now, nullptr, TraceCharge::expiry);
        preempted = timers::expire(kernel, hart, now);
        if (trap.kind == TrapKind::call || trap.kind == TrapKind::fault) {
            open_interval(kernel, hart, trap.kind, kernel.port.now(index));
        }
    }
    bool from_user = trap.kind == TrapKind::call || trap.kind == TrapKind::fault;
    if (hart.thread == nullptr) {
        if (!from_user && !preempted) answer(kernel, hart, trap, now, expired);
    } else if (preempted && !planted::broken(planted::Rule::deadline_preempts)) {
        hart.thread->context.retake();
        sched::give_up(hart, true, Leave::preempted);
    } else {
        answer(kernel, hart, trap, now, expired);
    }
    return leave_kernel(kernel, hart);
}

}  // namespace

Port::Context* enter(Kernel& kernel, HartIndex index, const Trap& trap) {
    return run(kernel, kernel.hart(index), trap);
}

Port::Context* hart_online(Kernel& kernel, HartIndex index) {
    Hart& hart = kernel.hart(index);
    u32 ahead = 0;
    Ticks now = take_lock(kernel, hart, ahead);
    kernel.trace.next_entry();
    kernel.trace.write(index, TraceKind::enter, 0, now.value, now.value,
                       static_cast<u32>(TraceCause::boot));
    kernel.trace.write(index, TraceKind::online, 0, now.value, 0);
    hart.index = index;
    hart.online = true;
    hart.since = now;
    kernel.ledger.hart_came(now);
    hart.idle = true;
    hart.leave = Leave::from_idle;
    kernel.online += 1;
    kernel.queue.set_harts(kernel.online);
    kernel.timers_moved = true;
    return leave_kernel(kernel, hart);
}

}  // namespace ravelin
