// A machine around the model's queue: threads, a clock, slices, timers, deadlines, payers (R12).
//
// It adds the steps the queue does not see. Time is in ticks and every kernel entry is atomic at
// one instant of one hart; the kernel's time in it is a sum of stated costs, after which the hart
// returns to user mode. A thread's program is a function that answers what the thread does next.
//
// One entry, in order: user time; what is due (timeouts before deadlines at an equal instant,
// timeouts in (pid, tid) order, deadlines by budget id), each billed; the thread's own call, block
// or exit, or its slice end; the reconcile; a pick if the hart has no runner; the return, from
// which a picked thread's slice counts.
//
// Invariants: a timed item is armed on one hart that runs its payer, or, if none does, on exactly
// one hart; a slice ends kSlice ticks after the first return to user mode that follows its pick,
// whatever the kernel did before it; only a slice end, a block, an exit and a deadline's
// destruction take a hart from a thread.
// Bound: kEventsPerInstant entries at one instant, then std::logic_error (a program that never
// lets time pass).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "scheduler.h"

namespace ravelin::model {

inline constexpr Ticks kSlice = 1000;
inline constexpr Ticks kForever = ~Ticks{0};
inline constexpr unsigned kEventsPerInstant = 10'000;

// A thread's name; turns within a budget follow this order.
struct ThreadId {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    auto operator<=>(const ThreadId&) const = default;
};

class Machine;

// What a thread does next: `run` ticks of user time, then `call` (a system call's effect, if any),
// then `after`.
enum class After { kContinue, kSleep, kBlock, kExit };
struct Step {
    Ticks run = kForever;
    After after = After::kContinue;
    Ticks sleep = 0;  // for kSleep; 0 has passed already and blocks nothing
    std::function<void(Machine&)> call = nullptr;
    Ticks call_cost = 0;  // the call's kernel time, its caller's
};
using Program = std::function<Step(Machine&)>;

// A thread that runs and does nothing else.
inline Program spinner() {
    return [](Machine&) { return Step{}; };
}

// Kernel time of each kind of work, in ticks.
struct Costs {
    Ticks timeout = 0;   // one expired timeout
    Ticks deadline = 0;  // one deadline's destruction
    Ticks pick = 0;      // pick and switch into a budget
    Ticks rest = 0;      // the rest of an entry that the timer made
};

// What happened, for the contracts to read.
struct Event {
    enum class Kind { kPick, kLeave, kWake, kDestroy, kBill };
    Kind kind;
    Ticks time;
    unsigned hart;
    BudgetId budget;
    ThreadId thread;               // kPick, kLeave, kWake
    Leave how = Leave::kSliceEnd;  // kLeave
    Ticks ticks = 0;               // kLeave: user time since the pick; kBill: the bill
};

class Machine {
  public:
    explicit Machine(unsigned harts, Rules rules = {}, Costs costs = {});

    // ---- the scene -----------------------------------------------------------------------------

    BudgetId create_root(Weight limit, Class cls = Class::kUser);
    // `deadline`: the instant the kernel destroys it.
    BudgetId create(BudgetId parent, Weight limit, Class cls = Class::kUser,
                    Ticks deadline = kForever);
    void destroy(BudgetId top);
    // A thread that starts ready. Outside of a call the budget wakes at once (an entry of its own).
    ThreadId spawn(BudgetId budget, std::uint32_t pid, Program program);
    ThreadId spawn_asleep(BudgetId budget, std::uint32_t pid, Program program, Ticks until);
    void wake(ThreadId thread);  // a blocked or sleeping thread becomes ready
    bool alive(ThreadId thread) const { return threads_.contains(thread); }
    unsigned hart_online();
    // Kernel entries outside of any thread end with this: what the scene changed reaches the queue.
    void settle();

    // ---- time ----------------------------------------------------------------------------------

    void run_until(Ticks time);
    Ticks now() const { return now_; }

    // ---- what it holds -------------------------------------------------------------------------

    Scheduler& queue() { return queue_; }
    const Scheduler& queue() const { return queue_; }
    // The harts on which a timed item of this payer is armed now.
    std::set<unsigned> armed_on(BudgetId payer) const;
    // Who pays for a destruction of `top` by its deadline.
    BudgetId deadline_payer(BudgetId top) const;
    std::optional<ThreadId> on_hart(unsigned hart) const { return harts_.at(hart).thread; }

    // User ticks the budget's threads have run until now, a run in progress included.
    Ticks user_ticks(BudgetId budget) const;
    // Kernel ticks spent on `payer`'s account, by the table of payers, whatever the rules billed.
    Ticks kernel_ticks(BudgetId payer) const;
    // Ticks `hart` spent on work whose payer it did not run, while it ran `victim`.
    Ticks foreign_ticks(BudgetId victim) const;
    Ticks idle_ticks() const { return idle_ticks_; }
    // Hart time that went idle while a ready thread waited for a hart.
    Ticks wasted_ticks() const { return wasted_ticks_; }

    // Called before time moves from `from` to `to`; nothing changes in between.
    std::function<void(Ticks from, Ticks to)> on_interval;
    // Called after every event.
    std::function<void(const Event&)> on_event;

  private:
    struct Thread {
        BudgetId budget = 0;
        Program program;
        Step step;
        bool has_step = false;
        Ticks step_left = 0;
        bool ready = false;  // ready or on a hart
        bool on_hart = false;
        Ticks timeout = kForever;
    };
    struct Hart {
        std::optional<ThreadId> thread;
        Ticks user_since = 0;  // also: no entry before it
        Ticks slice_end = 0;
        Ticks ran = 0;  // user time since the pick
    };

    bool broken(Mutation m) const { return queue_.rules().broken(m); }
    void tell(const Event& e) const {
        if (on_event) {
            on_event(e);
        }
    }
    void account_user(unsigned hart);
    void next_step(ThreadId id);
    Ticks next_item(unsigned hart) const;
    Ticks next_event(unsigned hart) const;
    void entry(unsigned hart);
    bool expire(unsigned hart, std::optional<BudgetId>& last_payer, bool& woke);
    void bill(unsigned hart, BudgetId payer, Ticks ticks, bool unbilled);
    void leave_hart(unsigned hart, Leave how);
    void pick(unsigned hart);
    void finish(unsigned hart, Ticks entered);
    void reconcile(unsigned hart);
    void kick_idle();
    void end_thread(ThreadId id);
    void bury(BudgetId top);

    Scheduler queue_;
    Costs costs_;
    std::vector<Hart> harts_;
    std::map<ThreadId, Thread> threads_;
    std::map<BudgetId, ThreadId> cursor_;
    std::map<BudgetId, Ticks> deadlines_;
    std::map<BudgetId, Ticks> user_;
    std::map<BudgetId, Ticks> kernel_;
    std::map<BudgetId, Ticks> foreign_;
    std::map<std::uint32_t, std::uint32_t> next_tid_;
    std::vector<std::optional<BudgetId>> ran_before_;  // by hart: the budget before the pick
    Ticks kernel_now_ = 0;                             // kernel time of the entry in progress
    bool in_entry_ = false;
    Ticks now_ = 0;
    Ticks idle_ticks_ = 0;
    Ticks wasted_ticks_ = 0;
};

}  // namespace ravelin::model
