// Destruction; see destroy.h. The steps are numbered as in the rule.
#include "core/object/destroy.h"

#include "core/assert.h"
#include "core/ipc/ipc.h"
#include "core/object/handle.h"
#include "core/object/lifecycle.h"
#include "core/planted.h"
#include "core/sched/sched.h"
#include "core/time/timers.h"

namespace ravelin {

namespace {

Budget& lowest_first_child(Budget& budget) {
    Budget* at = &budget;
    while (!at->children.empty())
        at = at->children.first();
    return *at;
}

// The subtree from the leaves up: the budget after `at`, or null behind `top`.
Budget* next_up(Budget& at, Budget& top) {
    if (&at == &top) return nullptr;
    Budget* sibling = at.parent->children.after(at.sibling_link);
    return sibling == nullptr ? at.parent : &lowest_first_child(*sibling);
}

template <class Visit>
void each_up(Budget& top, Visit visit) {
    for (Budget* at = &lowest_first_child(top); at != nullptr;) {
        Budget* next = next_up(*at, top);
        visit(*at);
        at = next;
    }
}

// 1: the top leaves its parent and its weight returns, so that whoever pays pays at the restored
// weight; all below is marked.
void detach(Kernel& kernel, Hart& self, Budget& top) {
    each_up(top, [&](Budget& budget) {
        budget.dying = true;
        timers::drop_deadline(kernel, budget);
    });
    if (top.parent == nullptr) return;
    if (planted::broken(planted::Rule::weight_returns_first)) return;
    top.parent->weight_carved -= top.weight_limit;
    sched::reweigh(kernel, self, *top.parent);
}

// The process will make no notice, or the one that waits to be taken goes.
void drop_notice(Process& process) {
    if (process.exit_endpoint == nullptr) return;
    Endpoint& endpoint = *process.exit_endpoint;
    (process.state == ProcessState::ended ? endpoint.notices : endpoint.exits_here)
        .remove(process.exit_link);
    process.exit_endpoint = nullptr;
}

void end_killed(Kernel& kernel, Hart& self, Process& process) {
    if (process.creator->dying) drop_notice(process);
    end_process(kernel, self, process, abi::ExitCause::killed, 0);
}

// 2: processes that run in dying budgets end, that of a caller last. One whose object is charged to a dying
// budget makes no notice: nobody is left to whom it is owed.
void kill(Kernel& kernel, Hart& self, Budget& top, bool by_call) {
    Process* own = by_call && self.thread != nullptr ? self.thread->process : nullptr;
    each_up(top, [&](Budget& budget) {
        Process* next = nullptr;
        for (Process* process = budget.processes.first(); process != nullptr; process = next) {
            next = budget.processes.after(process->budget_link);
            if (process != own && process->state != ProcessState::ended)
                end_killed(kernel, self, *process);
        }
    });
    if (own != nullptr && own->budget->dying) end_killed(kernel, self, *own);
}

// 3: process objects charged to dying budgets are freed without a notice, wherever the process ran.
void free_charged(Kernel& kernel, Hart& self, Budget& budget) {
    while (Process* process = budget.charged.first()) {
        drop_notice(*process);
        if (process->state == ProcessState::ended) {
            free_process(kernel, self, *process);
        } else {
            end_process(kernel, self, *process, abi::ExitCause::killed, 0);
        }
    }
}

// 8: PIDs still held by processes that ended in a dying budget count in the top's parent, inside
// the limit that returned.
void move_pids(Budget& budget, Budget& to) {
    while (Process* process = budget.processes.first()) {
        budget.processes.remove(process->budget_link);
        process->budget = &to;
        to.processes.push_back(*process, process->budget_link);
        to.processes_used += 1;
    }
}

}  // namespace

Budget* destroy_budget(Kernel& kernel, Hart& self, Budget& top, Ticks found) {
    bool by_deadline = found != kNever;
    Ticks due = top.deadline.due;
    Budget* parent = top.parent;
    u64 id = top.head.id;
    kernel.trace.write(self.index, trace::TraceKind::destroy_begin, id,
                       kernel.port.now(self.index).value, 0, by_deadline ? 1 : 0);
    detach(kernel, self, top);
    Budget* payer = sched::payer_for(parent);
    if (by_deadline) {
        sched::set_payer(self, payer, abi::TraceCharge::destruction);
        kernel.trace.write(self.index, trace::TraceKind::expire,
                           payer == nullptr ? 0 : payer->head.id, due.value, found.value,
                           static_cast<u32>(abi::TraceExpiry::deadline));
    } else {
        Budget* nobody = nullptr;
        sched::set_payer(self, planted::payer(planted::Row::call_destruction, self.payer, nobody),
                         self.reason);
    }

    kill(kernel, self, top, !by_deadline);
    each_up(top, [&](Budget& budget) { free_charged(kernel, self, budget); });
    each_up(top, [&](Budget& budget) {
        while (Endpoint* endpoint = budget.endpoints.first())
            end_endpoint(kernel, self, *endpoint);
        while (Device* device = budget.devices.first())
            end_device(kernel, self, *device);
        ipc::stamp_dies(kernel, self, budget);
        kernel.port.work(self.index, Work::destroy_step, 1);
    });
    each_up(top, [&](Budget& budget) {
        if (&budget != &top) {
            budget.parent->weight_carved -= budget.weight_limit;
            sched::reweigh(kernel, self, *budget.parent);
        }
        sched::lift_and_remove(kernel, self, budget, payer);
    });
    each_up(top, [&](Budget& budget) {
        close_object(kernel, budget.head);
        close_stamped(kernel, budget);
    });
    if (parent != nullptr) {
        parent->processes_used -= top.process_limit;
        uncharge(*parent, top.page_limit + 1);
        each_up(top, [&](Budget& budget) { move_pids(budget, *parent); });
    }
    each_up(top, [&](Budget& budget) {
        if (budget.parent != nullptr) budget.parent->children.remove(budget.sibling_link);
        if (&budget == kernel.root) kernel.root = nullptr;
        free_object(kernel, budget);
    });
    sched::destruction_done(kernel, self);
    kernel.trace.write(self.index, trace::TraceKind::destroy_end, id,
                       kernel.port.now(self.index).value, 0);
    return payer;
}

}  // namespace ravelin
