// Messages between threads; see ipc.h.
#include "core/ipc/ipc.h"

#include <new>

#include "core/assert.h"
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

// Takes a waiting thread out of whatever list its wait is on. Its timeout's item stays behind,
// stale.
void end_wait(Thread& thread) {
    Wait& wait = thread.wait;
    switch (wait.kind) {
    case WaitKind::receive: wait.endpoint->receivers.remove(wait.link); break;
    case WaitKind::send:
    case WaitKind::call:
        wait.endpoint->senders.remove(wait.link);
        wait.stamp->queued_under.remove(wait.stamp_link);
        break;
    case WaitKind::interrupt: wait.device->waiters.remove(wait.link); break;
    case WaitKind::none:
    case WaitKind::sleep:
    case WaitKind::reply: break;
    }
    wait.kind = WaitKind::none;
}

void resume(Kernel& kernel, Hart& self, Thread& thread, Status status, Word first = 0,
            Word second = 0) {
    end_wait(thread);
    finish(thread.context, status, first, second);
    sched::make_ready(kernel, self, thread);
}

// What `call` returns beside its status: no lend was made, and no reply came.
void fail(Kernel& kernel, Hart& self, Thread& thread, Status status) {
    resume(kernel, self, thread, status);
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

void link_open(OpenCall& call) {
    call.server->open_calls.push_front(call, call.server_link);
    call.holder->held.push_back(call, call.holder_link);
    if (call.endpoint != nullptr) call.endpoint->open.push_back(call, call.endpoint_link);
    if (call.caller != nullptr) call.stamp->taken_under.push_back(call, call.stamp_link);
}

void unlink_open(OpenCall& call) {
    call.server->open_calls.remove(call.server_link);
    call.holder->held.remove(call.holder_link);
    if (call.endpoint != nullptr) call.endpoint->open.remove(call.endpoint_link);
    if (call.stamp_link.linked()) call.stamp->taken_under.remove(call.stamp_link);
    if (call.report_link.linked()) call.holder->reports.remove(call.report_link);
    if (call.holder->current == &call) call.holder->current = nullptr;
}

// The call is over for its server: it no longer counts, and the receiver's budget gets its page
// back. An abandoned one lies in a frame of its own.
void close_open(Kernel& kernel, OpenCall& call) {
    unlink_open(call);
    call.server->open_count -= 1;
    uncharge(*call.server->budget, 1);
    bool own_frame = call.caller == nullptr;
    call.id = 0;
    if (own_frame) kernel.frames.give(kernel.port.frame_number(&call));
}

void report(Thread& holder, OpenCall& call) {
    finish(holder.context, Status::ok, static_cast<Word>(Received::abandoned));
    write_pair(holder.context, abi::kMessageRegister, call.id);
    call.reported = true;
    holder.current = nullptr;
}

// The caller of a taken call is gone or has given up: the call stays open for its server in a frame
// that its charge has reserved, and the holder is told once.
void abandon(Kernel& kernel, Hart& self, OpenCall& call) {
    FrameNumber frame = kernel.frames.take(kernel.port);
    RAVELIN_ASSERT(frame != FrameNumber{});
    auto& kept = *new (kernel.port.frame_pointer(frame)) OpenCall;
    bool current = call.holder->current == &call;
    unlink_open(call);
    kept.id = call.id;
    kept.server = call.server;
    kept.holder = call.holder;
    kept.endpoint = call.endpoint;
    kept.account = call.account;
    call.id = 0;
    link_open(kept);
    Thread& holder = *kept.holder;
    if (current) holder.current = &kept;
    if (kept.endpoint == nullptr) return;
    if (holder.wait.kind == WaitKind::receive && holder.wait.endpoint == kept.endpoint) {
        end_wait(holder);
        report(holder, kept);
        sched::make_ready(kernel, self, holder);
    } else {
        holder.reports.push_back(kept, kept.report_link);
    }
}

// Why a receiver cannot take a call now.
enum class Take : u8 { can, full, cannot_pay };

Take can_take(const Thread& receiver, const Thread& sender) {
    if (sender.wait.kind != WaitKind::call) return Take::can;
    if (receiver.process->open_count >= abi::kMaxOpenCalls) return Take::full;
    return budget_of_thread(receiver).free_pages() == 0 ? Take::cannot_pay : Take::can;
}

// Brings a message to a receiver's registers. Both are in no list; the sender of a call goes on to
// wait for the reply.
void hand_over(Kernel& kernel, Hart& self, Thread& receiver, Thread& sender, WaitKind kind) {
    bool call = kind == WaitKind::call;
    finish(receiver.context, Status::ok, static_cast<Word>(call ? Received::call : Received::send));
    copy_words(receiver.context, sender.context);
    write_pair(receiver.context, abi::kBadgeRegister, sender.wait.badge);
    write_pair(receiver.context, abi::kAccountRegister, budget_of_thread(sender).account);
    receiver.current = nullptr;
    u64 id = 0;
    if (call) {
        Process& server = *receiver.process;
        OpenCall& open = sender.open;
        id = open.id = ++server.last_message;
        open.caller = &sender;
        open.server = &server;
        open.holder = &receiver;
        open.endpoint = sender.wait.endpoint;
        open.stamp = sender.wait.stamp;
        open.account = budget_of_thread(sender).account;
        open.reported = false;
        link_open(open);
        server.open_count += 1;
        charge(*server.budget, 1);
        receiver.current = &open;
        sender.wait.kind = WaitKind::reply;
    }
    write_pair(receiver.context, abi::kMessageRegister, id);
    kernel.port.work(self.index, Work::call, 1);
}

// An exit notice in a receiver's registers; the process object is free afterwards.
void hand_notice(Kernel& kernel, Hart& self, Thread& receiver, Process& ended) {
    finish(receiver.context, Status::ok, static_cast<Word>(Received::exit));
    write_pair(receiver.context, abi::kWordRegister, ended.pid);
    write_pair(receiver.context, abi::kWordRegister + 2, static_cast<u64>(ended.cause));
    write_pair(receiver.context, abi::kWordRegister + 4, ended.exit_code);
    write_pair(receiver.context, abi::kWordRegister + 6, 0);
    write_pair(receiver.context, abi::kBadgeRegister, 0);
    write_pair(receiver.context, abi::kMessageRegister, 0);
    write_pair(receiver.context, abi::kAccountRegister, ended.blamed);
    receiver.current = nullptr;
    free_process(kernel, self, ended);
}

// What is due at the endpoint for this thread, in order: its abandoned calls, exit notices,
// messages. False: nothing.
bool deliver(Kernel& kernel, Hart& self, Thread& receiver, Endpoint& endpoint) {
    for (OpenCall* call = receiver.reports.first(); call != nullptr;
         call = receiver.reports.after(call->report_link)) {
        if (call->endpoint != &endpoint) continue;
        receiver.reports.remove(call->report_link);
        report(receiver, *call);
        return true;
    }
    if (Process* ended = endpoint.notices.first()) {
        endpoint.notices.remove(ended->exit_link);
        ended->exit_endpoint = nullptr;
        hand_notice(kernel, self, receiver, *ended);
        return true;
    }
    Thread* next = nullptr;
    for (Thread* sender = endpoint.senders.first(); sender != nullptr; sender = next) {
        next = endpoint.senders.after(sender->wait.link);
        Take take = can_take(receiver, *sender);
        if (take == Take::full) continue;
        if (take == Take::cannot_pay) {
            fail(kernel, self, *sender, Status::refused);
            continue;
        }
        WaitKind kind = sender->wait.kind;
        end_wait(*sender);
        hand_over(kernel, self, receiver, *sender, kind);
        if (kind == WaitKind::send) {
            finish(sender->context, Status::ok);
            sched::make_ready(kernel, self, *sender);
        }
        return true;
    }
    return false;
}

}  // namespace

