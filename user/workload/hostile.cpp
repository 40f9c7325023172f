// See hostile.h.

#include "user/workload/hostile.h"

#include "user/rt/launch.h"
#include "user/rt/trap.h"
#include "user/workload/roles.h"

namespace ravelin::workload {

namespace {

constexpr u32 kThreads = 24;
constexpr u64 kLongestNap = 3'000;  // microseconds
constexpr u64 kLongestLife = 5'000;

/// The draws of one child: a generator of its own, so that a draw is no kernel entry.
class Draws {
  public:
    explicit Draws(u64 seed) : state_(seed | 1) {}

    u64 below(u64 bound) {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 7;
        state_ ^= state_ << 17;
        return (state_ >> 11) % bound;
    }

  private:
    u64 state_;
};

// The whole lives of those it starts. Argument: the work.

void work_and_end(rt::Env& env) {
    rt::work({env.argument()});
}

void nap_and_work(rt::Env& env) {
    for (u32 i = 0; i < 4; ++i) {
        rt::sleep({u64{env.argument()} % kLongestNap});
        rt::work({env.argument()});
    }
}

void work_and_exit(rt::Env& env) {
    rt::work({env.argument()});
    rt::process_exit(0);
}

void work_and_fault(rt::Env& env) {
    rt::work({env.argument()});
    // Nothing is ever mapped at the bottom of user memory.
    volatile u32* nowhere = rt::user_object<volatile u32>(0);
    for (;;) {
        *nowhere = 0;
    }
}

class Hostile {
  public:
    explicit Hostile(Child& child)
        : child_(child),
          own_(child.handle<rt::Budget>(0)),
          slice_(child.parameter(0)),
          draws_(child.must(rt::random())) {}

    u64 run() {
        child_.begin();
        u64 count = 0;
        for (; child_.in_window(); ++count) {
            act();
        }
        own_.forget();
        return count;
    }

  private:
    // From nothing to two slices; often just short of one.
    Word work() {
        const u64 most = draws_.below(4) == 0 ? 2 * slice_ : slice_ / 4 + 1;
        return static_cast<Word>(draws_.below(3) == 0 ? slice_ * 95 / 100 : draws_.below(most));
    }

    void act() {
        switch (draws_.below(9)) {
        case 0:
        case 1:
        case 2: rt::work({work()}); break;
        case 3: rt::sleep({draws_.below(kLongestNap)}); break;
        case 4: rt::sleep({0}); break;
        case 5:
        case 6: make(budgets_[draws_.below(kHostileBudgets)]); break;
        case 7: destroy(budgets_[draws_.below(kHostileBudgets)]); break;
        case 8: start_thread(); break;
        }
    }

    // Below its own budget or below another of its budgets.
    void make(rt::Budget& place) {
        destroy(place);
        const rt::Budget& above = budgets_[draws_.below(kHostileBudgets)];
        const bool deep = above && draws_.below(2) == 0;
        rt::BudgetLimits limits{.pages = 0, .processes = 0, .weight = draws_.below(12)};
        const bool holds = limits.weight != 0 && draws_.below(4) != 0;
        if (holds) {
            limits.pages = 2 * rt::copy_pages();
            limits.processes = 2;
        }
        if (draws_.below(3) == 0) {
            limits.deadline = rt::time_now() + Micros{draws_.below(kLongestLife)};
        }
        rt::Records& records = child_.env().records();
        rt::Result<rt::Budget> made = rt::budget_create(records, deep ? above : own_, limits);
        if (!made.ok()) {
            return;
        }
        place = std::move(made.value());
        if (!holds) {
            return;
        }
        const u64 life = draws_.below(3);
        const Word argument = work() + 1;
        if (life == 0) {
            leave(rt::start_copy<busy>(records, place, argument, {}));
        } else if (life == 1) {
            leave(rt::start_copy<work_and_exit>(records, place, argument, {}));
        } else {
            leave(rt::start_copy<work_and_fault>(records, place, argument, {}));
        }
    }

    // The process goes its own way.
    static void leave(rt::Result<rt::Process> process) {
        if (process.ok()) {
            process.value().forget();
        }
    }

    // It may be gone already, by its deadline or with what it was below; its handle with it.
    static void destroy(rt::Budget& place) {
        if (!place) {
            return;
        }
        static_cast<void>(rt::budget_destroy(place));
        place.forget();
    }

    void start_thread() {
        if (threads_ == kThreads) {
            return;
        }
        rt::Result<rt::Stack> stack = rt::Stack::make();
        if (!stack.ok()) {
            return;
        }
        const Word argument = work() + 1;
        const bool started = draws_.below(2) == 0
                                 ? rt::start_thread<work_and_end>(stack.value(), argument).ok()
                                 : rt::start_thread<nap_and_work>(stack.value(), argument).ok();
        if (started) {
            stack.value().forget();
            ++threads_;
        }
    }

    Child& child_;
    rt::Budget own_;
    u64 slice_;
    Draws draws_;
    rt::Budget budgets_[kHostileBudgets];
    u32 threads_ = 0;
};

}  // namespace

u64 hostile_pages() {
    return (2 * rt::copy_pages() + 1) * kHostileBudgets + 16 * u64{kThreads};
}

void hostile(Child& child) {
    child.report(Hostile{child}.run());
}

}  // namespace ravelin::workload
