// Threads mode: harts as OS threads on the real clock. See machine.h.
//
// A hart's OS thread is interrupted by one signal, sent by its own timer or by who kicks it, and
// only while guest code runs is anything done about it (fault.cpp). Everywhere else the pending
// state is looked at on the way: before a return to user mode, and by the guest side when it
// arrives.

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "port-hosted/source/guest.h"
#include "port-hosted/source/host_time.h"
#include "port-hosted/source/machine.h"
#include "port-hosted/source/panic.h"

namespace ravelin::hosted {

namespace {

// Farther timers are set to this and come early: the sum stays in range of the host's clock.
constexpr u64 kFarthest = 100 * kTimebase;

}  // namespace

void Machine::run_threads() {
    const u64 began_at = Port::real_now().value;
    std::thread alarm_thread([this] { watch_alarm(); });
    {
        std::unique_lock lock(end_mutex);
        port.turns_[0].started = true;
        harts[0]->thread = std::thread([this] { thread_main(*harts[0]); });
        if (limit == kNever.value) {
            ended.wait(lock, [this] { return over; });
        } else {
            const auto length = std::chrono::nanoseconds(limit * (1'000'000'000 / kTimebase));
            if (!ended.wait_for(lock, length, [this] { return over; })) {
                over = true;
                result.end = End::limit;
                result.time = {began_at + limit};
                stopping = true;
            }
        }
    }
    // From here on no hart is started. Each one finds the mark at its next turn through the loop or
    // a wait; it is told to look.
    for (auto& hart : harts) {
        if (hart != nullptr && hart->thread.joinable()) {
            poke(*hart);
            hart->thread.join();
        }
    }
    alarm_moved.fetch_add(1, std::memory_order_seq_cst);
    ::syscall(SYS_futex, &alarm_moved, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    alarm_thread.join();
}

// Fires the clock's alarm when it is due, until the machine stops.
void Machine::watch_alarm() {
    for (;;) {
        const u32 seen = alarm_moved.load(std::memory_order_seq_cst);
        if (stopping) {
            return;
        }
        const u64 now = Port::real_now().value;
        const u64 due = rtc.due();
        if (due <= now) {
            rtc.elapse(now);
            announce_interrupts();
            continue;
        }
        const timespec at = host_time(std::min(due, now + kFarthest));
        ::syscall(SYS_futex, &alarm_moved, FUTEX_WAIT_BITSET_PRIVATE, seen, &at, nullptr,
                  FUTEX_BITSET_MATCH_ANY);
    }
}

bool Machine::start_thread(HartIndex other) {
    std::lock_guard hold(end_mutex);
    Hart& hart = *harts[other.value];
    if (stopping || hart.thread.joinable()) {
        return false;
    }
    hart.thread = std::thread([this, &hart] { thread_main(hart); });
    return true;
}

void Machine::thread_main(Hart& hart) {
    AlternateStack alternate;
    hart.alternate = alternate.stack();
    hart.tid = static_cast<pid_t>(::syscall(SYS_gettid));
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kPreemptSignal;
    event._sigev_un._tid = hart.tid;
    if (::timer_create(CLOCK_MONOTONIC, &event, &hart.timer) != 0 ||
        ::timer_create(CLOCK_MONOTONIC, &event, &hart.retry_timer) != 0) {
        panic("the host refuses a timer");
    }
    set_current_hart(&hart);
    fiber_adopt(hart.base);
    fiber_switch(hart.base, hart.loop);
    set_current_hart(nullptr);
    ::timer_delete(hart.timer);
    ::timer_delete(hart.retry_timer);
}

void Machine::leave(Hart& hart, Fiber& self) {
    fiber_switch(self, hart.base);
    __builtin_unreachable();
}

void Machine::set_timer(Hart& hart) {
    Port::Turn& mine = turn(hart);
    itimerspec setting{};
    if (mine.armed != kNever.value) {
        mine.armed = std::min(mine.armed, Port::real_now().value + kFarthest);
        // All zero would disarm: no real clock is there any more.
        setting.it_value = host_time(std::max<u64>(mine.armed, 1));
    }
    if (::timer_settime(hart.timer, TIMER_ABSTIME, &setting, nullptr) != 0) {
        panic("the host refuses to set a timer");
    }
}

void Machine::poke(Hart& hart) {
    hart.events.fetch_add(1, std::memory_order_seq_cst);
    switch (hart.where.load(std::memory_order_seq_cst)) {
    case Where::kernel: break;
    case Where::waiting:
        ::syscall(SYS_futex, &hart.events, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
        break;
    case Where::user: ::syscall(SYS_tgkill, ::getpid(), hart.tid.load(), kPreemptSignal); break;
    }
}

void Machine::kick_real(HartMask mask) {
    for (u32 i = 0; i < options.harts; ++i) {
        if (mask.has({i})) {
            harts[i]->kicked.store(1, std::memory_order_seq_cst);
            poke(*harts[i]);
        }
    }
}

// Sleeps until something happens after `seen` was read, or until the time `until`.
void Machine::sleep(Hart& hart, u32 seen, u64 until) {
    hart.where.store(Where::waiting, std::memory_order_seq_cst);
    if (!stopping && hart.events.load(std::memory_order_seq_cst) == seen) {
        const timespec at = host_time(std::min(until, Port::real_now().value + kFarthest));
        ::syscall(SYS_futex, &hart.events, FUTEX_WAIT_BITSET_PRIVATE, seen, &at, nullptr,
                  FUTEX_BITSET_MATCH_ANY);
    }
    hart.where.store(Where::kernel, std::memory_order_seq_cst);
}

void Machine::wait_real(Hart& hart) {
    if (stopping) {
        leave(hart, hart.loop);
    }
    const u32 seen = hart.events.load(std::memory_order_seq_cst);
    if (hart.kicked.exchange(0, std::memory_order_seq_cst) != 0) {
        ++hart.counts.skipped_halts;
    } else {
        sleep(hart, seen, kNever.value);
        hart.kicked.exchange(0, std::memory_order_seq_cst);
    }
}

void Machine::work_real(GuestThread& thread, u64 ticks) {
    u64 last = clock(thread);
    u32 runs = thread.runs.load(std::memory_order_relaxed);
    for (;;) {
        for (int i = 0; i < 16; ++i) {
            __builtin_ia32_pause();
        }
        const u64 now = clock(thread);
        const u32 runs_now = thread.runs.load(std::memory_order_relaxed);
        if (runs_now == runs) {
            const u64 spent = now - last;
            if (spent >= ticks) {
                return;
            }
            ticks -= spent;
        }
        runs = runs_now;
        last = now;
    }
}

}  // namespace ravelin::hosted
