// The launcher: the first program of a case, in root's own budget. It makes the budgets, starts copies
// of itself in roles, opens a common window for them and ends the machine.
//
// What the oracle reads from it: a judged budget is a child of users or system with an account from 1
// to 999; the window that is judged begins and ends where an empty budget of account kWindowStart or
// kWindowEnd is made. The launcher sleeps meanwhile. A launcher that cannot stage its scenario ends
// the machine with failure, and the account of its last empty budget is kFailure plus the line.
#pragma once

#include <initializer_list>
#include <span>

#include "user/rt/launch.h"
#include "user/workload/child.h"
#include "user/workload/window.h"

namespace ravelin::workload {

/// Accounts of the empty budgets that mark points of the trace.
inline constexpr u64 kWindowStart = 1000;
inline constexpr u64 kWindowEnd = 1001;
inline constexpr u64 kFailure = 2000;

/// The times of one window: all children begin, warm up, are judged for `judged`, and go on for `after`.
struct Times {
    Micros warm_up = rt::milliseconds(20);
    Micros judged = rt::milliseconds(300);
    Micros after = rt::milliseconds(20);

    Micros total() const { return warm_up + judged + after; }
};

/// One report of a child.
struct ChildReport {
    u32 child = 0;
    u64 values[3] = {};
};

class Launcher {
  public:
    /// Takes the boot handles and measures the clock.
    explicit Launcher(rt::Env& env);

    rt::Env& env() { return env_; }
    const rt::Budget& root() const { return root_; }
    const rt::Budget& system() const { return system_; }
    const rt::Budget& users() const { return users_; }
    const Rate& rate() const { return rate_; }
    Ticks ticks(Micros length) const { return rate_.ticks_of(length); }

    /// The piece of work that spinners do between two looks at the clock, in ticks.
    u64 piece() const { return ticks(kPiece).value; }

    /// A child of `parent` that holds `processes` copies of this program, with `more_pages` beside
    /// what they need and an account of its own (0: the parent's).
    rt::Budget budget(const rt::Budget& parent, u64 weight, u64 account, u64 processes = 1,
                      u64 more_pages = 0);

    /// An empty scope below `parent`: nothing but a stamp, to be destroyed.
    rt::Budget scope(const rt::Budget& parent);

    /// The first program's handle of a device, to give to a child. The board must have one.
    u32 device(abi::DeviceKind kind, abi::DeviceModel model);

    /// Starts a copy of this program in `budget` that plays `Role`, and returns when it has its
    /// parameters. Gives its number: from 0 since the last reset_children().
    template <void (*Role)(Child&)>
    u32 start(const rt::Budget& budget, std::initializer_list<u64> parameters = {},
              std::initializer_list<u32> role_handles = {}) {
        return start_at(rt::entry<child_main<Role>>(), budget, parameters, role_handles);
    }

    /// Sends all children a window of the given times that begins soon, and gives it.
    Window open(const Times& times);

    /// Marks the judged part of an open window: sleeps to its start, to its end, and returns then.
    void judge(const Window& window, const Times& times);

    /// open() and judge().
    Window run(const Times& times);

    /// Sleeps until the clock has reached `point`.
    void sleep_until(Ticks point) const;

    /// Makes and destroys an empty budget of this account under users.
    void mark(u64 account);

    /// The next report of any child. A failed child, or none within ten seconds, fails the launcher.
    ChildReport next_report();

    /// One report of each child, in no order that counts.
    void collect();

    /// Forgets the children, whose budgets the caller has destroyed or will.
    void reset_children();

    /// The value of `result`; fails the launcher if there is none.
    template <class T>
    T must(rt::Result<T> result, u32 line = __builtin_LINE()) {
        if (!result.ok()) {
            fail(line);
        }
        return std::move(result.value());
    }
    void must(rt::Outcome outcome, u32 line = __builtin_LINE()) {
        if (!outcome.ok()) {
            fail(line);
        }
    }

    /// Fails the launcher unless `held`.
    void expect(bool held, u32 line = __builtin_LINE()) {
        if (!held) {
            fail(line);
        }
    }

    /// A page of this process's own memory.
    Word page(u32 line = __builtin_LINE()) {
        return must(rt::map_anon(rt::kPageSize, abi::kRead | abi::kWrite), line);
    }

    /// What a budget uses now.
    abi::BudgetUsage usage(const rt::Budget& budget, u32 line = __builtin_LINE()) {
        return must(rt::budget_usage(env_.records(), budget), line);
    }

    /// Destroys `budget` and what it holds.
    void destroy(rt::Budget& budget, u32 line = __builtin_LINE()) {
        must(rt::budget_destroy(budget), line);
    }

    /// Ends the machine.
    [[noreturn]] void end();

    /// Ends the machine with failure.
    [[noreturn]] void fail(u32 line = __builtin_LINE());

  private:
    static constexpr u32 kMaxChildren = 128;

    u32 start_at(Word entry, const rt::Budget& budget, std::initializer_list<u64> parameters,
                 std::initializer_list<u32> role_handles);
    void measure_rate();
    [[noreturn]] void reset(abi::Reset kind);

    rt::Env& env_;
    rt::Budget root_;
    rt::Budget system_;
    rt::Budget users_;
    rt::ResetDevice reset_;
    rt::Endpoint reports_;
    rt::Endpoint mailboxes_[kMaxChildren];
    u32 children_ = 0;
    Rate rate_;
};

}  // namespace ravelin::workload
