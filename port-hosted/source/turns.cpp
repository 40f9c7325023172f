// Virtual mode: whose turn it is, and how a hart's clock moves. See machine.h for the invariant.

#include <algorithm>
#include <utility>

#include "port-hosted/source/guest.h"
#include "port-hosted/source/machine.h"

namespace ravelin::hosted {

namespace {

// A kick needs this long to reach a hart, and up to kKickSpread - 1 ticks more, by seed: a software
// interrupt through a register of the board.
constexpr u64 kKickLeast = 2;
constexpr u64 kKickSpread = 7;

// One wait in kSpurious returns without a kick, by seed, within kSpuriousWithin ticks: wfi may.
constexpr u64 kSpurious = 4;
constexpr u64 kSpuriousWithin = 200;

}  // namespace

u64 Machine::lowest_key() const {
    u64 lowest = kNever.value;
    for (u32 i = 0; i < options.harts; ++i) {
        lowest = std::min(lowest, port.turns_[i].key);
    }
    return lowest;
}

// A device's line rose at `at`: harts that listen go on then.
void Machine::interrupt_listeners(u64 at) {
    for (u32 i = 0; i < options.harts; ++i) {
        Port::Turn& other = port.turns_[i];
        if (other.started && other.listening) {
            other.key = std::min(other.key, std::max(at, other.time));
            port.horizon_ = std::min(port.horizon_, other.key);
        }
    }
}

// Picks the hart with the lowest key, by seed among equals, and sets the horizon up to which it may
// run. Null: no hart will ever go on. The clock's alarm is one more that takes turns, ahead of its
// equals.
Hart* Machine::choose() {
    while (alarm != kNever.value && alarm <= lowest_key()) {
        const u64 now = std::exchange(alarm, kNever.value);
        rtc.elapse(now);
        if (interrupts.asserted()) {
            interrupt_listeners(now);
        }
    }
    u64 best = kNever.value;
    u64 second = kNever.value;
    u32 chosen = 0;
    u32 equals = 0;
    for (u32 i = 0; i < options.harts; ++i) {
        const u64 key = port.turns_[i].key;
        if (key < best) {
            second = best;
            best = key;
            chosen = i;
            equals = 1;
        } else if (key == best && key != kNever.value) {
            second = key;
            if (random() % ++equals == 0) {
                chosen = i;
            }
        } else {
            second = std::min(second, key);
        }
    }
    port.horizon_ = std::min(second, alarm);
    return best == kNever.value ? nullptr : harts[chosen].get();
}

// Stops `hart`, whose running fiber is `self`, until the time `key`, or until a kick or a device
// comes if it listens. Returns at its turn, with its clock at that time.
void Machine::block(Hart& hart, Fiber& self, u64 key, bool listening) {
    Port::Turn& mine = turn(hart);
    mine.key = key;
    mine.listening = listening;
    Hart* next = choose();
    if (next == nullptr) {
        finish(hart, self, limit != kNever.value ? End::limit : End::stuck, mine.time);
    }
    if (next != &hart) {
        hart.stopped = &self;
        set_current_hart(next);
        fiber_switch(self, *next->stopped);
    }
    mine.listening = false;
    mine.time = mine.key;
}

// Stops a hart for good, in user mode or idle, because the time limit has come. The run ends when
// no hart can go on.
void Machine::park(Hart& hart, Fiber& self) {
    block(hart, self, kNever.value, false);
    __builtin_unreachable();
}

bool Machine::start_virtual(HartIndex caller, HartIndex other) {
    Port::Turn& begun = port.turns_[other.value];
    if (begun.started) {
        return false;
    }
    begun.started = true;
    begun.time = port.turns_[caller.value].time + kKickLeast + random() % kKickSpread;
    begun.key = begun.time;
    port.horizon_ = std::min(port.horizon_, begun.key);
    return true;
}

void Machine::kick_virtual(HartIndex from, HartMask mask) {
    const u64 now = port.turns_[from.value].time;
    for (u32 i = 0; i < options.harts; ++i) {
        Port::Turn& other = port.turns_[i];
        if (!mask.has({i})) {
            continue;
        }
        other.kick_at = std::min(other.kick_at, now + kKickLeast + random() % kKickSpread);
        if (other.listening && other.kick_at < other.key && i != from.value) {
            other.key = other.kick_at;
            port.horizon_ = std::min(port.horizon_, other.key);
        }
    }
}

void Machine::wait_virtual(Hart& hart) {
    Port::Turn& mine = turn(hart);
    if (mine.kick_at <= mine.time) {
        ++hart.counts.skipped_halts;
    } else {
        u64 until = mine.kick_at;
        // Only while another hart can go on: two that wait for each other must be found out.
        if (port.horizon_ != kNever.value && random() % kSpurious == 0) {
            until = std::min(until, mine.time + 1 + random() % kSpuriousWithin);
        }
        block(hart, hart.loop, until, true);
    }
    if (mine.kick_at <= mine.time) {
        mine.kick_at = kNever.value;
    }
}

void Machine::work_virtual(GuestThread& thread, u64 ticks) {
    while (ticks > 0) {
        Hart& hart = *thread.hart.load(std::memory_order_relaxed);
        Port::Turn& mine = turn(hart);
        const u64 began_at = mine.time;
        const u64 event =
            interrupts.asserted() ? began_at : std::min({mine.armed, mine.kick_at, limit});
        const u64 room = event > began_at ? event - began_at : 0;
        const u64 target = began_at + std::min(ticks, room);
        if (target > port.horizon_) {
            block(hart, thread.fiber, target, true);
        } else {
            mine.time = target;
        }
        ticks -= mine.time - began_at;
        if (mine.time >= limit || interrupt_due(hart)) {
            switch_to_loop(thread, Why::interrupt);
        }
    }
}

}  // namespace ravelin::hosted