void send(Kernel& kernel, Hart& self, Thread& thread, bool wants_reply) {
    HandleSlot* slot = find_handle(*thread.process, thread.context.reg(1));
    if (slot == nullptr) return finish(thread.context, Status::bad_handle);
    if (slot->object->kind != ObjectKind::endpoint)
        return finish(thread.context, Status::wrong_object);
    for (unsigned place = 4; place < 7; ++place) {
        if (thread.context.reg(place) != 0) return finish(thread.context, Status::invalid_argument);
    }
    bool poll = false;
    Ticks until = until_of(kernel, self, thread, poll);
    auto& endpoint = *reinterpret_cast<Endpoint*>(slot->object);
    WaitKind kind = wants_reply ? WaitKind::call : WaitKind::send;
    Wait& wait = thread.wait;
    wait.endpoint = &endpoint;
    wait.stamp = slot->stamp;
    wait.badge = slot->badge;
    wait.kind = kind;
    Thread* next = nullptr;
    for (Thread* receiver = endpoint.receivers.first(); receiver != nullptr; receiver = next) {
        next = endpoint.receivers.after(receiver->wait.link);
        Take take = can_take(*receiver, thread);
        if (take == Take::full) continue;
        if (take == Take::cannot_pay) {
            wait.kind = WaitKind::none;
            return finish(thread.context, Status::refused);
        }
        end_wait(*receiver);
        hand_over(kernel, self, *receiver, thread, kind);
        sched::make_ready(kernel, self, *receiver);
        if (wants_reply) return block(kernel, self, thread, WaitKind::reply, until);
        wait.kind = WaitKind::none;
        return finish(thread.context, Status::ok);
    }
    if (poll) {
        wait.kind = WaitKind::none;
        return finish(thread.context, Status::timeout);
    }
    endpoint.senders.push_back(thread, wait.link);
    wait.stamp->queued_under.push_back(thread, wait.stamp_link);
    block(kernel, self, thread, kind, until);
}

