// Harts: start, kick, wait, and the order of what they read from their clocks.

#include "tests/conformance/kernel.h"

namespace ravelin::conformance {

namespace {

constexpr HartIndex kOther{1};
constexpr u32 kRounds = 2'000;

Ticks second(Kernel& kernel) {
    return {kernel.port.facts().timebase};
}

// Waits halted until the other hart, which kicks then, has set the flag to `value`; false if that
// took a second.
bool flag_becomes(Kernel& kernel, const std::atomic<u32>& flag, u32 value) {
    const Ticks start = kernel.now();
    while (flag.load() != value) {
        if (kernel.now() - start > second(kernel)) {
            return false;
        }
        kernel.port.wait(kBootHart);
    }
    return true;
}

// Starts every hart there is; each comes online once, and kicks to say so.
Port::Context* start(Kernel& kernel, const Trap* trap) {
    const u32 harts = kernel.port.facts().harts;
    if (trap == nullptr) {
        kernel.flag.store(0);  // set by a hart whose clock is behind the starter's
        for (u32 i = 1; i < harts; ++i) {
            kernel.shared_time.store(kernel.now().value);
            kernel.expect(kernel.port.start(kBootHart, {i}), "a hart starts");
        }
        kernel.expect(!kernel.port.start(kBootHart, kOther), "a started hart is not started again");
        kernel.mark = kernel.now();
    }
    if (kernel.online.load() == (u32{1} << harts) - 1) {
        kernel.expect(kernel.flag.load() == 0, "a started hart's clock is not behind");
        return kernel.done();
    }
    if (kernel.now() - kernel.mark > second(kernel)) {
        kernel.expect(false, "every hart comes online");
        return kernel.done();
    }
    kernel.port.arm(kBootHart, kernel.now() + Ticks{1'000});
    return nullptr;
}

// An idle hart enters by a kick; it kicks back.
Port::Context* kick_idle(Kernel& kernel, const Trap* trap) {
    if (trap == nullptr) {
        kernel.counter = 0;
        kernel.flag.store(0);
        kernel.role.store([](Kernel& suite, HartIndex hart, const Trap& cause) -> Port::Context* {
            if (cause.kind == TrapKind::kick) {
                suite.flag.fetch_add(1);
                suite.port.kick(hart, HartMask::of(kBootHart));
            }
            return nullptr;
        });
    } else {
        kernel.expect(trap->kind == TrapKind::kick, "a kick ends the idling");
        kernel.expect(kernel.flag.load() == ++kernel.counter, "the other hart enters once a kick");
    }
    if (kernel.counter == 200) {
        return kernel.done();
    }
    kernel.port.kick(kBootHart, HartMask::of(kOther));
    return nullptr;
}

// One kick reaches every hart of its set.
Port::Context* kick_set(Kernel& kernel, const Trap* trap) {
    const u32 others = ((u32{1} << kernel.port.facts().harts) - 1) & ~u32{1};
    if (trap == nullptr) {
        kernel.flag.store(0);
        kernel.mark = kernel.now();
        kernel.role.store([](Kernel& suite, HartIndex hart, const Trap& cause) -> Port::Context* {
            if (cause.kind == TrapKind::kick) {
                suite.flag.fetch_or(HartMask::of(hart).bits);
                suite.port.kick(hart, HartMask::of(kBootHart));
            }
            return nullptr;
        });
        kernel.port.kick(kBootHart, HartMask{others});
        kernel.port.arm(kBootHart, kernel.now() + second(kernel));
    }
    if (kernel.flag.load() != others && kernel.now() - kernel.mark < second(kernel)) {
        return nullptr;
    }
    kernel.expect(kernel.flag.load() == others, "a kick reaches every hart of its set");
    kernel.port.disarm(kBootHart);
    return kernel.done();
}

// A kick to itself is pending like any other.
Port::Context* kick_self(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    switch (kernel.step) {
    case 0: return kernel.make_thread(0, kernel.space, 1);
    case 1:
        kernel.port.kick(kBootHart, HartMask::of(kBootHart));
        return kernel.order(thread, Order::work, 100'000);
    case 2:
        kernel.expect(trap->kind == TrapKind::kick, "a kick to itself interrupts the thread");
        return thread;
    case 3:
        kernel.expect(kernel.answered(*trap, thread, 0), "once");
        kernel.port.kick(kBootHart, HartMask::of(kBootHart));
        kernel.port.wait(kBootHart);  // returns: one is pending, or will be
        kernel.drop_thread(0);
        return kernel.done();
    default: return kernel.done();
    }
}

// A thread that makes no calls is interrupted by another hart's kick.
Port::Context* kick_user(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    switch (kernel.step) {
    case 0:
        kernel.role.store([](Kernel& suite, HartIndex hart, const Trap&) -> Port::Context* {
            suite.port.kick(hart, HartMask::of(kBootHart));
            return nullptr;
        });
        return kernel.make_thread(0, kernel.space, 1);
    case 1:
        kernel.mark = kernel.now();
        kernel.port.kick(kBootHart, HartMask::of(kOther));
        return kernel.order(thread, Order::work, static_cast<Word>(10 * second(kernel).value));
    default:
        kernel.expect(trap->kind == TrapKind::kick, "another hart's kick interrupts the thread");
        kernel.expect(kernel.now() - kernel.mark < second(kernel), "soon");
        kernel.drop_thread(0);
        return kernel.done();
    }
}

// Two harts hand a flag to and fro, each waiting halted for its turn. No kick may be lost between a
// look at the flag and the halt: one lost stops both for good.
Port::Context* hand_over(Kernel& kernel, const Trap* trap) {
    if (trap == nullptr) {
        kernel.flag.store(0);
        kernel.role.store([](Kernel& suite, HartIndex hart, const Trap&) -> Port::Context* {
            if (suite.flag.load() == 2 * kRounds) {
                return nullptr;  // the last kick came behind the last hand-over
            }
            for (u32 round = 0; round < kRounds; ++round) {
                while (suite.flag.load() != 2 * round + 1) {
                    suite.port.wait(hart);
                }
                suite.flag.store(2 * round + 2);
                suite.port.kick(hart, HartMask::of(kBootHart));
            }
            return nullptr;
        });
        kernel.port.kick(kBootHart, HartMask::of(kOther));
        for (u32 round = 0; round < kRounds; ++round) {
            while (kernel.flag.load() != 2 * round) {
                kernel.port.wait(kBootHart);
            }
            kernel.flag.store(2 * round + 1);
            kernel.port.kick(kBootHart, HartMask::of(kOther));
        }
        while (kernel.flag.load() != 2 * kRounds) {
            kernel.port.wait(kBootHart);
        }
    }
    return kernel.done();
}

// A wait leaves the timer's interrupt pending.
Port::Context* wait_keeps_timer(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    switch (kernel.step) {
    case 0: return kernel.make_thread(0, kernel.space, 1);
    case 1:
        kernel.port.arm(kBootHart, {0});
        kernel.port.kick(kBootHart, HartMask::of(kBootHart));
        kernel.port.wait(kBootHart);
        return kernel.order(thread, Order::work, 100'000);
    default:
        if (trap->kind == TrapKind::kick && kernel.step == 2) {
            return thread;  // the wait returned before its kick was there
        }
        kernel.expect(trap->kind == TrapKind::timer, "the timer is still pending after a wait");
        kernel.port.disarm(kBootHart);
        kernel.drop_thread(0);
        return kernel.done();
    }
}

// What one hart reads before another is told of it, the other does not read less.
Port::Context* clocks_agree(Kernel& kernel, const Trap* trap) {
    if (trap == nullptr) {
        kernel.flag.store(0);
        kernel.other_flag.store(0);
        kernel.role.store([](Kernel& suite, HartIndex hart, const Trap&) -> Port::Context* {
            if (suite.other_flag.load() == kRounds) {
                return nullptr;  // the last kick came behind the last round
            }
            for (u32 round = 1; round <= kRounds; ++round) {
                while (suite.flag.load() != round) {
                    suite.port.wait(hart);
                }
                const u64 told = suite.shared_time.load();
                const u64 mine = suite.port.now(hart).value;
                suite.port.work(hart, Work::entry, round % 3);
                suite.shared_time.store(mine >= told ? suite.port.now(hart).value : 0);
                suite.other_flag.store(round);
                suite.port.kick(hart, HartMask::of(kBootHart));
            }
            return nullptr;
        });
        kernel.port.kick(kBootHart, HartMask::of(kOther));
        bool agree = true;
        for (u32 round = 1; round <= kRounds; ++round) {
            kernel.port.work(kBootHart, Work::entry, round % 5);
            kernel.shared_time.store(kernel.now().value);
            kernel.flag.store(round);
            kernel.port.kick(kBootHart, HartMask::of(kOther));
            while (kernel.other_flag.load() != round) {
                kernel.port.wait(kBootHart);
            }
            const u64 told = kernel.shared_time.load();
            agree = agree && told != 0 && kernel.now().value >= told;
        }
        kernel.expect(agree, "no hart's clock is behind what it was told");
    }
    return kernel.done();
}

// Each hart's own timer preempts its own thread.
Port::Context* own_timers(Kernel& kernel, const Trap* trap) {
    if (trap == nullptr) {
        kernel.flag.store(0);
        kernel.mark = kernel.now();
        kernel.make_thread(1, kernel.space, 1);
        kernel.role.store([](Kernel& suite, HartIndex hart, const Trap& cause) -> Port::Context* {
            if (hart != kOther) {
                return nullptr;
            }
            if (suite.flag.load() >= 10) {
                suite.port.activate(hart, {0}, 0);
                suite.port.release_space(hart, suite.space.number);
                suite.port.disarm(hart);
                suite.other_flag.store(suite.flag.load());
                return nullptr;
            }
            Port::Context* thread = suite.threads[1];
            if (suite.flag.load() == 0) {
                suite.port.activate(hart, suite.space.root, suite.space.number);
            }
            suite.port.arm(hart, suite.port.now(hart) + Ticks{1'000});
            if (cause.kind == TrapKind::timer) {
                suite.flag.fetch_add(1);
            }
            if (cause.kind == TrapKind::call) {
                suite.order(thread, Order::work, static_cast<Word>(10 * second(suite).value));
            }
            return thread;
        });
        kernel.other_flag.store(0);
        kernel.port.kick(kBootHart, HartMask::of(kOther));
    }
    if (kernel.other_flag.load() < 10 && kernel.now() - kernel.mark < second(kernel)) {
        kernel.port.arm(kBootHart, kernel.now() + Ticks{5'000});
        return nullptr;
    }
    kernel.expect(kernel.other_flag.load() >= 10, "another hart's timer preempts its thread");
    kernel.drop_thread(1);
    return kernel.done();
}

// A page taken away while another hart uses it: gone there too when that hart has flushed it.
Port::Context* shootdown(Kernel& kernel, const Trap* trap) {
    if (trap == nullptr) {
        kernel.frame = kernel.take_frame();
        kernel.map(kernel.space, kTestPage, kernel.frame, abi::kRead | abi::kWrite);
        kernel.port.flush(kBootHart, kernel.space.number, kTestPage, 1);
        kernel.make_thread(1, kernel.space, 1);
        kernel.flag.store(0);
        kernel.role.store([](Kernel& suite, HartIndex hart, const Trap& cause) -> Port::Context* {
            if (hart != kOther) {
                return nullptr;
            }
            Port::Context* thread = suite.threads[1];
            switch (suite.flag.load()) {
            case 0:
                if (cause.kind != TrapKind::call) {
                    suite.port.activate(hart, suite.space.root, suite.space.number);
                    suite.port.flush(hart, suite.space.number, kTestPage, 1);
                    return thread;
                }
                suite.flag.store(1);
                return suite.order(thread, Order::store, kTestPage, 0x33);
            case 1:
                suite.flag.store(cause.kind == TrapKind::call ? 2 : 9);
                suite.port.kick(hart, HartMask::of(kBootHart));
                suite.order(thread, Order::work, static_cast<Word>(10 * second(suite).value));
                return thread;
            case 3:  // asked to flush
                suite.port.flush(hart, suite.space.number, kTestPage, 1);
                suite.flag.store(4);
                suite.port.kick(hart, HartMask::of(kBootHart));
                return thread;
            default: return thread;
            }
        });
        kernel.port.kick(kBootHart, HartMask::of(kOther));
    }
    if (!flag_becomes(kernel, kernel.flag, 2)) {
        kernel.expect(false, "the other hart's thread writes the page");
        return kernel.done();
    }
    kernel.table_entry(kernel.space, kTestPage) = {};
    kernel.port.flush(kBootHart, kernel.space.number, kTestPage, 1);
    kernel.flag.store(3);
    kernel.port.kick(kBootHart, HartMask::of(kOther));
    kernel.expect(flag_becomes(kernel, kernel.flag, 4),
                  "the other hart answers while its thread works");
    kernel.make_thread(2, kernel.space, 1);
    // The thread at work is not resumed any more: a new one tries the page on the other hart.
    kernel.other_flag.store(0);
    kernel.role.store([](Kernel& suite, HartIndex hart, const Trap& cause) -> Port::Context* {
        if (hart != kOther || suite.other_flag.load() != 0) {
            return nullptr;
        }
        if (cause.kind == TrapKind::kick) {
            return suite.threads[2];
        }
        if (cause.kind == TrapKind::call && suite.threads[2]->reg(1) == 1) {
            return suite.order(suite.threads[2], Order::load, kTestPage);
        }
        const bool gone = cause.kind == TrapKind::fault && cause.fault == FaultKind::load &&
                          cause.address == kTestPage;
        suite.port.activate(hart, {0}, 0);
        suite.port.release_space(hart, suite.space.number);
        suite.other_flag.store(gone ? 1 : 2);
        suite.port.kick(hart, HartMask::of(kBootHart));
        return nullptr;
    });
    kernel.port.kick(kBootHart, HartMask::of(kOther));
    kernel.expect(flag_becomes(kernel, kernel.other_flag, 1),
                  "what the other hart flushed is gone there");
    kernel.drop_thread(1);
    kernel.drop_thread(2);
    return kernel.done();
}

constexpr Check kChecks[] = {
    {"harts-start", 2, start},
    {"harts-kick-idle", 2, kick_idle},
    {"harts-kick-set", 3, kick_set},
    {"harts-kick-self", 1, kick_self},
    {"harts-kick-user", 2, kick_user},
    {"harts-hand-over", 2, hand_over},
    {"harts-wait-keeps-timer", 1, wait_keeps_timer},
    {"harts-clocks-agree", 2, clocks_agree},
    {"harts-own-timers", 2, own_timers},
    {"harts-shootdown", 2, shootdown},
};

}  // namespace

std::span<const Check> hart_checks() {
    return kChecks;
}

}  // namespace ravelin::conformance
