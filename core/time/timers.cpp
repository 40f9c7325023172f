// Timeouts and deadlines; see timers.h.
#include "core/time/timers.h"

#include "core/assert.h"
#include "core/ipc/ipc.h"
#include "core/object/destroy.h"
#include "core/planted.h"
#include "core/sched/sched.h"

namespace ravelin::timers {

namespace {

constexpr u64 kMillion = 1'000'000;

// The budget's place among the payers follows its earliest item.
void settle(Kernel& kernel, Budget& budget) {
    TimerNode* first = budget.timed.first();
    if (budget.earliest.linked) {
        if (first != nullptr && !first->before(budget.earliest) && !budget.earliest.before(*first))
            return;
        kernel.payers.remove(budget.earliest);
    }
    if (first == nullptr) return;
    budget.earliest.due = first->due;
    budget.earliest.kind = first->kind;
    budget.earliest.order = first->order;
    kernel.payers.insert(budget.earliest);
    kernel.timers_moved = true;
}

void insert(Kernel& kernel, Budget& payer, TimerNode& node) {
    payer.timed.insert(node);
    settle(kernel, payer);
}

void remove(Kernel& kernel, Budget& payer, TimerNode& node) {
    payer.timed.remove(node);
    settle(kernel, payer);
}

template <class T>
T& owner_of(TimerNode& node, std::size_t offset) {
    return *reinterpret_cast<T*>(reinterpret_cast<char*>(&node) - offset);
}

/// An item that was answered: who pays, and for what.
struct Answered {
    Budget* payer;
    planted::Row row;
};

// One item is due at `now`: ends the wait or the budget. The interval open meanwhile is `payer`'s.
Answered answer(Kernel& kernel, Hart& hart, Budget& payer, TimerNode& node, Ticks now) {
    if (node.kind == TimedKind::deadline) {
        // Whoever pays is known, and pays at the weight it then has, once the carve is back.
        sched::set_payer(hart, nullptr, abi::TraceCharge::destruction);
        Budget& top = owner_of<Budget>(node, __builtin_offsetof(Budget, deadline));
        return {destroy_budget(kernel, hart, top, now), planted::Row::deadline};
    }
    sched::set_payer(hart, &payer, abi::TraceCharge::expiry);
    Thread& thread = owner_of<Thread>(node, __builtin_offsetof(Thread, timeout));
    Ticks due = node.due;
    bool ends = thread.wait.kind != WaitKind::none && thread.wait.until <= due;
    kernel.trace.write(
        hart.index, trace::TraceKind::expire, payer.head.id, due.value, now.value,
        static_cast<u32>(ends ? abi::TraceExpiry::timeout : abi::TraceExpiry::stale));
    remove(kernel, payer, node);
    if (ends) {
        ipc::time_out(kernel, hart, thread);
        if (planted::broken(planted::Rule::wake_keeps_runner) && hart.thread != nullptr)
            sched::give_up(hart, true, Leave::resumed);
    } else if (thread.wait.kind != WaitKind::none) {
        start_timeout(kernel, thread, thread.wait.until);
    }
    return {&payer, ends ? planted::Row::timeout : planted::Row::stale};
}

}  // namespace

Ticks ticks_of(const Kernel& kernel, Micros length) {
    u64 rate = kernel.ticks_per_second;
    u64 seconds = length.value / kMillion;
    if (seconds >= (u64{1} << 62) / rate) return kNever;
    return {seconds * rate + (length.value % kMillion * rate + kMillion - 1) / kMillion};
}

Micros micros_since_boot(const Kernel& kernel, Ticks point) {
    u64 rate = kernel.ticks_per_second;
    u64 ticks = (point - kernel.booted).value;
    return {ticks / rate * kMillion + ticks % rate * kMillion / rate};
}

void start_timeout(Kernel& kernel, Thread& thread, Ticks until) {
    thread.wait.until = until;
    if (until == kNever) return;
    Budget& payer = *thread.process->budget;
    TimerNode& node = thread.timeout;
    if (node.linked) {
        if (node.due <= until) return;
        payer.timed.remove(node);
    }
    node.due = until;
    node.kind = TimedKind::timeout;
    node.order = u64{thread.process->pid} << 16 | thread.tid;
    insert(kernel, payer, node);
}

void drop_timeout(Kernel& kernel, Thread& thread) {
    if (thread.timeout.linked) remove(kernel, *thread.process->budget, thread.timeout);
}

void start_deadline(Kernel& kernel, Budget& budget, Ticks when) {
    if (when == kNever) return;
    budget.deadline.due = when;
    budget.deadline.kind = TimedKind::deadline;
    budget.deadline.order = budget.head.id;
    insert(kernel, *budget.parent, budget.deadline);
}

void drop_deadline(Kernel& kernel, Budget& budget) {
    if (budget.deadline.linked) remove(kernel, *budget.parent, budget.deadline);
}

bool expire(Kernel& kernel, Hart& hart, Ticks now) {
    bool destroyed = false;
    while (!kernel.payers.empty() && kernel.payers.first()->due <= now) {
        Budget& payer =
            owner_of<Budget>(*kernel.payers.first(), __builtin_offsetof(Budget, earliest));
        TimerNode& node = *payer.timed.first();
        bool deadline = node.kind == TimedKind::deadline;
        Answered item = answer(kernel, hart, payer, node, now);
        kernel.port.work(hart.index, Work::expiry, 1);
        destroyed |= deadline;
        auto reason = deadline ? abi::TraceCharge::destruction : abi::TraceCharge::expiry;
        // Wrong would be whom the entry interrupted.
        sched::set_payer(hart, planted::payer(item.row, item.payer, hart.runner), reason);
        sched::owe_freed(kernel, hart, hart.payer);
        sched::bill(kernel, hart, kernel.port.now(hart.index),
                    planted::payer(planted::Row::rest, item.payer, hart.runner), reason);
    }
    return destroyed;
}

Ticks due_for(const Kernel& kernel, const Hart& hart) {
    if (kernel.payers.empty()) return kNever;
    if (kernel.online == 1) return kernel.payers.first()->due;
    Ticks due = kNever;
    if (hart.runner != nullptr && !hart.runner->timed.empty())
        due = hart.runner->timed.first()->due;
    // The one hart for payers that run nowhere: the first idle one, or hart 0.
    u32 chosen = kernel.idle == 0 ? 0 : static_cast<u32>(std::countr_zero(kernel.idle));
    if (hart.index.value != chosen) return due;
    // Of the payers at the top of the heap at most one a hart runs: behind those, the first that
    // runs nowhere on every path.
    const TimerNode* stack[2 * kMaxHarts + 2];
    u32 depth = 0;
    stack[depth++] = kernel.payers.first();
    while (depth != 0) {
        const TimerNode* node = stack[--depth];
        if (node == nullptr || node->due >= due) continue;
        const auto* budget = reinterpret_cast<const Budget*>(reinterpret_cast<const char*>(node) -
                                                             __builtin_offsetof(Budget, earliest));
        if (budget->entity.running == 0) {
            due = node->due;
            continue;
        }
        stack[depth++] = node->left;
        stack[depth++] = node->right;
    }
    return due;
}

}  // namespace ravelin::timers
