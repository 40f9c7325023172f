// Processes, threads and endpoints begin and end; see lifecycle.h.
#include "core/object/lifecycle.h"

#include <new>

#include "core/assert.h"
#include "core/ipc/ipc.h"
#include "core/object/handle.h"
#include "core/object/random.h"
#include "core/object/shootdown.h"
#include "core/sched/sched.h"
#include "core/time/timers.h"

namespace ravelin {

using abi::Status;

namespace {

// A PID drawn at random from the free ones: processes learn nothing from their numbers (R20).
u32 draw_pid(Kernel& kernel) {
    u32 pid = abi::kFirstPid + static_cast<u32>(draw(kernel) % abi::kMaxProcesses);
    while (kernel.processes[pid] != nullptr)
        pid = pid == abi::kMaxPid ? abi::kFirstPid : pid + 1;
    return pid;
}

// Takes a thread apart. Its process goes on or is ending.
void take_apart(Kernel& kernel, Hart& self, Thread& thread) {
    Process& process = *thread.process;
    bool elsewhere = thread.state == ThreadState::running && thread.hart != self.index;
    HartIndex hart = thread.hart;
    sched::forget(kernel, self, thread);
    if (elsewhere) evict(kernel, self, hart);
    ipc::thread_ends(kernel, self, thread);
    timers::drop_timeout(kernel, thread);
    kernel.port.drop_context(self.index, thread.context);
    process.threads[thread.tid] = nullptr;
    process.thread_count -= 1;
    uncharge(*process.budget, 1);
    kernel.trace.write(self.index, trace::TraceKind::thread_end, process.budget->head.id,
                       process.pid, thread.tid);
    free_object(kernel, thread);
}

}  // namespace

Status create_process(Kernel& kernel, Hart& self, Budget& creator, Budget& budget,
                      Endpoint* exit_endpoint, Process*& process) {
    if (budget.free_processes() == 0 || kernel.process_count == abi::kMaxProcesses)
        return Status::out_of_processes;
    if (budget.free_weight() == 0) return Status::invalid_argument;
    if (!charge(creator, 1)) return Status::out_of_memory;
    Process& made = make_object<Process>(kernel, self.index, ObjectKind::process);
    made.budget = &budget;
    made.creator = &creator;
    made.pid = draw_pid(kernel);
    MemoryContext memory = memory_of(kernel, self, made);
    if (create_space(memory) != Status::ok) {
        free_object(kernel, made);
        uncharge(creator, 1);
        return Status::out_of_memory;
    }
    kernel.processes[made.pid] = &made;
    kernel.process_count += 1;
    budget.processes_used += 1;
    budget.live_processes += 1;
    budget.processes.push_back(made, made.budget_link);
    creator.charged.push_back(made, made.creator_link);
    if (exit_endpoint != nullptr) {
        made.exit_endpoint = exit_endpoint;
        exit_endpoint->exits_here.push_back(made, made.exit_link);
    }
    process = &made;
    return Status::ok;
}

Status create_thread(Kernel& kernel, Hart& self, Process& process, Word entry, Word stack,
                     Word argument, u32& tid) {
    if (process.thread_count == abi::kMaxThreads) return Status::too_many_threads;
    if (!charge(*process.budget, 1)) return Status::out_of_memory;
    tid = process.last_tid;
    do {
        tid = tid == abi::kMaxThreads ? 1 : tid + 1;
    } while (process.threads[tid] != nullptr);
    Thread& thread = make_object<Thread>(kernel, self.index, ObjectKind::thread);
    if (!kernel.port.make_context(self.index, thread.context,
                                  {entry, stack, argument, process.pid})) {
        free_object(kernel, thread);
        uncharge(*process.budget, 1);
        return Status::out_of_memory;
    }
    thread.process = &process;
    thread.tid = tid;
    process.last_tid = tid;
    process.threads[tid] = &thread;
    process.thread_count += 1;
    sched::make_ready(kernel, self, thread);
    return Status::ok;
}

void end_thread(Kernel& kernel, Hart& self, Thread& thread) {
    Process& process = *thread.process;
    if (process.thread_count == 1)
        return end_process(kernel, self, process, abi::ExitCause::exited, 0);
    take_apart(kernel, self, thread);
}

void end_process(Kernel& kernel, Hart& self, Process& process, abi::ExitCause cause, u32 code) {
    process.state = ProcessState::ended;
    process.cause = cause;
    process.exit_code = code;
    Thread* guilty = self.thread;
    const OpenCall* call = nullptr;
    if (cause != abi::ExitCause::killed && guilty != nullptr && guilty->process == &process)
        call = process.open_calls.find(guilty->current);
    if (call != nullptr) {
        process.blamed = call->account;
        process.blamed_labels =
            call->caller == nullptr ? call->labels : call->caller->process->budget->labels;
    }
    process.labels = process.budget->labels;
    process.trusted = process.budget->budget_class == BudgetClass::system;
    for (u32 tid = 1; process.thread_count != 0; ++tid) {
        if (process.threads[tid] != nullptr) take_apart(kernel, self, *process.threads[tid]);
    }
    close_table(kernel, process);
    leave_space(kernel, self, process);
    MemoryContext memory = memory_of(kernel, self, process);
    destroy_space(memory);
    process.budget->live_processes -= 1;
    if (!ipc::give_notice(kernel, self, process)) free_process(kernel, self, process);
}

void free_process(Kernel& kernel, Hart& self, Process& process) {
    RAVELIN_ASSERT(process.state == ProcessState::ended && process.thread_count == 0);
    close_object(kernel, process.head);
    kernel.port.work(self.index, Work::destroy_step, 1);
    process.budget->processes.remove(process.budget_link);
    process.budget->processes_used -= 1;
    process.creator->charged.remove(process.creator_link);
    uncharge(*process.creator, 1);
    kernel.processes[process.pid] = nullptr;
    kernel.process_count -= 1;
    free_object(kernel, process);
}

Status create_endpoint(Kernel& kernel, HartIndex hart, Budget& owner, Endpoint*& endpoint) {
    if (!charge(owner, 1)) return Status::out_of_memory;
    endpoint = &make_object<Endpoint>(kernel, hart, ObjectKind::endpoint);
    endpoint->owner = &owner;
    owner.endpoints.push_back(*endpoint, endpoint->owner_link);
    return Status::ok;
}

void end_endpoint(Kernel& kernel, Hart& self, Endpoint& endpoint) {
    ipc::endpoint_dies(kernel, self, endpoint);
    close_object(kernel, endpoint.head);
    endpoint.owner->endpoints.remove(endpoint.owner_link);
    uncharge(*endpoint.owner, 1);
    free_object(kernel, endpoint);
}

}  // namespace ravelin
