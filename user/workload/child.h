// A launcher's child: a copy of the program that plays a role.
//
// Protocol: the child's start handles are its mailbox (it receives), the launcher's report endpoint (it
// sends, with the child's number as badge) and those that the role needs. Through the mailbox come
// two messages with the role's eight parameters and, when the launcher opens the window, one with
// the window. Through the report endpoint go reports of three values each.
// Invariant: a child whose call fails says so once, with the line, and ends.
#pragma once

#include "user/rt/env.h"
#include "user/workload/window.h"

namespace ravelin::workload {

inline constexpr u32 kParameters = 8;

/// Start handles by index.
inline constexpr u32 kMailboxHandle = 1;
inline constexpr u32 kReportHandle = 2;
inline constexpr u32 kFirstRoleHandle = 3;

/// A report's first word.
enum class Report : u64 { value = 0, failure = 1 };

class Child {
  public:
    /// Takes the start handles and receives the parameters.
    explicit Child(rt::Env& env);

    rt::Env& env() { return env_; }

    /// Parameter `index`, below kParameters; 0 if the launcher gave fewer.
    u64 parameter(u32 index) const { return parameters_[index]; }

    /// The role's own start handle `index`, from 0 in the launcher's order. Once an index.
    template <class H>
    H handle(u32 index) {
        return env_.start_handle<H>(kFirstRoleHandle + index);
    }

    /// Waits for the launcher to open the window.
    void await_window();

    /// await_window(), and sleeps until the window starts.
    void begin();

    const Window& window() const { return window_; }
    const Rate& rate() const { return rate_; }

    /// Whether the window has not ended.
    bool in_window() const;

    /// Sleeps until the clock has reached `point`.
    void sleep_until(Ticks point) const;

    /// Tells the launcher three values.
    void report(u64 first, u64 second = 0, u64 third = 0);

    /// The value of `result`; ends the process with a failure report if there is none.
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

    /// Tells the launcher that what `line` needs could not be had, and ends this process.
    [[noreturn]] void fail(u32 line);

  private:
    void receive_parameters();

    rt::Env& env_;
    rt::Endpoint mailbox_;
    rt::Endpoint report_;
    u64 parameters_[kParameters] = {};
    Window window_;
    Rate rate_;
};

/// The first thread of a child that plays `Role`.
template <void (*Role)(Child&)>
void child_main(rt::Env& env) {
    Child child{env};
    Role(child);
    rt::process_exit(0);
}

}  // namespace ravelin::workload