namespace {

// R5: the source is unmasked, then what fired before is taken, then the thread waits.
void receive_interrupt(Kernel& kernel, Hart& self, Thread& thread, Device& device, bool poll,
                       Ticks until) {
    kernel.port.set_enabled(self.index, device.fact.source, true);
    thread.current = nullptr;
    if (device.fired) {
        device.fired = false;
        return finish(thread.context, Status::ok, static_cast<Word>(Received::interrupt));
    }
    if (poll) return finish(thread.context, Status::timeout);
    thread.wait.device = &device;
    device.waiters.push_back(thread, thread.wait.link);
    block(kernel, self, thread, WaitKind::interrupt, until);
}

}  // namespace

void receive(Kernel& kernel, Hart& self, Thread& thread) {
    Word handle = thread.context.reg(1);
    bool poll = false;
    Ticks until = until_of(kernel, self, thread, poll);
    if (handle == 0) {
        if (poll) return finish(thread.context, Status::timeout);
        thread.current = nullptr;
        return block(kernel, self, thread, WaitKind::sleep, until);
    }
    HandleSlot* slot = find_handle(*thread.process, handle);
    if (slot == nullptr) return finish(thread.context, Status::bad_handle);
    Device* interrupt = nullptr;
    if (slot->object->kind == ObjectKind::device) {
        auto& device = *reinterpret_cast<Device*>(slot->object);
        if (device.fact.kind == DeviceKind::interrupt) interrupt = &device;
    }
    if (slot->object->kind != ObjectKind::endpoint && interrupt == nullptr)
        return finish(thread.context, Status::wrong_object);
    if (thread.context.reg(4) != 0 || thread.context.reg(5) != 0)
        return finish(thread.context, Status::invalid_argument);
    if (interrupt != nullptr)
        return receive_interrupt(kernel, self, thread, *interrupt, poll, until);
    if (slot->badge != 0) return finish(thread.context, Status::not_permitted);
    auto& endpoint = *reinterpret_cast<Endpoint*>(slot->object);
    if (deliver(kernel, self, thread, endpoint)) return;
    thread.current = nullptr;
    if (poll) return finish(thread.context, Status::timeout);
    thread.wait.endpoint = &endpoint;
    endpoint.receivers.push_back(thread, thread.wait.link);
    block(kernel, self, thread, WaitKind::receive, until);
}

