// The scheduler's glue: see sched.h. Bound: every function costs O(log n) of n queued budgets and
// O(harts), but reconcile, which costs what the entry changed.
#include "core/sched/sched.h"

#include "core/assert.h"
#include "core/planted.h"
#include "core/sched/zeroing.h"
#include "core/time/timers.h"

namespace ravelin::sched {

using abi::TraceCharge;
using abi::TraceKind;
using planted::broken;
using planted::Row;
using planted::Rule;

namespace {

// What the queue did beside the step it was asked for.
void trace_effects(Kernel& kernel, Hart& hart) {
    if constexpr (trace::kOn) {
        for (u32 place = 0; place < kernel.queue.lifted_count(); ++place) {
            const stride::Entity& entity = kernel.queue.lifted(place);
            kernel.trace.write(hart.index, TraceKind::uncap, entity.id, entity.pass);
        }
        kernel.queue.clear_lifted();
        kernel.trace.floor(hart.index, kernel.queue.floor());
    }
}

void trace_pass(Kernel& kernel, Hart& hart, TraceKind kind, const Budget& budget, u32 what = 0) {
    kernel.trace.write(hart.index, kind, budget.head.id, budget.entity.pass, what);
}

void trace_remainder(Kernel& kernel, Hart& hart, const Budget& budget) {
    kernel.trace.write(hart.index, TraceKind::rem, budget.head.id, budget.entity.remainder,
                       budget.entity.weight);
}

void trace_counts(Kernel& kernel, Hart& hart, const Budget& budget) {
    kernel.trace.write(hart.index, TraceKind::counts, budget.head.id, budget.entity.waiting,
                       budget.entity.running);
}

void trace_charge(Kernel& kernel, Hart& hart, Ticks ticks) {
    u64 id = hart.payer == nullptr ? 0 : hart.payer->head.id;
    u32 weight = hart.payer == nullptr ? 0 : hart.payer->entity.weight;
    kernel.trace.write(hart.index, TraceKind::charge, id, ticks.value, weight,
                       static_cast<u32>(hart.reason));
}

void mark(Kernel& kernel, Budget& budget) {
    if (budget.marked) return;
    budget.marked = true;
    kernel.marked.push_back(budget, budget.mark_link);
}

void unmark(Kernel& kernel, Budget& budget) {
    if (!budget.marked) return;
    budget.marked = false;
    kernel.marked.remove(budget.mark_link);
}

void set_ready(Thread& thread) {
    Process& process = *thread.process;
    thread.state = ThreadState::ready;
    process.ready_tids.set(thread.tid);
    if (process.ready_count++ == 0) process.budget->ready_pids.set(process.pid);
}

void clear_ready(Thread& thread) {
    Process& process = *thread.process;
    process.ready_tids.clear(thread.tid);
    if (--process.ready_count == 0) process.budget->ready_pids.clear(process.pid);
}

inline void fold(Kernel& kernel, Budget& budget, Ticks ticks) {
    kernel.ledger.begin_fold(budget.entity);
    kernel.queue.fold(budget.entity, ticks);
    kernel.ledger.end_fold(budget.entity, ticks);
}

// Folds what every hart that runs the budget has pending, raising nothing.
inline void fold_harts(Kernel& kernel, Hart& self, Budget& budget) {
    for (u32 index = 0; index < kernel.hart_count; ++index) {
        Hart& hart = kernel.harts[index];
        if (hart.runner != &budget || hart.pending == Ticks{}) continue;
        fold(kernel, budget, hart.pending);
        kernel.ledger.take_pending(hart.pending);
        hart.pending = {};
        trace_pass(kernel, self, TraceKind::pass, budget);
    }
}

// The budget's next ready thread behind the one picked last, in (pid, tid) order, wrapping. The
// queue has counted it as running.
Thread& next_thread(Kernel& kernel, Budget& budget) {
    u32 pid = budget.cursor_pid;
    u32 tid = Bits<1>::kNone;
    if (pid != 0 && budget.ready_pids.test(pid)) {
        Process& process = *kernel.processes[pid];
        // The one that is left is often the one picked last: no search.
        if (budget.entity.waiting == 0 && process.ready_tids.test(budget.cursor_tid))
            return *process.threads[budget.cursor_tid];
        tid = process.ready_tids.next(budget.cursor_tid + 1);
    }
    if (tid == Bits<1>::kNone) {
        pid = budget.ready_pids.next(budget.cursor_pid + 1);
        if (pid == Bits<1>::kNone) pid = budget.ready_pids.next(0);
        tid = kernel.processes[pid]->ready_tids.next(0);
    }
    if (broken(Rule::turns_go_round)) {
        pid = budget.ready_pids.next(0);
        tid = kernel.processes[pid]->ready_tids.next(0);
    }
    budget.cursor_pid = pid;
    budget.cursor_tid = tid;
    return *kernel.processes[pid]->threads[tid];
}

// Folds ticks into a budget's pass and, if it is queued, raises the floor.
void charge(Kernel& kernel, Hart& hart, Budget& budget, Ticks ticks) {
    fold(kernel, budget, ticks);
    trace_pass(kernel, hart, TraceKind::pass, budget);
    if (!budget.entity.queued() || broken(Rule::charge_raises)) return;
    kernel.queue.raise();
    trace_effects(kernel, hart);
}

// The open intervals of all harts that the budget pays for are billed until now; from here on `payer` pays.
[[gnu::noinline]] void stop_paying(Kernel& kernel, Hart& self, Budget& budget, Budget* payer) {
    Ticks now = kernel.port.now(self.index);
    for (u32 index = 0; index < kernel.hart_count; ++index) {
        Hart& hart = kernel.harts[index];
        if (hart.payer != &budget) continue;
        if (now > hart.since) {
            Ticks ticks = now - hart.since;
            hart.since = now;
            hart.answered = {};
            trace_charge(kernel, hart, ticks);
            if (hart.runner == &budget) {
                kernel.ledger.bill_pending(ticks);
                hart.pending += ticks;
            } else {
                fold(kernel, budget, ticks);
                trace_pass(kernel, self, TraceKind::pass, budget);
            }
        }
        set_payer(hart, payer, hart.reason);
    }
}

[[gnu::noinline]] void deschedule(Kernel& kernel, Hart& hart) {
    Budget& budget = *hart.runner;
    Thread* thread = hart.thread;
    bool stays = thread != nullptr && hart.stays_ready;
    if (stays) set_ready(*thread);
    if (hart.pending == Ticks{}) {
        kernel.trace.write(hart.index, TraceKind::top_up, budget.head.id, stride::kMinCharge, 0);
        kernel.ledger.top_up();
    }
    kernel.ledger.take_pending(hart.pending);
    bool topped_up = hart.pending == Ticks{} && !broken(Rule::deschedule_least);
    Ticks ticks = topped_up ? Ticks{stride::kMinCharge} : hart.pending;
    if (broken(Rule::charged_while_running)) {
        kernel.queue.stop(budget.entity, stays);
        charge(kernel, hart, budget, ticks);
    } else {
        charge(kernel, hart, budget, ticks);
        kernel.queue.stop(budget.entity, stays);
    }
    hart.pending = {};
    hart.thread = nullptr;
    hart.runner = nullptr;
    trace_counts(kernel, hart, budget);
    trace_pass(kernel, hart, budget.entity.queued() ? TraceKind::requeue : TraceKind::out, budget);
    trace_effects(kernel, hart);
    kernel.port.work(hart.index, Work::deschedule, 1);
}

// Sorts woken budgets by descending id: merges neighbouring runs until one is left.
Budget* sort_woken(Budget* list) {
    for (u32 run = 1;; run *= 2) {
        Budget* rest = list;
        Budget** tail = &list;
        u32 merges = 0;
        while (rest != nullptr) {
            ++merges;
            Budget* a = rest;
            Budget* b = rest;
            u32 a_left = 0;
            while (b != nullptr && a_left < run) {
                b = b->next_woken;
                ++a_left;
            }
            u32 b_left = run;
            while (a_left != 0 || (b != nullptr && b_left != 0)) {
                bool from_a =
                    a_left != 0 && (b == nullptr || b_left == 0 ||
                                    (a->head.id > b->head.id) != broken(Rule::wakes_by_id));
                Budget*& source = from_a ? a : b;
                --(from_a ? a_left : b_left);
                *tail = source;
                tail = &source->next_woken;
                source = source->next_woken;
            }
            rest = b;
        }
        *tail = nullptr;
        if (merges <= 1) return list;
    }
}

// Once an entry: budgets that lost their last thread leave, those that gained one wake, the highest
// id first.
[[gnu::noinline]] void reconcile(Kernel& kernel, Hart& hart) {
    Budget* woken = nullptr;
    while (Budget* budget = kernel.marked.first()) {
        unmark(kernel, *budget);
        bool runnable = budget->entity.threads() != 0;
        if (budget->entity.queued()) {
            if (runnable) continue;
            kernel.queue.leave(budget->entity);
            trace_pass(kernel, hart, TraceKind::out, *budget);
        } else if (runnable) {
            budget->next_woken = woken;
            woken = budget;
        }
    }
    for (woken = sort_woken(woken); woken != nullptr; woken = woken->next_woken) {
        kernel.queue.wake(woken->entity);
        trace_pass(kernel, hart, TraceKind::wake, *woken);
    }
    kernel.queue.raise_if_changed();
    trace_effects(kernel, hart);
}

void trace_runner(Kernel& kernel, Hart& hart) {
    const Thread& thread = *hart.thread;
    trace_counts(kernel, hart, *hart.runner);
    kernel.trace.write(hart.index, TraceKind::runner, hart.runner->head.id,
                       hart.runner->entity.weight, u64{thread.process->pid} << 32 | thread.tid);
}

// The budget's next thread goes onto the hart; the queue has counted it there already.
void take_thread(Kernel& kernel, Hart& hart, Budget& budget) {
    Thread& thread = next_thread(kernel, budget);
    clear_ready(thread);
    thread.state = ThreadState::running;
    thread.hart = hart.index;
    hart.thread = &thread;
    hart.runner = &budget;
}

// Picks for a hart that has no thread; false: nothing waits.
[[gnu::noinline]] bool pick(Kernel& kernel, Hart& hart) {
    stride::Entity* entity = kernel.queue.pick();
    if (entity == nullptr) return false;
    Budget& budget = budget_of(*entity);
    trace_pass(kernel, hart, TraceKind::pick, budget);
    kernel.queue.run(*entity);
    take_thread(kernel, hart, budget);
    hart.slice_open = true;
    kernel.port.work(hart.index, Work::pick, 1);
    trace_runner(kernel, hart);
    return true;
}

void activate(Kernel& kernel, Hart& hart) {
    Process& process = *hart.thread->process;
    if (hart.space == process.pid) return;
    hart.space = process.pid;
    process.harts_seen |= HartMask::of(hart.index).bits;
    kernel.port.activate(hart.index, process.space.root, process.pid);
    kernel.port.work(hart.index, Work::switched, 1);
}

// One idle hart is told of work that no hart runs; it tells the next.
[[gnu::noinline]] void wake_idle_hart(Kernel& kernel, Hart& hart) {
    if (kernel.queue.pick() == nullptr || broken(Rule::idle_is_kicked)) return;
    u32 first = kernel.idle & (~kernel.idle + 1);
    kernel.idle &= ~first;
    kernel.port.kick(hart.index, HartMask{first});
}

// A slice's end where nothing else happened: the steps of deschedule, reconcile and pick in one.
// False: it takes the long way.
bool turn(Kernel& kernel, Hart& hart) {
    if (!hart.stays_ready || hart.thread == nullptr) return false;
    Budget& old = *hart.runner;
    if (!kernel.queue.can_turn(old.entity)) return false;
    Thread& thread = *hart.thread;
    bool topped_up = hart.pending == Ticks{};
    u32 others = old.entity.waiting;
    kernel.ledger.begin_fold(old.entity);
    stride::Entity& next = kernel.queue.turn(old.entity, hart.pending);
    kernel.ledger.end_fold(old.entity, hart.pending);
    kernel.ledger.take_pending(hart.pending);
    if (topped_up) kernel.ledger.top_up();
    hart.pending = {};
    Budget& budget = budget_of(next);
    if (&budget != &old || others != 0) {
        set_ready(thread);
        take_thread(kernel, hart, budget);
    }
    hart.slice_open = true;
    if constexpr (trace::kOn) {
        if (topped_up)
            kernel.trace.write(hart.index, TraceKind::top_up, old.head.id, stride::kMinCharge, 0);
        trace_pass(kernel, hart, TraceKind::pass, old);
        trace_effects(kernel, hart);
        kernel.trace.write(hart.index, TraceKind::counts, old.head.id, others + 1, 0);
        trace_pass(kernel, hart, TraceKind::requeue, old);
        trace_pass(kernel, hart, TraceKind::pick, budget);
        trace_runner(kernel, hart);
    }
    kernel.port.work(hart.index, Work::deschedule, 1);
    kernel.port.work(hart.index, Work::pick, 1);
    return true;
}

}  // namespace

void pay(Kernel& kernel, Hart& hart, Ticks ticks) {
    trace_charge(kernel, hart, ticks);
    Budget* payer = hart.payer;
    if (payer == nullptr) return kernel.ledger.bill_nobody(hart.reason, ticks);
    if (payer == hart.runner) {
        kernel.ledger.bill_pending(ticks);
        hart.pending += ticks;
        return;
    }
    charge(kernel, hart, *payer, ticks);
}

void fold_pending(Kernel& kernel, Hart& self, Budget& budget) {
    if (self.payer == &budget && self.runner == &budget) {
        bill(kernel, self, kernel.port.now(self.index), self.payer, self.reason);
    }
    fold_harts(kernel, self, budget);
}

void enter_tree(Kernel& kernel, Hart& self, Budget& child) {
    stride::Entity& entity = child.entity;
    entity.id = child.head.id;
    entity.weight = child.free_weight();
    if (child.parent != nullptr) {
        if (!broken(Rule::parent_charged_first)) fold_pending(kernel, self, *child.parent);
        if (!broken(Rule::child_from_parent)) entity.pass = child.parent->entity.pass;
    }
    bool behind = entity.pass < kernel.queue.floor();
    if (behind && !broken(Rule::child_from_floor)) entity.pass = kernel.queue.floor();
    entity.entry = entity.pass;
    kernel.trace.write(self.index, TraceKind::create, entity.id,
                       child.parent == nullptr ? 0 : child.parent->head.id, entity.weight,
                       static_cast<u32>(child.account & 0xffff));
    trace_pass(kernel, self, TraceKind::entry_pass, child);
}

void reweigh(Kernel& kernel, Hart& self, Budget& budget) {
    u32 weight = budget.free_weight();
    if (weight == budget.entity.weight) return;
    if (!broken(Rule::fold_before_reweigh)) fold_pending(kernel, self, budget);
    // Without weight nothing can be charged. It runs nowhere, but may pay for a frame or for the end of another.
    if (weight == 0) stop_paying(kernel, self, budget, payer_for(&budget));
    kernel.trace.write(self.index, TraceKind::reweigh, budget.head.id, budget.entity.weight,
                       weight);
    kernel.queue.reweigh(budget.entity, weight);
    trace_pass(kernel, self, TraceKind::reweighed, budget);
    trace_remainder(kernel, self, budget);
}

Budget* payer_for(Budget* budget) {
    while (budget != nullptr && (budget->dying || budget->free_weight() == 0))
        budget = budget->parent;
    return budget;
}

void lift_and_remove(Kernel& kernel, Hart& self, Budget& dying, Budget* payer) {
    RAVELIN_ASSERT(dying.ready_pids.next(0) == Bits<1>::kNone);
    // What its harts ran until now is its own. Nothing raises the floor inside a destruction.
    stop_paying(kernel, self, dying, payer);
    zeroing_lifts(kernel, dying, payer);
    if (!broken(Rule::dying_charged)) fold_harts(kernel, self, dying);
    for (u32 index = 0; index < kernel.hart_count; ++index) {
        Hart& hart = kernel.harts[index];
        if (hart.runner != &dying) continue;
        hart.runner = nullptr;
        dying.entity.running -= 1;
    }
    unmark(kernel, dying);
    if (dying.entity.queued()) {
        kernel.queue.leave(dying.entity);
        trace_pass(kernel, self, TraceKind::out, dying, 1);
    }
    if (dying.parent == nullptr) return;
    Budget& parent = *dying.parent;
    kernel.trace.write(self.index, TraceKind::lift, dying.head.id, parent.head.id,
                       dying.entity.weight);
    if (broken(Rule::dying_lifted)) dying.entity.pass = dying.entity.entry;
    U128 work = kernel.queue.lift(dying.entity, parent.entity);
    kernel.trace.write(self.index, TraceKind::lift_work, dying.head.id, work);
    trace_pass(kernel, self, TraceKind::lifted, parent);
    trace_remainder(kernel, self, parent);
}

void destruction_done(Kernel& kernel, Hart& self) {
    if (broken(Rule::destruction_raises)) return;
    kernel.queue.raise();
    trace_effects(kernel, self);
}

void make_ready(Kernel& kernel, Hart& self, Thread& thread) {
    RAVELIN_ASSERT(thread.state == ThreadState::waiting);
    Budget& budget = *thread.process->budget;
    set_ready(thread);
    kernel.queue.add_waiting(budget.entity);
    trace_counts(kernel, self, budget);
    mark(kernel, budget);
}

void give_up(Hart& self, bool stays_ready, Leave how) {
    self.gives_up = true;
    self.stays_ready = stays_ready;
    self.leave = how;
}

void forget(Kernel& kernel, Hart& self, Thread& thread) {
    switch (thread.state) {
    case ThreadState::ready: {
        Budget& budget = *thread.process->budget;
        clear_ready(thread);
        kernel.queue.drop_waiting(budget.entity);
        trace_counts(kernel, self, budget);
        mark(kernel, budget);
        break;
    }
    case ThreadState::running: {
        Hart& hart = kernel.hart(thread.hart);
        hart.thread = nullptr;
        if (&hart == &self) give_up(self, false, Leave::gave_up);
        break;
    }
    case ThreadState::waiting: {
        Hart& hart = kernel.hart(thread.hart);
        if (hart.thread == &thread) hart.thread = nullptr;
        break;
    }
    }
    thread.state = ThreadState::waiting;
}

#if RAVELIN_CHECKED
void check_ledger(const Kernel& kernel, Ticks now) {
    u64 open = 0;
    u64 pending = 0;
    for (u32 index = 0; index < kernel.hart_count; ++index) {
        const Hart& hart = kernel.harts[index];
        if (!hart.online) continue;
        RAVELIN_ASSERT(hart.since <= now);
        open += (now - hart.since).value;
        pending += hart.pending.value;
    }
    RAVELIN_ASSERT(pending == kernel.ledger.pending);
    RAVELIN_ASSERT(kernel.ledger.accounted(open) == kernel.ledger.passed(now));
}
#endif

Port::Context* leave(Kernel& kernel, Hart& hart) {
    if (hart.thread == nullptr || hart.gives_up) {
        Budget* nobody = nullptr;
        bill(kernel, hart, kernel.port.now(hart.index),
             planted::payer(Row::no_pick, hart.zeroed_for, kernel.root),
             hart.zeroed_for == nullptr ? TraceCharge::no_pick : TraceCharge::zeroing);
        if (!turn(kernel, hart)) {
            if (hart.runner != nullptr) deschedule(kernel, hart);
            hart.thread = nullptr;
            if (kernel.queue.changed()) reconcile(kernel, hart);
            if (!pick(kernel, hart)) {
                kernel.trace.write(hart.index, TraceKind::runner, 0, 0, 0);
                kernel.port.work(hart.index, Work::idle, 1);
            }
        }
        hart.gives_up = false;
        bool was_idle = hart.idle;
        if (was_idle) hart.zeroed_for = nullptr;
        hart.idle = hart.thread == nullptr;
        if (hart.idle) {
            kernel.idle |= HartMask::of(hart.index).bits;
        } else {
            if (was_idle) kernel.idle &= ~HartMask::of(hart.index).bits;
            set_payer(hart, planted::payer(Row::pick, hart.runner, nobody), TraceCharge::pick);
            activate(kernel, hart);
        }
        kernel.timers_moved = true;
    } else if (kernel.queue.changed()) {
        reconcile(kernel, hart);
    }
    if (kernel.online > 1 && kernel.idle != 0) wake_idle_hart(kernel, hart);
    return hart.thread == nullptr ? nullptr : &hart.thread->context;
}

}  // namespace ravelin::sched
