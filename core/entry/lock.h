// The one kernel lock: a FIFO ticket lock whose waiters halt (R78).
//
// A hart draws a ticket and waits, halted, until it is served; the release kicks the harts that
// halted. Because tickets are served in the order drawn, a hart waits behind at most (harts - 1)
// sections. The mark in `halted` and the read of `serving` after it are sequentially consistent, and
// between the release's store and its read of the marks stands a full fence: either the release sees
// the mark or the waiter sees the new ticket, so no hart halts past its turn.
#pragma once

#include <atomic>

#include "core/port.h"

namespace ravelin {

class Lock {
  public:
    /// `first` is the first ticket's number; tickets wrap.
    explicit Lock(u32 first = 0) : next_{first}, serving_{first} {}

    /// Takes the lock; `serve` is called before every halt, with the lock not held, to answer other
    /// harts' shootdowns. Returns how many sections were ahead when the ticket was drawn.
    template <class Serve>
    u32 acquire(Port& port, HartIndex hart, Serve serve) {
        u32 ticket = next_.fetch_add(1, std::memory_order_relaxed);
        u32 ahead = ticket - serving_.load(std::memory_order_acquire);
        if (ahead != 0) wait(port, hart, ticket, serve);
        hold(HartMask::of(hart).bits);
        return ahead;
    }

    /// Gives the lock to the next ticket and wakes the harts that halted for it.
    void release(Port& port, HartIndex hart) {
        hold(0);
        serving_.store(serving_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
        std::atomic_thread_fence(std::memory_order_seq_cst);
        u32 halted = halted_.load(std::memory_order_relaxed);
        if (halted != 0) port.kick(hart, HartMask{halted});
    }

#if RAVELIN_CHECKED
    /// Whether this hart has it: checked builds know, for assertions alone.
    bool held_by(HartIndex hart) const {
        return holder_.load(std::memory_order_relaxed) == HartMask::of(hart).bits;
    }
#endif

  private:
#if RAVELIN_CHECKED
    void hold(u32 bit) { holder_.store(bit, std::memory_order_relaxed); }
    std::atomic<u32> holder_{0};
#else
    static void hold(u32) {}
#endif

    template <class Serve>
    void wait(Port& port, HartIndex hart, u32 ticket, Serve serve) {
        u32 bit = HartMask::of(hart).bits;
        halted_.fetch_or(bit, std::memory_order_seq_cst);
        while (serving_.load(std::memory_order_seq_cst) != ticket) {
            serve();
            port.wait(hart);
        }
        halted_.fetch_and(~bit, std::memory_order_seq_cst);
        serve();
    }

    std::atomic<u32> next_;
    std::atomic<u32> serving_;
    std::atomic<u32> halted_{0};
};

}  // namespace ravelin
