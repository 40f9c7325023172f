// A thread's environment, and the entry values of functions.
//
// A thread begins at an entry value with one word of argument. entry<fn>() makes that value of a
// function over an Env and ends the thread when the function returns. Invariant: one Env a thread; it
// lives on the thread's own stack, which on a hosted kernel lies outside of user memory, so records
// are kept in a mapped page (Records).
#pragma once

#include "user/rt/calls.h"
#include "user/rt/trap.h"
#include "user/rt/types.h"

namespace ravelin::rt {

class Env {
  public:
    /// `argument` is the word the thread started with.
    explicit Env(Word argument) : argument_(argument) {}

    Word argument() const { return argument_; }
    Records& records() { return records_; }

    /// Takes the ownership of a handle that the process started with (1 and up). Once an index.
    template <class H>
    H start_handle(u32 index) {
        return H{index};
    }

  private:
    Word argument_;
    Records records_;
};

/// Runs `Main` as the whole life of a thread.
template <void (*Main)(Env&)>
void thread_main(Word argument) {
    {
        Env env{argument};
        Main(env);
    }
    thread_exit();
}

/// The entry value of `Main`, for thread_create and process_start.
template <void (*Main)(Env&)>
Word entry() {
    return entry_value(&thread_main<Main>);
}

}  // namespace ravelin::rt
