// Time: the clock and the timer. A timer interrupt may come early, never late or lost; "late" here
// is a second, since a host may be busy.

#include "tests/conformance/kernel.h"

namespace ravelin::conformance {

namespace {

constexpr u64 kManyTimes = 10'000;

Ticks second(Kernel& kernel) {
    return {kernel.port.facts().timebase};
}

Ticks millisecond(Kernel& kernel) {
    return {kernel.port.facts().timebase / 1'000};
}

Port::Context* now_goes_on(Kernel& kernel, const Trap* trap) {
    if (trap == nullptr) {
        kernel.mark = kernel.now();
        kernel.counter = 0;
        return kernel.make_thread(0, kernel.space, 1);
    }
    const Ticks now = kernel.now();
    kernel.expect(now >= kernel.mark, "the clock never goes back");
    kernel.counter += now > kernel.mark ? 1 : 0;
    kernel.mark = now;
    if (kernel.step < 200) {
        return kernel.order(kernel.threads[0], Order::work, 20);
    }
    kernel.expect(kernel.counter >= 190, "the clock moves while a thread works");
    kernel.drop_thread(0);
    return kernel.done();
}

// What user mode reads lies between what the kernel reads before and after.
Port::Context* one_clock(Kernel& kernel, const Trap* trap) {
    if (trap == nullptr) {
        return kernel.make_thread(0, kernel.space, 1);
    }
    if (kernel.step > 1) {
        const Word read = kernel.threads[0]->reg(1);
        const Word since = read - static_cast<Word>(kernel.mark.value);
        const Word all = static_cast<Word>(kernel.now().value - kernel.mark.value);
        kernel.expect(since <= all, "user mode reads the kernel's clock");
    }
    if (kernel.step < 100) {
        kernel.mark = kernel.now();
        return kernel.order(kernel.threads[0], Order::clock);
    }
    kernel.drop_thread(0);
    return kernel.done();
}

// Steps 0, 1, 2: armed at this time, for a point just passed, for the clock's start.
Port::Context* past(Kernel& kernel, const Trap* trap) {
    if (trap != nullptr) {
        kernel.expect(trap->kind == TrapKind::timer, "an idle hart enters by the timer");
        kernel.expect(kernel.now() - kernel.mark < second(kernel),
                      "a passed point interrupts at once");
    }
    const Ticks now = kernel.now();
    kernel.mark = now;
    switch (kernel.step) {
    case 0: kernel.port.arm(kBootHart, now); return nullptr;
    case 1: kernel.port.arm(kBootHart, {now.value - 1}); return nullptr;
    case 2: kernel.port.arm(kBootHart, {0}); return nullptr;
    default: return kernel.done();
    }
}

// From one tick to 20 ms ahead, idle.
Port::Context* future_idle(Kernel& kernel, const Trap* trap) {
    constexpr u64 kLengths[] = {1, 2, 3, 10, 100, 1'000, 10'000, 200'000};
    if (trap != nullptr) {
        kernel.expect(trap->kind == TrapKind::timer, "an idle hart enters by the timer");
        const Ticks now = kernel.now();
        if (now < kernel.mark) {  // early is allowed: arm again
            kernel.port.arm(kBootHart, kernel.mark);
            return nullptr;
        }
        kernel.expect(now - kernel.mark < second(kernel), "the timer is not late");
        ++kernel.counter;
    } else {
        kernel.counter = 0;
    }
    if (kernel.counter == std::size(kLengths)) {
        return kernel.done();
    }
    kernel.mark = kernel.now() + Ticks{kLengths[kernel.counter]};
    kernel.port.arm(kBootHart, kernel.mark);
    return nullptr;
}

// A thread that works for long is interrupted, again and again.
Port::Context* interrupts_user(Kernel& kernel, const Trap* trap) {
    constexpr u64 kInterrupts = 20;
    Port::Context* thread = kernel.threads[0];
    if (trap == nullptr) {
        kernel.counter = 0;
        return kernel.make_thread(0, kernel.space, 1);
    }
    const Ticks now = kernel.now();
    if (kernel.step == 1) {
        kernel.expect(kernel.answered(*trap, thread, 1), "the thread starts with its argument");
        kernel.order(thread, Order::work, static_cast<Word>(1'000 * second(kernel).value));
    } else {
        kernel.expect(trap->kind == TrapKind::timer, "the timer interrupts a thread that works");
        if (now < kernel.mark) {  // early is allowed: arm again
            kernel.port.arm(kBootHart, kernel.mark);
            return thread;
        }
        kernel.expect(now - kernel.mark < second(kernel), "the timer is not late");
        ++kernel.counter;
    }
    if (kernel.counter == kInterrupts || kernel.check_failed) {
        kernel.drop_thread(0);
        return kernel.done();
    }
    kernel.mark = now + millisecond(kernel);
    kernel.port.arm(kBootHart, kernel.mark);
    return thread;
}

// A point far beyond what clocks of nanoseconds hold does not come now, and a near one armed after
// it does.
Port::Context* far(Kernel& kernel, const Trap* trap) {
    constexpr u64 kPoints[] = {~u64{0} - 1, u64{1} << 63, u64{1} << 62, u64{1} << 40};
    Port::Context* thread = kernel.threads[0];
    if (trap == nullptr) {
        kernel.counter = 0;
        return kernel.make_thread(0, kernel.space, 1);
    }
    if (trap->kind == TrapKind::timer && kernel.mark > kernel.now()) {
        kernel.port.arm(kBootHart, kernel.mark);  // early
        return kernel.flag.load() != 0 ? thread : nullptr;
    }
    if (trap->kind == TrapKind::timer) {
        kernel.expect(kernel.flag.load() == 0, "a far point does not interrupt");
    }
    if (trap->kind == TrapKind::call && kernel.flag.load() != 0) {
        kernel.flag.store(0);  // it worked through: now the near one, idle
        kernel.mark = kernel.now() + Ticks{100};
        kernel.port.arm(kBootHart, kernel.mark);
        return nullptr;
    }
    if (kernel.counter == std::size(kPoints)) {
        kernel.drop_thread(0);
        return kernel.done();
    }
    kernel.flag.store(1);
    kernel.mark = {kPoints[kernel.counter++]};
    kernel.port.arm(kBootHart, kernel.mark);
    return kernel.order(thread, Order::work, 1'000);
}

Port::Context* disarm(Kernel& kernel, const Trap* trap) {
    if (trap == nullptr) {
        return kernel.make_thread(0, kernel.space, 1);
    }
    kernel.expect(trap->kind == TrapKind::call, "no timer interrupt comes after disarm");
    if (kernel.step < 100) {
        kernel.port.arm(kBootHart, kernel.now() + Ticks{10 * kernel.step});
        kernel.port.disarm(kBootHart);
        return kernel.order(kernel.threads[0], Order::work, 2'000);
    }
    kernel.drop_thread(0);
    return kernel.done();
}

// The last arming counts, whether it is nearer or farther than the one before.
Port::Context* arm_again(Kernel& kernel, const Trap* trap) {
    const Ticks now = kernel.now();
    if (trap != nullptr) {
        kernel.expect(trap->kind == TrapKind::timer, "an idle hart enters by the timer");
        if (now < kernel.mark) {
            kernel.port.arm(kBootHart, kernel.mark);
            return nullptr;
        }
        kernel.expect(now - kernel.mark < second(kernel), "the later arming counts");
    }
    if (trap != nullptr && ++kernel.counter == 2) {
        return kernel.done();
    }
    if (trap == nullptr) {
        kernel.counter = 0;
    }
    kernel.mark = now + Ticks{kernel.counter == 0 ? 500u : 5'000u};
    kernel.port.arm(kBootHart, now + Ticks{kernel.counter == 0 ? 30 * second(kernel).value : 100u});
    kernel.port.arm(kBootHart, kernel.mark);
    return nullptr;
}

// One tick ahead and idle, again and again: an interrupt between the arming and the halt counts.
Port::Context* race_to_halt(Kernel& kernel, const Trap* trap) {
    kernel.expect(trap == nullptr || trap->kind == TrapKind::timer,
                  "an idle hart enters by the timer");
    if (kernel.step == kManyTimes) {
        return kernel.done();
    }
    kernel.port.arm(kBootHart, kernel.now() + Ticks{1 + kernel.step % 3});
    return nullptr;
}

constexpr Check kChecks[] = {
    {"time-goes-on", 1, now_goes_on},
    {"time-one-clock", 1, one_clock},
    {"time-arm-past", 1, past},
    {"time-arm-future", 1, future_idle},
    {"time-interrupts-user", 1, interrupts_user},
    {"time-arm-far", 1, far},
    {"time-disarm", 1, disarm},
    {"time-arm-again", 1, arm_again},
    {"time-race-to-halt", 1, race_to_halt},
};

}  // namespace

std::span<const Check> time_checks() {
    return kChecks;
}

}  // namespace ravelin::conformance
