// Stacks and copies of the running program: where a hosted kernel and a RISC-V machine differ in what
// a new thread or process needs. Hosted programs are part of the host's process: a copy needs no
// memory, and stacks are the port's. On RISC-V a copy is the program's pages, and stacks are mapped.
#pragma once

#include "user/rt/calls.h"
#include "user/rt/env.h"

namespace ravelin::rt {

/// The stack of one thread of this process. It must outlive the thread.
class Stack {
  public:
    Stack() = default;
    Stack(Stack&& other) noexcept : base_(std::exchange(other.base_, 0)) {}
    Stack& operator=(Stack&& other) noexcept {
        std::swap(base_, other.base_);
        return *this;
    }
    ~Stack();

    /// Maps a stack, charged to this process's budget.
    static Result<Stack> make();

    /// What a thread on this stack starts with.
    Word top() const;

    /// Leaves the stack mapped until the process ends: for a thread that nobody sees end.
    void forget() { base_ = 0; }

  private:
    explicit Stack(Word base) : base_(base) {}

    Word base_ = 0;
};

/// Pages a budget needs for one process that runs a copy of this program with a few threads.
Word copy_pages();

/// Puts a copy of this program into a process that was not started. Gives the stack pointer that its
/// first thread starts with.
Result<Word> load_copy(const Process& process);

/// Starts a thread of this process that runs `Main`.
template <void (*Main)(Env&)>
Result<u32> start_thread(const Stack& stack, Word argument) {
    return thread_create(entry<Main>(), stack.top(), argument);
}

/// Makes a process in `budget` that runs a copy of this program from `Main`.
template <void (*Main)(Env&)>
Result<Process> start_copy(Records& records, const Budget& budget, Word argument,
                           std::span<const u32> handles, const Endpoint* exits = nullptr) {
    Result<Process> process = process_create(budget, exits);
    if (!process.ok()) {
        return process.status();
    }
    Result<Word> stack = load_copy(process.value());
    if (!stack.ok()) {
        return stack.status();
    }
    const Outcome started =
        process_start(records, process.value(), entry<Main>(), stack.value(), argument, handles);
    if (!started.ok()) {
        return started.status();
    }
    return process;
}

}  // namespace ravelin::rt
