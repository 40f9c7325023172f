// Interrupts: what a device's line does from the controller to a thread, to an idle hart and to another
// hart. The line is that of TestDevice; a board without one skips these checks.
//
// Whether a line that stays high becomes pending again at a completion is the controller's affair: a
// check that completes has lowered the line, or raises it anew meanwhile.

#include "tests/conformance/kernel.h"

namespace ravelin::conformance {

namespace {

constexpr Word kWork = 20'000;  // longer than an interrupt takes to arrive

u32 source(Kernel& kernel) {
    return kernel.device.source;
}

void enable(Kernel& kernel, bool on) {
    kernel.port.set_enabled(kBootHart, source(kernel), on);
}

void complete(Kernel& kernel) {
    kernel.port.complete(kBootHart, source(kernel));
}

// What the thread did when it entered: an interrupt of the device, or its call after all of the work.
bool interrupted(const Trap& trap) {
    return trap.kind == TrapKind::external;
}
bool undisturbed(const Kernel& kernel, const Trap& trap) {
    return Kernel::answered(trap, kernel.threads[0], 0);
}

Port::Context* work(Kernel& kernel) {
    return Kernel::order(kernel.threads[0], Order::work, kWork);
}

// The line raised while disabled does nothing; enabled, it interrupts the thread; claimed, it does not
// again; completed, a line raised meanwhile does.
Port::Context* claim_and_complete(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    switch (kernel.step) {
    case 0: return kernel.make_thread(0, kernel.space, 1);
    case 1: enable(kernel, false); return kernel.set_line(thread, true);
    case 2: return work(kernel);
    case 3:
        kernel.expect(undisturbed(kernel, *trap), "a disabled source does not interrupt");
        kernel.expect(kernel.port.claim(kBootHart) == 0, "nor is it claimed");
        enable(kernel, true);
        return work(kernel);
    case 4:
        kernel.expect(interrupted(*trap), "an enabled source interrupts the thread");
        kernel.expect(kernel.port.claim(kBootHart) == source(kernel), "it is what is claimed");
        kernel.expect(kernel.port.claim(kBootHart) == 0, "once");
        return thread;
    case 5:
        kernel.expect(undisturbed(kernel, *trap), "a claimed source does not interrupt again");
        return kernel.set_line(thread, false);
    case 6: return kernel.set_line(thread, true);
    case 7: return work(kernel);
    case 8:
        kernel.expect(undisturbed(kernel, *trap), "nor when its line rises anew");
        complete(kernel);
        return work(kernel);
    case 9:
        kernel.expect(interrupted(*trap),
                      "completed, it interrupts for the line that rose meanwhile");
        kernel.expect(kernel.port.claim(kBootHart) == source(kernel), "and is claimed again");
        return thread;
    case 10: return kernel.set_line(thread, false);
    case 11:
        complete(kernel);
        enable(kernel, false);
        return work(kernel);
    default:
        kernel.expect(undisturbed(kernel, *trap), "lowered and completed, it is quiet");
        kernel.expect(kernel.port.claim(kBootHart) == 0, "and nothing is pending");
        kernel.drop_thread(0);
        return kernel.done();
    }
}

// Complete first, then disable: the source is not stuck, and a line that rises later interrupts when it
// is enabled again.
Port::Context* masked(Kernel& kernel, const Trap* trap) {
    constexpr unsigned kRounds = 4, kSteps = 5;
    Port::Context* thread = kernel.threads[0];
    if (kernel.step == 0) {
        enable(kernel, false);
        return kernel.make_thread(0, kernel.space, 1);
    }
    if (kernel.step == kRounds * kSteps + 1 || kernel.check_failed) {
        kernel.drop_thread(0);
        return kernel.done();
    }
    switch ((kernel.step - 1) % kSteps) {
    case 0: return kernel.set_line(thread, true);
    case 1: return work(kernel);
    case 2:
        kernel.expect(undisturbed(kernel, *trap), "a disabled source does not interrupt");
        enable(kernel, true);
        return work(kernel);
    case 3:
        kernel.expect(interrupted(*trap), "enabled, it does");
        kernel.expect(kernel.port.claim(kBootHart) == source(kernel), "and is claimed");
        complete(kernel);
        enable(kernel, false);
        return thread;
    default:
        kernel.expect(undisturbed(kernel, *trap), "completed and disabled, it is quiet");
        return kernel.set_line(thread, false);
    }
}

// An idle hart enters by the interrupt.
Port::Context* idle(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    switch (kernel.step) {
    case 0: return kernel.make_thread(0, kernel.space, 1);
    case 1: enable(kernel, false); return kernel.set_line(thread, true);
    case 2: enable(kernel, true); return nullptr;
    case 3:
        kernel.expect(interrupted(*trap), "an interrupt ends the idling");
        kernel.expect(kernel.port.claim(kBootHart) == source(kernel), "and its source is claimed");
        return kernel.set_line(thread, false);
    default:
        complete(kernel);
        enable(kernel, false);
        kernel.drop_thread(0);
        return kernel.done();
    }
}

// Any hart takes it: one claims it, and the other finds nothing then.
Port::Context* another_hart(Kernel& kernel, const Trap*) {
    Port::Context* thread = kernel.threads[0];
    switch (kernel.step) {
    case 0: return kernel.make_thread(0, kernel.space, 1);
    case 1: enable(kernel, false); return kernel.set_line(thread, true);
    case 2:
        kernel.flag.store(0);
        kernel.role.store([](Kernel& suite, HartIndex hart, const Trap& cause) -> Port::Context* {
            if (cause.kind == TrapKind::external && suite.flag.load() == 0) {
                // Of those that come at once, one has the claim.
                const u32 claimed = suite.port.claim(hart);
                if (claimed != 0) {
                    suite.other_flag.store(claimed);
                    suite.flag.store(1 + hart.value);
                    suite.port.kick(hart, HartMask::of(kBootHart));
                }
            } else if (cause.kind == TrapKind::kick && suite.flag.load() == 1 + hart.value) {
                // The claim is its own, and so is the completion.
                suite.port.complete(hart, suite.device.source);
                suite.other_flag.store(0);
                suite.port.kick(hart, HartMask::of(kBootHart));
            }
            return nullptr;
        });
        enable(kernel, true);
        while (kernel.flag.load() == 0) {
            kernel.port.wait(kBootHart);
        }
        kernel.expect(kernel.other_flag.load() == source(kernel), "another hart claims it");
        kernel.expect(kernel.port.claim(kBootHart) == 0, "and then there is nothing to claim");
        return kernel.set_line(thread, false);
    default:
        kernel.port.kick(kBootHart, HartMask::of({kernel.flag.load() - 1}));
        while (kernel.other_flag.load() != 0) {
            kernel.port.wait(kBootHart);
        }
        enable(kernel, false);
        kernel.drop_thread(0);
        return kernel.done();
    }
}

constexpr Check kChecks[] = {
    {"interrupts-claim-and-complete", 1, claim_and_complete, true},
    {"interrupts-masked", 1, masked, true},
    {"interrupts-idle", 1, idle, true},
    {"interrupts-another-hart", 2, another_hart, true},
};

}  // namespace

std::span<const Check> interrupt_checks() {
    return kChecks;
}

}  // namespace ravelin::conformance
