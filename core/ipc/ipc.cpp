// Messages between threads; see ipc.h.
#include "core/ipc/ipc.h"

#include <new>

#include "core/assert.h"
#include "core/ipc/cargo.h"
#include "core/ipc/groups.h"
#include "core/object/handle.h"
#include "core/object/lifecycle.h"
#include "core/object/regs.h"
#include "core/sched/sched.h"
#include "core/time/timers.h"

namespace ravelin::ipc {

using abi::Received;
using abi::Status;

namespace {

Budget& budget_of_thread(const Thread& thread) {
    return *thread.process->budget;
}

// Whether a message may go from one budget to the other, and its reply back (R1).
bool may_send(const Budget& from, const Budget& to, bool call) {
    if (from.labels.empty() && to.labels.empty()) return true;
    return flows(from, to) && (!call || flows(to, from));
}

// A list of the endpoint changes in this entry, whose end audits it in a checked build.
void touch(Kernel& kernel, Endpoint& endpoint) {
#if RAVELIN_CHECKED
    if (!endpoint.audit_link.linked()) kernel.touched.push_back(endpoint, endpoint.audit_link);
#else
    static_cast<void>(kernel);
    static_cast<void>(endpoint);
#endif
}

// Takes a waiting thread out of whatever list its wait is on. Its timeout's item stays behind,
// stale.
[[gnu::always_inline]] inline void end_wait(Kernel& kernel, Thread& thread) {
    Wait& wait = thread.wait;
    switch (wait.kind) {
    case WaitKind::receive:
        touch(kernel, *wait.endpoint);
        wait.endpoint->receivers.remove(wait.link);
        break;
    case WaitKind::send:
    case WaitKind::call:
        touch(kernel, *wait.endpoint);
        dequeue(thread);
        wait.stamp->queued_under.remove(wait.stamp_link);
        break;
    case WaitKind::interrupt: wait.device->waiters.remove(wait.link); break;
    case WaitKind::none:
    case WaitKind::sleep:
    case WaitKind::reply: break;
    }
    wait.kind = WaitKind::none;
}

// What waiting threads get, whose waits have ended.

void end_receive(Kernel& kernel, Hart& self, Thread& thread, Status status, Received kind = {}) {
    end_wait(kernel, thread);
    finish_receive(thread.context, status, static_cast<Word>(kind));
    sched::make_ready(kernel, self, thread);
}

// A call or send that waits to be taken, or for its reply, fails. `lend` is what became of a lend
// that had been taken.
[[gnu::noinline]] void fail(Kernel& kernel, Hart& self, Thread& thread, Status status,
                            abi::Lend lend) {
    end_wait(kernel, thread);
    abi::Lend unsent = unload(kernel, self, thread);
    finish(thread.context, status, static_cast<Word>(unsent == abi::Lend::none ? lend : unsent));
    sched::make_ready(kernel, self, thread);
}

// The call or send of the running thread fails, after its cargo was loaded.
[[gnu::noinline]] void refuse(Kernel& kernel, Hart& self, Thread& thread, Status status) {
    thread.wait.kind = WaitKind::none;
    abi::Lend lend = unload(kernel, self, thread);
    finish(thread.context, status, static_cast<Word>(lend));
}

void block(Kernel& kernel, Hart& self, Thread& thread, WaitKind kind, Ticks until) {
    thread.wait.kind = kind;
    thread.state = ThreadState::waiting;
    timers::start_timeout(kernel, thread, until);
    sched::give_up(self, false, Leave::gave_up);
}

// The point at which a timeout given in registers 2 and 3 ends; `poll` if it has no length at all.
Ticks until_of(Kernel& kernel, Hart& self, const Thread& thread, bool& poll) {
    Micros length{read_pair(thread.context, 2)};
    poll = length.value == 0;
    if (length == kForever) return kNever;
    Ticks ticks = timers::ticks_of(kernel, length);
    return ticks == kNever ? kNever : kernel.port.now(self.index) + ticks;
}

[[gnu::always_inline]] inline void link_open(Kernel& kernel, OpenCall& call) {
    call.server->open_calls.insert(call, call.server_node, call.id);
    call.holder->held.push_back(call, call.holder_link);
    if (call.endpoint != nullptr) {
        touch(kernel, *call.endpoint);
        call.endpoint->open.push_back(call, call.endpoint_link);
    }
    if (call.caller != nullptr) call.stamp->taken_under.push_back(call, call.stamp_link);
}

[[gnu::always_inline]] inline void unlink_open(Kernel& kernel, OpenCall& call) {
    call.server->open_calls.remove(call.server_node);
    call.holder->held.remove(call.holder_link);
    if (call.endpoint != nullptr) {
        touch(kernel, *call.endpoint);
        call.endpoint->open.remove(call.endpoint_link);
    }
    if (call.stamp_link.linked()) call.stamp->taken_under.remove(call.stamp_link);
    if (call.report_link.linked()) call.holder->reports.remove(call.report_link);
}

// The call is over for its server: its lend goes back or is freed, it no longer counts, and the
// receiver's budget gets its page back. An abandoned one lies in a frame of its own.
void close_open(Kernel& kernel, Hart& self, OpenCall& call) {
    if (call.lent.count != 0) give_back(kernel, self, call);
    unlink_open(kernel, call);
    call.server->open_count -= 1;
    uncharge(*call.server->budget, 1);
    bool own_frame = call.caller == nullptr;
    call.id = 0;
    if (own_frame) kernel.frames.give(kernel.port.frame_number(&call));
}

void report(Thread& holder, OpenCall& call) {
    finish_receive(holder.context, Status::ok, static_cast<Word>(Received::abandoned));
    write_pair(holder.context, abi::kMessageRegister, call.id);
    call.reported = true;
    holder.current = 0;
}

// The caller of a taken call is gone or has given up: the call stays open for its server in a frame
// that its charge has reserved, with what was lent, and the holder is told once. Says what became of
// the lend.
[[gnu::noinline]] abi::Lend abandon(Kernel& kernel, Hart& self, OpenCall& call) {
    abi::Lend lend = leave_behind(kernel, self, call);
    FrameNumber frame = kernel.frames.take(kernel.port);
    RAVELIN_ASSERT(frame != FrameNumber{});
    auto& kept = *new (kernel.port.frame_pointer(frame)) OpenCall;
    unlink_open(kernel, call);
    kept.id = call.id;
    kept.server = call.server;
    kept.holder = call.holder;
    kept.endpoint = call.endpoint;
    kept.account = call.account;
    kept.labels = budget_of_thread(*call.caller).labels;
    kept.lent = call.lent;
    kept.borrowed = call.borrowed;
    call.id = 0;
    call.lent.count = 0;
    link_open(kernel, kept);
    Thread& holder = *kept.holder;
    if (kept.endpoint == nullptr) return lend;
    if (holder.wait.kind == WaitKind::receive && holder.wait.endpoint == kept.endpoint) {
        end_wait(kernel, holder);
        report(holder, kept);
        sched::make_ready(kernel, self, holder);
    } else {
        holder.reports.push_back(kept, kept.report_link);
    }
    return lend;
}

// Whether the receiver can take the sender's message now, and what that would do to it.
[[gnu::always_inline]] inline Take can_take(Kernel& kernel, Hart& self, Thread& receiver,
                                            Thread& sender, WaitKind kind, Landing& landing) {
    bool call = kind == WaitKind::call;
    if (call && receiver.process->open_count >= abi::kMaxOpenCalls) return Take::full;
    const Budget& to = budget_of_thread(receiver);
    const Budget& from = budget_of_thread(sender);
    if (!may_send(from, to, call)) return Take::denied;
    landing.pages = 0;
    if (sender.wait.cargo || !from.labels.empty()) {
        Take take = can_land(kernel, self, receiver, sender, landing);
        if (take != Take::can) return take;
    }
    return to.free_pages() < landing.pages + (call ? 1u : 0u) ? Take::refused : Take::can;
}

Status status_of(Take take) {
    return take == Take::denied ? Status::label_denied : Status::refused;
}

// Brings a message to a receiver's registers. Both are in no list; the sender of a call goes on to
// wait for the reply.
void hand_over(Kernel& kernel, Hart& self, Thread& receiver, Thread& sender, WaitKind kind,
               const Landing& landing) {
    bool call = kind == WaitKind::call;
    const Budget& from = budget_of_thread(sender);
    receiver.current = 0;
    u64 id = 0;
    OpenCall* taken = nullptr;
    if (call) {
        Process& server = *receiver.process;
        OpenCall& open = sender.open;
        id = open.id = ++server.last_message;
        open.caller = &sender;
        open.server = &server;
        open.holder = &receiver;
        open.endpoint = sender.wait.endpoint;
        open.stamp = sender.wait.stamp;
        open.account = from.account;
        open.reported = false;
        open.lent.count = 0;
        link_open(kernel, open);
        server.open_count += 1;
        charge(*server.budget, 1);
        receiver.current = id;
        taken = &open;
        sender.wait.kind = WaitKind::reply;
    }
    Word brought = 0;
    if (sender.wait.cargo || !from.labels.empty())
        brought = land(kernel, self, receiver, sender, landing, taken);
    finish_receive(receiver.context, Status::ok,
                   static_cast<Word>(call ? Received::call : Received::send), brought);
    copy_words(receiver.context, sender.context);
    write_pair(receiver.context, abi::kBadgeRegister, sender.wait.badge);
    write_pair(receiver.context, abi::kAccountRegister, from.account);
    write_pair(receiver.context, abi::kMessageRegister, id);
    kernel.port.work(self.index, Work::call, 1);
}

// Whether an ended process's notice may go to a budget (R1).
bool tellable(const Process& ended, const Budget& to) {
    return ended.labels.empty() || ended.trusted || to.budget_class == BudgetClass::system ||
           ended.labels.within(to.labels);
}

// An exit notice in a receiver's registers; the process object is free afterwards. The receiver's
// record is good.
void hand_notice(Kernel& kernel, Hart& self, Thread& receiver, Process& ended) {
    Word brought = tell_labels(kernel, self, receiver, ended.blamed_labels);
    finish_receive(receiver.context, Status::ok, static_cast<Word>(Received::exit), brought);
    write_pair(receiver.context, abi::kWordRegister, ended.pid);
    write_pair(receiver.context, abi::kWordRegister + 2, static_cast<u64>(ended.cause));
    write_pair(receiver.context, abi::kWordRegister + 4, ended.exit_code);
    write_pair(receiver.context, abi::kWordRegister + 6, 0);
    write_pair(receiver.context, abi::kBadgeRegister, 0);
    write_pair(receiver.context, abi::kMessageRegister, 0);
    write_pair(receiver.context, abi::kAccountRegister, ended.blamed);
    receiver.current = 0;
    free_process(kernel, self, ended);
}

bool notice_fits(Kernel& kernel, Hart& self, Thread& receiver, const Process& ended) {
    return ended.blamed_labels.empty() || record_good(kernel, self, receiver);
}

// Ends the receiver's call in its registers with what is due at the endpoint for it, in order: its
// abandoned calls, exit notices, messages. False: nothing is.
bool deliver(Kernel& kernel, Hart& self, Thread& receiver, Endpoint& endpoint) {
    for (OpenCall* call = receiver.reports.first(); call != nullptr;
         call = receiver.reports.after(call->report_link)) {
        if (call->endpoint != &endpoint) continue;
        receiver.reports.remove(call->report_link);
        report(receiver, *call);
        return true;
    }
    while (Process* ended = endpoint.notices.first()) {
        bool told = tellable(*ended, budget_of_thread(receiver));
        if (told && !notice_fits(kernel, self, receiver, *ended)) {
            finish_receive(receiver.context, Status::invalid_argument);
            return true;
        }
        touch(kernel, endpoint);
        endpoint.notices.remove(ended->exit_link);
        ended->exit_endpoint = nullptr;
        if (told) {
            hand_notice(kernel, self, receiver, *ended);
            return true;
        }
        free_process(kernel, self, *ended);
    }
    bool full = receiver.process->open_count >= abi::kMaxOpenCalls;
    while (Thread* sender = next(endpoint, full)) {
        WaitKind kind = sender->wait.kind;
        Landing landing;
        Take take = can_take(kernel, self, receiver, *sender, kind, landing);
        if (take == Take::bad_record) {
            finish_receive(receiver.context, Status::invalid_argument);
            return true;
        }
        serve_group(*sender);
        touch(kernel, endpoint);
        sender->wait.stamp->queued_under.remove(sender->wait.stamp_link);
        sender->wait.kind = WaitKind::none;
        if (take != Take::can) {
            fail(kernel, self, *sender, status_of(take), abi::Lend::none);
            continue;
        }
        hand_over(kernel, self, receiver, *sender, kind, landing);
        if (kind == WaitKind::send) {
            finish(sender->context, Status::ok);
            sched::make_ready(kernel, self, *sender);
        }
        return true;
    }
    return false;
}

// The process had as many calls open as it may, and has fewer now: its waiting threads take what they
// could not.
[[gnu::noinline]] void pump(Kernel& kernel, Hart& self, Process& process) {
    if (process.state != ProcessState::running) return;
    for (u32 tid = 1; tid <= abi::kMaxThreads; ++tid) {
        Thread* thread = process.threads[tid];
        if (thread == nullptr || thread->wait.kind != WaitKind::receive) continue;
        if (process.open_count >= abi::kMaxOpenCalls) return;
        Endpoint& endpoint = *thread->wait.endpoint;
        if (!deliver(kernel, self, *thread, endpoint)) continue;
        end_wait(kernel, *thread);
        sched::make_ready(kernel, self, *thread);
    }
}

}  // namespace

namespace {

// Reads what a message carries beside words and loads it, if the message may be sent at all.
[[gnu::noinline]] Status send_cargo(Kernel& kernel, Hart& self, Thread& thread, bool call) {
    Handles handles;
    PageRun run;
    Status status = read_cargo(kernel, self, thread, call, handles, run);
    if (status != Status::ok) return status;
    if (!may_send(budget_of_thread(thread), *thread.wait.endpoint->owner, call))
        return Status::label_denied;
    if (handles.count != 0 || run.count != 0) load(kernel, self, thread, handles, run);
    return Status::ok;
}

}  // namespace

void send(Kernel& kernel, Hart& self, Thread& thread, bool wants_reply) {
    HandleSlot* slot = find_handle(*thread.process, thread.context.reg(1));
    if (slot == nullptr) return finish(thread.context, Status::bad_handle);
    if (slot->object->kind != ObjectKind::endpoint)
        return finish(thread.context, Status::wrong_object);
    auto& endpoint = *reinterpret_cast<Endpoint*>(slot->object);
    Wait& wait = thread.wait;
    wait.endpoint = &endpoint;
    wait.stamp = slot->stamp;
    wait.badge = slot->badge;
    wait.cargo = false;
    WaitKind kind = wants_reply ? WaitKind::call : WaitKind::send;
    if ((thread.context.reg(4) | thread.context.reg(5) | thread.context.reg(6)) != 0) {
        Status status = send_cargo(kernel, self, thread, wants_reply);
        if (status != Status::ok) return finish(thread.context, status);
    } else if (!may_send(budget_of_thread(thread), *endpoint.owner, wants_reply)) {
        return finish(thread.context, Status::label_denied);
    }
    bool poll = false;
    Ticks until = until_of(kernel, self, thread, poll);
    wait.kind = kind;
    Thread* next_receiver = nullptr;
    for (Thread* receiver = endpoint.receivers.first(); receiver != nullptr;
         receiver = next_receiver) {
        next_receiver = endpoint.receivers.after(receiver->wait.link);
        Landing landing;
        Take take = can_take(kernel, self, *receiver, thread, kind, landing);
        if (take == Take::full) continue;
        if (take == Take::bad_record) {
            end_receive(kernel, self, *receiver, Status::invalid_argument);
            continue;
        }
        if (take != Take::can) return refuse(kernel, self, thread, status_of(take));
        end_wait(kernel, *receiver);
        hand_over(kernel, self, *receiver, thread, kind, landing);
        sched::make_ready(kernel, self, *receiver);
        if (wants_reply) return block(kernel, self, thread, WaitKind::reply, until);
        wait.kind = WaitKind::none;
        return finish(thread.context, Status::ok);
    }
    if (poll) return refuse(kernel, self, thread, Status::timeout);
    touch(kernel, endpoint);
    if (!enqueue(kernel, thread)) return refuse(kernel, self, thread, Status::busy);
    wait.stamp->queued_under.push_back(thread, wait.stamp_link);
    block(kernel, self, thread, kind, until);
}

namespace {

// R5: the source is unmasked, then what fired before is taken, then the thread waits.
void receive_interrupt(Kernel& kernel, Hart& self, Thread& thread, Device& device, bool poll,
                       Ticks until) {
    kernel.port.set_enabled(self.index, device.fact.source, true);
    thread.current = 0;
    if (device.fired) {
        device.fired = false;
        return finish_receive(thread.context, Status::ok, static_cast<Word>(Received::interrupt));
    }
    if (poll) return finish_receive(thread.context, Status::timeout);
    thread.wait.device = &device;
    device.waiters.push_back(thread, thread.wait.link);
    block(kernel, self, thread, WaitKind::interrupt, until);
}

// `replied` is what register 3 will say of a reply before it.
void receive_after(Kernel& kernel, Hart& self, Thread& thread, Word replied) {
    Port::Context& context = thread.context;
    Word handle = context.reg(1);
    bool poll = false;
    Ticks until = until_of(kernel, self, thread, poll);
    context.set_reg(3, replied);
    if (handle == 0) {
        thread.current = 0;
        if (poll) return finish_receive(context, Status::timeout);
        return block(kernel, self, thread, WaitKind::sleep, until);
    }
    HandleSlot* slot = find_handle(*thread.process, handle);
    if (slot == nullptr) return finish_receive(context, Status::bad_handle);
    Device* interrupt = nullptr;
    if (slot->object->kind == ObjectKind::device) {
        auto& device = *reinterpret_cast<Device*>(slot->object);
        if (device.fact.kind == DeviceKind::interrupt) interrupt = &device;
    }
    if (slot->object->kind != ObjectKind::endpoint && interrupt == nullptr)
        return finish_receive(context, Status::wrong_object);
    if (context.reg(4) != 0 && !record_good(kernel, self, thread))
        return finish_receive(context, Status::invalid_argument);
    if (interrupt != nullptr)
        return receive_interrupt(kernel, self, thread, *interrupt, poll, until);
    if (slot->badge != 0) return finish_receive(context, Status::not_permitted);
    auto& endpoint = *reinterpret_cast<Endpoint*>(slot->object);
    if (deliver(kernel, self, thread, endpoint)) return;
    thread.current = 0;
    if (poll) return finish_receive(context, Status::timeout);
    thread.wait.endpoint = &endpoint;
    touch(kernel, endpoint);
    endpoint.receivers.push_back(thread, thread.wait.link);
    block(kernel, self, thread, WaitKind::receive, until);
}

}  // namespace

void receive(Kernel& kernel, Hart& self, Thread& thread) {
    receive_after(kernel, self, thread, 0);
}

OpenCall* find_open(Process& process, u64 id) {
    return process.open_calls.find(id);
}

namespace {

// Answers the open call named in the thread's registers, with the handles of the body record at
// `record`. `outcome` and `mask` are what a reply gives. Not ok: nothing happened.
Status answer(Kernel& kernel, Hart& self, Thread& thread, Word record, abi::Reply& outcome,
              u32& mask) {
    Handles handles;
    if (record != 0) {
        Status status = read_handles(kernel, self, thread, record, false, handles);
        if (status != Status::ok) return status;
    }
    Process& process = *thread.process;
    OpenCall* call = find_open(process, read_pair(thread.context, abi::kMessageRegister));
    if (call == nullptr) return Status::invalid_argument;
    Thread* caller = call->caller;
    bool lent = call->lent.count != 0;
    bool was_full = process.open_count == abi::kMaxOpenCalls;
    outcome = caller == nullptr ? abi::Reply::discarded : abi::Reply::delivered;
    close_open(kernel, self, *call);
    if (caller != nullptr) {
        const Word lend = static_cast<Word>(lent ? abi::Lend::returned : abi::Lend::none);
        end_wait(kernel, *caller);
        if (handles.count != 0 && !deliver_handles(kernel, self, *caller, handles, mask)) {
            outcome = abi::Reply::discarded;
            finish(caller->context, Status::invalid_argument, lend);
        } else {
            const u32 all = (u32{1} << handles.count) - 1;
            const bool told = caller->context.reg(4) != 0;
            copy_words(caller->context, thread.context);
            finish(caller->context, mask == all ? Status::ok : Status::out_of_memory, lend, 1,
                   told ? handles.count : 0);
        }
        sched::make_ready(kernel, self, *caller);
    }
    if (was_full) pump(kernel, self, process);
    kernel.port.work(self.index, Work::call, 1);
    return Status::ok;
}

}  // namespace

void reply(Kernel& kernel, Hart& self, Thread& thread) {
    abi::Reply outcome{};
    u32 mask = 0;
    Status status = answer(kernel, self, thread, thread.context.reg(1), outcome, mask);
    finish(thread.context, status, static_cast<Word>(outcome), mask);
}

void reply_receive(Kernel& kernel, Hart& self, Thread& thread) {
    abi::Reply outcome{};
    u32 mask = 0;
    Status status = answer(kernel, self, thread, thread.context.reg(6), outcome, mask);
    if (status != Status::ok) return finish(thread.context, status);
    receive_after(kernel, self, thread,
                  static_cast<Word>(outcome) | Word{mask} << abi::kReplyMaskShift);
}

void serve(Thread& thread) {
    OpenCall* call = find_open(*thread.process, read_pair(thread.context, abi::kMessageRegister));
    if (call == nullptr) return finish(thread.context, Status::invalid_argument);
    thread.current = call->id;
    finish(thread.context, Status::ok);
}

void time_out(Kernel& kernel, Hart& self, Thread& thread) {
    switch (thread.wait.kind) {
    case WaitKind::send:
    case WaitKind::call: return fail(kernel, self, thread, Status::timeout, abi::Lend::none);
    case WaitKind::reply: {
        abi::Lend lend = abandon(kernel, self, thread.open);
        return fail(kernel, self, thread, Status::timeout, lend);
    }
    case WaitKind::none:
    case WaitKind::sleep:
    case WaitKind::receive:
    case WaitKind::interrupt: return end_receive(kernel, self, thread, Status::timeout);
    }
}

void thread_ends(Kernel& kernel, Hart& self, Thread& thread) {
    if (thread.wait.kind == WaitKind::reply) abandon(kernel, self, thread.open);
    end_wait(kernel, thread);
    unload(kernel, self, thread);
    Process& process = *thread.process;
    bool was_full = process.open_count == abi::kMaxOpenCalls;
    while (OpenCall* call = thread.held.first()) {
        Thread* caller = call->caller;
        abi::Lend lend = call->lent.count != 0 ? abi::Lend::returned : abi::Lend::none;
        close_open(kernel, self, *call);
        if (caller != nullptr) fail(kernel, self, *caller, Status::dead, lend);
    }
    if (was_full) pump(kernel, self, process);
}

bool give_notice(Kernel& kernel, Hart& self, Process& process) {
    Endpoint* endpoint = process.exit_endpoint;
    if (endpoint == nullptr) return false;
    touch(kernel, *endpoint);
    endpoint->exits_here.remove(process.exit_link);
    while (Thread* receiver = endpoint->receivers.first()) {
        if (!tellable(process, budget_of_thread(*receiver))) {
            process.exit_endpoint = nullptr;
            return false;
        }
        if (!notice_fits(kernel, self, *receiver, process)) {
            end_receive(kernel, self, *receiver, Status::invalid_argument);
            continue;
        }
        process.exit_endpoint = nullptr;
        end_wait(kernel, *receiver);
        sched::make_ready(kernel, self, *receiver);
        hand_notice(kernel, self, *receiver, process);
        return true;
    }
    endpoint->notices.push_back(process, process.exit_link);
    return true;
}

void fire(Kernel& kernel, Hart& self, Device& device) {
    Thread* waiter = device.waiters.first();
    if (waiter == nullptr) {
        device.fired = true;
    } else {
        end_receive(kernel, self, *waiter, Status::ok, Received::interrupt);
    }
}

void device_dies(Kernel& kernel, Hart& self, Device& device) {
    while (Thread* waiter = device.waiters.first())
        end_receive(kernel, self, *waiter, Status::dead);
}

void endpoint_dies(Kernel& kernel, Hart& self, Endpoint& endpoint) {
    while (Thread* receiver = endpoint.receivers.first())
        end_receive(kernel, self, *receiver, Status::dead);
    while (Thread* sender = next(endpoint, false))
        fail(kernel, self, *sender, Status::dead, abi::Lend::none);
    while (OpenCall* call = endpoint.open.first()) {
        endpoint.open.remove(call->endpoint_link);
        call->endpoint = nullptr;
        if (call->report_link.linked()) call->holder->reports.remove(call->report_link);
        Thread* caller = call->caller;
        if (caller == nullptr) continue;
        abi::Lend lend = abandon(kernel, self, *call);
        fail(kernel, self, *caller, Status::dead, lend);
    }
    while (Process* process = endpoint.exits_here.first()) {
        endpoint.exits_here.remove(process->exit_link);
        process->exit_endpoint = nullptr;
    }
    while (Process* process = endpoint.notices.first()) {
        endpoint.notices.remove(process->exit_link);
        process->exit_endpoint = nullptr;
        free_process(kernel, self, *process);
    }
#if RAVELIN_CHECKED
    if (endpoint.audit_link.linked()) kernel.touched.remove(endpoint.audit_link);
#endif
}

void stamp_dies(Kernel& kernel, Hart& self, Budget& stamp) {
    while (Thread* sender = stamp.queued_under.first())
        fail(kernel, self, *sender, Status::dead, abi::Lend::none);
    while (OpenCall* call = stamp.taken_under.first()) {
        Thread* caller = call->caller;
        abi::Lend lend = abandon(kernel, self, *call);
        fail(kernel, self, *caller, Status::dead, lend);
    }
}

#if RAVELIN_CHECKED
void audit_touched(Kernel& kernel) {
    constexpr u32 kMost = 64;
    while (Endpoint* endpoint = kernel.touched.first()) {
        kernel.touched.remove(endpoint->audit_link);
        audit(*endpoint, kMost);
    }
}
#endif

}  // namespace ravelin::ipc