namespace {

OpenCall* find_open(Process& process, u64 id) {
    if (id == 0) return nullptr;
    for (OpenCall* call = process.open_calls.first(); call != nullptr;
         call = process.open_calls.after(call->server_link)) {
        if (call->id == id) return call;
    }
    return nullptr;
}

// Answers the open call named in the thread's registers. False: there is none, and nothing
// happened.
bool answer(Kernel& kernel, Hart& self, Thread& thread, abi::Reply& outcome) {
    OpenCall* call = find_open(*thread.process, read_pair(thread.context, abi::kMessageRegister));
    if (call == nullptr) return false;
    Thread* caller = call->caller;
    outcome = caller == nullptr ? abi::Reply::discarded : abi::Reply::delivered;
    close_open(kernel, *call);
    if (caller != nullptr) {
        copy_words(caller->context, thread.context);
        resume(kernel, self, *caller, Status::ok, static_cast<Word>(abi::Lend::none), 1);
    }
    kernel.port.work(self.index, Work::call, 1);
    return true;
}

}  // namespace

void reply(Kernel& kernel, Hart& self, Thread& thread) {
    if (thread.context.reg(1) != 0) return finish(thread.context, Status::invalid_argument);
    abi::Reply outcome{};
    if (!answer(kernel, self, thread, outcome))
        return finish(thread.context, Status::invalid_argument);
    finish(thread.context, Status::ok, static_cast<Word>(outcome));
}

void reply_receive(Kernel& kernel, Hart& self, Thread& thread) {
    abi::Reply outcome{};
    if (!answer(kernel, self, thread, outcome))
        return finish(thread.context, Status::invalid_argument);
    receive(kernel, self, thread);
}

void serve(Thread& thread) {
    OpenCall* call = find_open(*thread.process, read_pair(thread.context, abi::kMessageRegister));
    if (call == nullptr) return finish(thread.context, Status::invalid_argument);
    thread.current = call;
    finish(thread.context, Status::ok);
}

void time_out(Kernel& kernel, Hart& self, Thread& thread) {
    if (thread.wait.kind == WaitKind::reply) abandon(kernel, self, thread.open);
    resume(kernel, self, thread, Status::timeout);
}

void thread_ends(Kernel& kernel, Hart& self, Thread& thread) {
    if (thread.wait.kind == WaitKind::reply) abandon(kernel, self, thread.open);
    end_wait(thread);
    while (OpenCall* call = thread.held.first()) {
        Thread* caller = call->caller;
        close_open(kernel, *call);
        if (caller != nullptr) fail(kernel, self, *caller, Status::dead);
    }
}

bool give_notice(Kernel& kernel, Hart& self, Process& process) {
    Endpoint* endpoint = process.exit_endpoint;
    if (endpoint == nullptr) return false;
    endpoint->exits_here.remove(process.exit_link);
    if (Thread* receiver = endpoint->receivers.first()) {
        process.exit_endpoint = nullptr;
        end_wait(*receiver);
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
        resume(kernel, self, *waiter, Status::ok, static_cast<Word>(Received::interrupt));
    }
}

void device_dies(Kernel& kernel, Hart& self, Device& device) {
    while (Thread* waiter = device.waiters.first())
        resume(kernel, self, *waiter, Status::dead);
}

void endpoint_dies(Kernel& kernel, Hart& self, Endpoint& endpoint) {
    while (Thread* receiver = endpoint.receivers.first())
        resume(kernel, self, *receiver, Status::dead);
    while (Thread* sender = endpoint.senders.first())
        fail(kernel, self, *sender, Status::dead);
    while (OpenCall* call = endpoint.open.first()) {
        endpoint.open.remove(call->endpoint_link);
        call->endpoint = nullptr;
        if (call->report_link.linked()) call->holder->reports.remove(call->report_link);
        Thread* caller = call->caller;
        if (caller == nullptr) continue;
        abandon(kernel, self, *call);
        fail(kernel, self, *caller, Status::dead);
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
}

void stamp_dies(Kernel& kernel, Hart& self, Budget& stamp) {
    while (Thread* sender = stamp.queued_under.first())
        fail(kernel, self, *sender, Status::dead);
    while (OpenCall* call = stamp.taken_under.first()) {
        Thread* caller = call->caller;
        abandon(kernel, self, *call);
        fail(kernel, self, *caller, Status::dead);
    }
}

}  // namespace ravelin::ipc
