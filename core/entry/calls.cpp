// The call table; see calls.h. Each function below is one call: its checks in the order of the
// rules, then its work.
#include "core/entry/calls.h"

#include "core/abi/records.h"
#include "core/entry/panic.h"
#include "core/ipc/ipc.h"
#include "core/object/create.h"
#include "core/object/destroy.h"
#include "core/object/device.h"
#include "core/object/handle.h"
#include "core/object/lifecycle.h"
#include "core/object/regs.h"
#include "core/object/shootdown.h"
#include "core/sched/sched.h"
#include "core/time/timers.h"

namespace ravelin {

using abi::Status;

namespace {

// The object of a kind that register `place` names; `status` says why there is none.
template <class T>
T* object_at(Thread& thread, unsigned place, ObjectKind kind, Status& status) {
    HandleSlot* slot = find_handle(*thread.process, thread.context.reg(place));
    if (slot == nullptr) {
        status = Status::bad_handle;
        return nullptr;
    }
    if (slot->object->kind != kind) {
        status = Status::wrong_object;
        return nullptr;
    }
    status = Status::ok;
    return reinterpret_cast<T*>(slot->object);
}

// The rights that register `place` asks for; bits past the register's low half make them unknown
// ones, which are refused.
u32 rights_at(const Thread& thread, unsigned place) {
    Word value = thread.context.reg(place);
    return value > ~u32{0} ? ~u32{0} : static_cast<u32>(value);
}

void map_anon(Kernel& kernel, Hart& self, Thread& thread) {
    Process& process = *thread.process;
    MemoryContext memory = memory_of(kernel, self, process);
    Flush flush;
    Word address = 0;
    Status status = map_anon(memory, thread.context.reg(1), rights_at(thread, 2), address, flush);
    apply(kernel, self, process, flush);
    finish(thread.context, status, address);
}

void map_fixed(Kernel& kernel, Hart& self, Thread& thread) {
    Process& process = *thread.process;
    MemoryContext memory = memory_of(kernel, self, process);
    Flush flush;
    Status status = map_fixed(memory, thread.context.reg(1), thread.context.reg(2),
                              rights_at(thread, 3), flush);
    apply(kernel, self, process, flush);
    finish(thread.context, status);
}

void unmap(Kernel& kernel, Hart& self, Thread& thread) {
    Process& process = *thread.process;
    MemoryContext memory = memory_of(kernel, self, process);
    Flush flush;
    Status status = unmap(memory, thread.context.reg(1), thread.context.reg(2), flush);
    apply(kernel, self, process, flush);
    finish(thread.context, status);
}

void set_flags(Kernel& kernel, Hart& self, Thread& thread) {
    Process& process = *thread.process;
    MemoryContext memory = memory_of(kernel, self, process);
    Flush flush;
    Status status = set_flags(memory, thread.context.reg(1), thread.context.reg(2),
                              rights_at(thread, 3), flush);
    apply(kernel, self, process, flush);
    finish(thread.context, status);
}

void map_device(Kernel& kernel, Hart& self, Thread& thread) {
    Status status{};
    auto* device = object_at<Device>(thread, 1, ObjectKind::device, status);
    if (device == nullptr) return finish(thread.context, status);
    const DeviceFact& fact = device->fact;
    if (fact.kind != DeviceKind::mmio) return finish(thread.context, Status::wrong_object);
    Process& process = *thread.process;
    MemoryContext memory = memory_of(kernel, self, process);
    Flush flush;
    Word address = 0;
    status = map_device(memory, {static_cast<u32>(fact.address / kPageSize)}, fact.pages, address,
                        flush);
    apply(kernel, self, process, flush);
    if (status != Status::ok) return finish(thread.context, status);
    finish(thread.context, status, address, Word{fact.pages} * kPageSize);
}

void device_info(Thread& thread) {
    Status status{};
    Port::Context& context = thread.context;
    auto* device = object_at<Device>(thread, 1, ObjectKind::device, status);
    if (device == nullptr) return finish(context, status);
    const DeviceFact& fact = device->fact;
    finish(context, Status::ok, static_cast<Word>(fact.kind), static_cast<Word>(fact.model));
    write_pair(context, 3, fact.kind == DeviceKind::interrupt ? fact.source : fact.address);
    context.set_reg(5, fact.pages);
}

void thread_create(Kernel& kernel, Hart& self, Thread& thread) {
    u32 tid = 0;
    Port::Context& context = thread.context;
    Status status = create_thread(kernel, self, *thread.process, context.reg(1), context.reg(2),
                                  context.reg(3), tid);
    finish(context, status, tid);
}

void process_create(Kernel& kernel, Hart& self, Thread& thread) {
    Status status{};
    Process& caller = *thread.process;
    auto* budget = object_at<Budget>(thread, 1, ObjectKind::budget, status);
    if (budget == nullptr) return finish(thread.context, status);
    Endpoint* exit_endpoint = nullptr;
    if (thread.context.reg(2) != 0) {
        exit_endpoint = object_at<Endpoint>(thread, 2, ObjectKind::endpoint, status);
        if (exit_endpoint == nullptr) return finish(thread.context, status);
        if (find_handle(caller, thread.context.reg(2))->badge != 0)
            return finish(thread.context, Status::not_permitted);
    }
    Process* made = nullptr;
    status = create_process(kernel, self, *caller.budget, *budget, exit_endpoint, made);
    if (status != Status::ok) return finish(thread.context, status);
    u32 handle = 0;
    status = install_handle(kernel, caller, made->head, *caller.budget, 0, handle);
    if (status != Status::ok) {
        if (exit_endpoint != nullptr) exit_endpoint->exits_here.remove(made->exit_link);
        made->exit_endpoint = nullptr;
        end_process(kernel, self, *made, abi::ExitCause::killed, 0);
    }
    finish(thread.context, status, handle);
}

void process_map(Kernel& kernel, Hart& self, Thread& thread) {
    Status status{};
    Port::Context& context = thread.context;
    auto* target = object_at<Process>(thread, 1, ObjectKind::process, status);
    if (target == nullptr) return finish(context, status);
    if (target->state != ProcessState::created) return finish(context, Status::invalid_argument);
    MemoryContext from = memory_of(kernel, self, *thread.process);
    MemoryContext to = memory_of(kernel, self, *target);
    Flush from_flush;
    Flush to_flush;
    status = move_pages(from, to, context.reg(2), context.reg(3), context.reg(4),
                        rights_at(thread, 5), from_flush, to_flush);
    apply(kernel, self, *thread.process, from_flush);
    apply(kernel, self, *target, to_flush);
    finish(context, status);
}

void process_start(Kernel& kernel, Hart& self, Thread& thread) {
    Status status{};
    Port::Context& context = thread.context;
    Process& caller = *thread.process;
    auto* target = object_at<Process>(thread, 1, ObjectKind::process, status);
    if (target == nullptr) return finish(context, status);
    Word count = context.reg(6);
    if (count > abi::kMaxStartHandles) return finish(context, Status::too_large);
    u64 handles[abi::kMaxStartHandles] = {};
    if (count != 0) {
        MemoryContext memory = memory_of(kernel, self, caller);
        status = copy_in(memory, handles, context.reg(5), static_cast<u32>(count) * 8);
        if (status != Status::ok) return finish(context, status);
    }
    for (Word place = 0; place < count; ++place) {
        if (handles[place] >= abi::kMaxHandles ||
            find_handle(caller, static_cast<Word>(handles[place])) == nullptr) {
            return finish(context, Status::bad_handle);
        }
    }
    if (target->state != ProcessState::created) return finish(context, Status::invalid_argument);
    for (Word place = 0; place < count && status == Status::ok; ++place) {
        HandleSlot& slot = *find_handle(caller, static_cast<Word>(handles[place]));
        u32 handle = 0;
        status = install_handle(kernel, *target, *slot.object, *slot.stamp, slot.badge, handle);
    }
    u32 tid = 0;
    if (status == Status::ok) {
        status = create_thread(kernel, self, *target, context.reg(2), context.reg(3),
                               context.reg(4), tid);
    }
    if (status == Status::ok) {
        target->state = ProcessState::running;
    } else {
        close_table(kernel, *target);
    }
    finish(context, status);
}

void endpoint_create(Kernel& kernel, Hart& self, Thread& thread) {
    Process& process = *thread.process;
    Endpoint* endpoint = nullptr;
    Status status = create_endpoint(kernel, self.index, *process.budget, endpoint);
    if (status != Status::ok) return finish(thread.context, status);
    u32 handle = 0;
    status = install_handle(kernel, process, endpoint->head, *process.budget, 0, handle);
    if (status != Status::ok) {
        process.budget->endpoints.remove(endpoint->owner_link);
        uncharge(*process.budget, 1);
        free_object(kernel, *endpoint);
    }
    finish(thread.context, status, handle);
}

// True if `budget` is `scope` or below it.
bool is_within(const Budget* budget, const Budget& scope) {
    while (budget != nullptr && budget != &scope)
        budget = budget->parent;
    return budget != nullptr;
}

// What a new handle is minted from: the endpoint, and the stamp that it gets or may be narrowed from.
struct Mint {
    Endpoint* endpoint = nullptr;
    Budget* stamp = nullptr;
};

// The open call that registers 2 and 3 name.
Status mint_of_message(Thread& thread, Mint& source) {
    OpenCall* call = ipc::find_open(*thread.process, read_pair(thread.context, 2));
    if (call == nullptr) return Status::invalid_argument;
    if (call->endpoint == nullptr || call->caller == nullptr) return Status::dead;
    source = {call->endpoint, call->stamp};
    return Status::ok;
}

// The endpoint handle in register 2; it receives, or it is not permitted.
Status mint_of_handle(Thread& thread, Mint& source, bool& receives) {
    Status status{};
    source.endpoint = object_at<Endpoint>(thread, 2, ObjectKind::endpoint, status);
    if (source.endpoint == nullptr) return status;
    const HandleSlot& slot = *find_handle(*thread.process, thread.context.reg(2));
    source.stamp = slot.stamp;
    receives = slot.badge == 0;
    return Status::ok;
}

void mint(Kernel& kernel, Thread& thread) {
    Port::Context& context = thread.context;
    Word tag = context.reg(1);
    bool of_message = tag == static_cast<Word>(abi::MintSource::message);
    if (!of_message && tag != static_cast<Word>(abi::MintSource::handle))
        return finish(context, Status::invalid_argument);
    Mint source;
    bool receives = true;
    Status status =
        of_message ? mint_of_message(thread, source) : mint_of_handle(thread, source, receives);
    if (status != Status::ok) return finish(context, status);
    Budget* narrow = nullptr;
    if (context.reg(6) != 0) {
        narrow = object_at<Budget>(thread, 6, ObjectKind::budget, status);
        if (narrow == nullptr) return finish(context, status);
    }
    u64 badge = read_pair(context, 4);
    if (badge == 0) return finish(context, Status::invalid_argument);
    if (!receives || (narrow != nullptr && !is_within(narrow, *source.stamp)))
        return finish(context, Status::not_permitted);
    u32 handle = 0;
    status = install_handle(kernel, *thread.process, source.endpoint->head,
                            narrow == nullptr ? *source.stamp : *narrow, badge, handle);
    finish(context, status, handle);
}

void handle_close(Kernel& kernel, Thread& thread) {
    HandleSlot* slot = find_handle(*thread.process, thread.context.reg(1));
    if (slot == nullptr) return finish(thread.context, Status::bad_handle);
    close_handle(kernel, *slot);
    finish(thread.context, Status::ok);
}

void budget_create(Kernel& kernel, Hart& self, Thread& thread) {
    Status status{};
    Port::Context& context = thread.context;
    Process& process = *thread.process;
    auto* parent = object_at<Budget>(thread, 1, ObjectKind::budget, status);
    if (parent == nullptr) return finish(context, status);
    abi::BudgetSpec spec;
    status = copy_in(memory_of(kernel, self, process), &spec, context.reg(2), sizeof spec);
    if (status != Status::ok) return finish(context, status);
    Budget* child = nullptr;
    status = create_budget(kernel, self, *process.budget, *parent, spec, child);
    if (status != Status::ok) return finish(context, status);
    u32 handle = 0;
    status = install_handle(kernel, process, child->head, *process.budget, 0, handle);
    if (status != Status::ok) destroy_budget(kernel, self, *child, kNever);
    finish(context, status, handle);
}

void budget_destroy(Kernel& kernel, Hart& self, Thread& thread) {
    Status status{};
    auto* budget = object_at<Budget>(thread, 1, ObjectKind::budget, status);
    if (budget == nullptr) return finish(thread.context, status);
    destroy_budget(kernel, self, *budget, kNever);
    if (self.thread == &thread) finish(thread.context, Status::ok);
}

void budget_reap(Kernel& kernel, Hart& self, Thread& thread) {
    Status status{};
    auto* budget = object_at<Budget>(thread, 1, ObjectKind::budget, status);
    if (budget == nullptr) return finish(thread.context, status);
    Budget* child = budget->children.first();
    if (child != nullptr) destroy_budget(kernel, self, *child, kNever);
    if (self.thread != &thread) return;
    Word left = 0;
    for (child = budget->children.first(); child != nullptr;
         child = budget->children.after(child->sibling_link))
        ++left;
    finish(thread.context, Status::ok, left);
}

void budget_usage(Kernel& kernel, Hart& self, Thread& thread) {
    Status status{};
    auto* budget = object_at<Budget>(thread, 1, ObjectKind::budget, status);
    if (budget == nullptr) return finish(thread.context, status);
    MemoryContext memory = memory_of(kernel, self, *thread.process);
    Word record = thread.context.reg(2);
    status = check_record(memory, record, sizeof(abi::BudgetUsage), abi::kWrite);
    if (status != Status::ok) return finish(thread.context, status);
    const Budget& reader = *thread.process->budget;
    if (reader.budget_class != BudgetClass::system && !budget->labels.within(reader.labels))
        return finish(thread.context, Status::label_denied);
    const abi::BudgetUsage usage{budget->page_limit,    budget->pages_used,
                                 budget->process_limit, budget->processes_used,
                                 budget->weight_limit,  budget->weight_carved};
    finish(thread.context, copy_out(memory, record, &usage, sizeof usage));
}

void system_reset(Kernel& kernel, Hart& self, Thread& thread) {
    Status status{};
    auto* device = object_at<Device>(thread, 1, ObjectKind::device, status);
    if (device == nullptr) return finish(thread.context, status);
    Word kind = thread.context.reg(2);
    if (kind < 1 || kind > 3) return finish(thread.context, Status::invalid_argument);
    if (device->fact.kind != DeviceKind::reset) return finish(thread.context, Status::wrong_object);
    power_off(kernel, self, static_cast<ResetKind>(kind - 1));
}

}  // namespace

void dispatch_call(Kernel& kernel, Hart& self, Thread& thread) {
    Port::Context& context = thread.context;
    Word number = context.reg(0);
    if (number <= abi::kCallBase || number > abi::kCallBase + abi::kCallCount)
        return finish(context, Status::invalid_argument);
    switch (static_cast<abi::Call>(number - abi::kCallBase)) {
    case abi::Call::time_now:
        return finish_pair(context,
                           timers::micros_since_boot(kernel, kernel.port.now(self.index)).value);
    case abi::Call::call: return ipc::send(kernel, self, thread, true);
    case abi::Call::send: return ipc::send(kernel, self, thread, false);
    case abi::Call::receive: return ipc::receive(kernel, self, thread);
    case abi::Call::reply: return ipc::reply(kernel, self, thread);
    case abi::Call::reply_receive: return ipc::reply_receive(kernel, self, thread);
    case abi::Call::serve: return ipc::serve(thread);
    case abi::Call::map_anon: return map_anon(kernel, self, thread);
    case abi::Call::map_fixed: return map_fixed(kernel, self, thread);
    case abi::Call::unmap: return unmap(kernel, self, thread);
    case abi::Call::set_flags: return set_flags(kernel, self, thread);
    case abi::Call::thread_create: return thread_create(kernel, self, thread);
    case abi::Call::thread_exit: return end_thread(kernel, self, thread);
    case abi::Call::process_exit:
        return end_process(kernel, self, *thread.process, abi::ExitCause::exited,
                           static_cast<u32>(context.reg(1)));
    case abi::Call::process_create: return process_create(kernel, self, thread);
    case abi::Call::process_map: return process_map(kernel, self, thread);
    case abi::Call::process_start: return process_start(kernel, self, thread);
    case abi::Call::endpoint_create: return endpoint_create(kernel, self, thread);
    case abi::Call::mint: return mint(kernel, thread);
    case abi::Call::handle_close: return handle_close(kernel, thread);
    case abi::Call::budget_create: return budget_create(kernel, self, thread);
    case abi::Call::budget_destroy: return budget_destroy(kernel, self, thread);
    case abi::Call::budget_reap: return budget_reap(kernel, self, thread);
    case abi::Call::budget_usage: return budget_usage(kernel, self, thread);
    case abi::Call::random: return finish_pair(context, draw(kernel));
    case abi::Call::system_reset: return system_reset(kernel, self, thread);
    case abi::Call::map_device: return map_device(kernel, self, thread);
    case abi::Call::device_info: return device_info(thread);
    // No device is one for DMA, so every handle is of the wrong kind.
    case abi::Call::dma_alloc: {
        Status status{};
        object_at<Device>(thread, 1, ObjectKind::device, status);
        return finish(context, status == Status::ok ? Status::wrong_object : status);
    }
    }
}

}  // namespace ravelin
