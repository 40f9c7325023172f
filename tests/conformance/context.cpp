// Contexts: registers in and out, what a thread keeps over a trap, garbage, and a trap taken again.

#include "tests/conformance/kernel.h"

namespace ravelin::conformance {

namespace {

constexpr Word kAskSeed = 0x51;
constexpr Word kAnswerSeed = 0xa7;

Port::Context* registers(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    switch (kernel.step) {
    case 0: return kernel.make_thread(0, kernel.space, 0x1234);
    case 1:
        kernel.expect(kernel.answered(*trap, thread, 0x1234),
                      "the thread starts with its argument");
        return kernel.order(thread, Order::pattern, kAskSeed, kAnswerSeed);
    case 2:
        kernel.expect(trap->kind == TrapKind::call && thread->reg(0) == kReady, "the thread calls");
        for (unsigned place = 1; place < abi::kCallRegisters; ++place) {
            kernel.expect(thread->reg(place) == pattern(kAskSeed, place),
                          "a call's registers come in");
        }
        for (unsigned place = 0; place < abi::kCallRegisters; ++place) {
            thread->set_reg(place, pattern(kAnswerSeed, place));
            kernel.expect(thread->reg(place) == pattern(kAnswerSeed, place),
                          "a written register reads back");
        }
        return thread;
    default:
        kernel.expect(kernel.answered(*trap, thread, abi::kCallRegisters), "the answers come out");
        kernel.drop_thread(0);
        return kernel.done();
    }
}

// Over calls and over timer interrupts at whatever instruction. Each interrupt since the last call puts the
// next one off by a tick, so that the thread gets on where an interrupt takes longer than the timer.
Port::Context* keeps(Kernel& kernel, const Trap* trap) {
    constexpr Word kCalls = 1'000;
    Port::Context* thread = kernel.threads[0];
    if (trap == nullptr) {
        kernel.counter = 0;
        kernel.mark = {};
        return kernel.make_thread(0, kernel.space, 1);
    }
    kernel.mark = trap->kind == TrapKind::timer ? kernel.mark + Ticks{1} : Ticks{};
    kernel.port.arm(kBootHart, kernel.now() + Ticks{1 + kernel.step % 50} + kernel.mark);
    if (trap->kind == TrapKind::timer) {
        return thread;
    }
    if (kernel.answered(*trap, thread, kKept)) {
        ++kernel.counter;
        return thread;
    }
    if (kernel.counter == 0) {
        return kernel.order(thread, Order::keep, kCalls);
    }
    kernel.expect(kernel.answered(*trap, thread, 0), "no value is lost over a trap");
    kernel.expect(kernel.counter == kCalls, "every call came once");
    kernel.drop_thread(0);
    return kernel.done();
}

// Two threads of one space, resumed in turn.
Port::Context* two_threads(Kernel& kernel, const Trap* trap) {
    const unsigned slot = kernel.step % 2;
    if (kernel.step < 2) {
        kernel.expect(kernel.step == 0 || kernel.answered(*trap, kernel.threads[0], 100),
                      "the first starts");
        return kernel.make_thread(slot, kernel.space, 100 + slot);
    }
    if (kernel.step == 2) {
        kernel.expect(kernel.answered(*trap, kernel.threads[1], 101), "the second starts");
    } else {
        Port::Context* last = kernel.threads[1 - slot];
        kernel.expect(kernel.answered(*trap, last, 0), "the thread resumed is the one that traps");
        kernel.expect(last->reg(2) == (kernel.step - 1) / 2, "each thread counts its own orders");
    }
    if (kernel.step < 200) {
        return kernel.order(kernel.threads[slot], Order::work, 1);
    }
    kernel.drop_thread(0);
    kernel.drop_thread(1);
    return kernel.done();
}

bool is_fault(const Trap& trap, FaultKind kind, Word address) {
    return trap.kind == TrapKind::fault && trap.fault == kind && trap.address == address;
}

// A load and a store of nothing fault at their address; with the page there they are made after
// all.
Port::Context* fault_resumes(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    constexpr Word kAddress = kTestPage + 0x128;
    switch (kernel.step) {
    case 0: return kernel.make_thread(0, kernel.space, 1);
    case 1: return kernel.order(thread, Order::load, kAddress);
    case 2:
        kernel.expect(is_fault(*trap, FaultKind::load, kAddress),
                      "a load of nothing faults at its address");
        kernel.frame = kernel.take_frame();
        kernel.words(kernel.frame)[0x128 / sizeof(Word)] = 0x77;
        kernel.map(kernel.space, kTestPage, kernel.frame, abi::kRead);
        kernel.port.flush(kBootHart, kernel.space.number, kTestPage, 1);
        return thread;
    case 3:
        kernel.expect(kernel.answered(*trap, thread, 0x77),
                      "the load is made when the page is there");
        return kernel.order(thread, Order::store, kAddress, 0x88);
    case 4:
        kernel.expect(is_fault(*trap, FaultKind::store, kAddress),
                      "a store without the right faults");
        kernel.map(kernel.space, kTestPage, kernel.frame, abi::kRead | abi::kWrite);
        kernel.port.flush(kBootHart, kernel.space.number, kTestPage, 1);
        return thread;
    default:
        kernel.expect(kernel.answered(*trap, thread, 0x88),
                      "the store is made when the right is there");
        kernel.expect(kernel.words(kernel.frame)[0x128 / sizeof(Word)] == 0x88,
                      "the kernel sees it");
        kernel.table_entry(kernel.space, kTestPage) = {};
        kernel.port.flush(kBootHart, kernel.space.number, kTestPage, 1);
        kernel.drop_thread(0);
        return kernel.done();
    }
}

Port::Context* illegal(Kernel& kernel, const Trap* trap) {
    switch (kernel.step) {
    case 0: return kernel.make_thread(0, kernel.space, 1);
    case 1: return kernel.order(kernel.threads[0], Order::illegal);
    default:
        kernel.expect(trap->kind == TrapKind::fault && trap->fault == FaultKind::illegal,
                      "an illegal instruction faults");
        kernel.drop_thread(0);
        return kernel.done();
    }
}

Port::Context* finish(Kernel& kernel, const Trap* trap) {
    switch (kernel.step) {
    case 0: return kernel.make_thread(0, kernel.space, 1);
    case 1: return kernel.order(kernel.threads[0], Order::finish);
    case 2:
    case 3:
        kernel.expect(is_fault(*trap, FaultKind::fetch, 0), "a thread that returns fetches from 0");
        if (kernel.step == 2) {
            return kernel.threads[0];  // and again
        }
        kernel.drop_thread(0);
        return kernel.done();
    default: return kernel.done();
    }
}

// Entries where nothing can be executed: the thread starts, and faults there.
Port::Context* bad_entry(Kernel& kernel, const Trap* trap) {
    constexpr u64 kUserEnd = Port::Format::kUserEnd;
    constexpr Word kEntries[] = {0,
                                 4,
                                 kTestPage,
                                 static_cast<Word>(kUserEnd - kPageSize),
                                 ~Word{0} - 0xfff,
                                 ~Word{0} >> 1 & ~Word{0xfff}};
    if (trap != nullptr) {
        kernel.expect(trap->kind == TrapKind::fault && trap->fault == FaultKind::fetch,
                      "a thread with a bad entry faults at the fetch");
        kernel.expect(trap->address == kEntries[kernel.step - 1], "at the entry");
        kernel.drop_thread(0);
    }
    if (kernel.step == std::size(kEntries)) {
        return kernel.done();
    }
    return kernel.make_thread_at(0, kernel.space, kEntries[kernel.step], 0);
}

// Threads that end before they first ran, and what comes after them in the same memory.
Port::Context* drop_unrun(Kernel& kernel, const Trap* trap) {
    if (trap == nullptr) {
        for (unsigned i = 0; i < 1'000; ++i) {
            kernel.make_thread(0, kernel.space, i);
            kernel.drop_thread(0);
        }
        return kernel.make_thread(0, kernel.space, 0x5eed);
    }
    if (kernel.step == 1) {
        kernel.expect(kernel.answered(*trap, kernel.threads[0], 0x5eed),
                      "a thread runs after them");
    } else {
        kernel.expect(kernel.answered(*trap, kernel.threads[0], kernel.step), "each starts anew");
    }
    kernel.drop_thread(0);  // the one that trapped
    if (kernel.step == 100) {
        return kernel.done();
    }
    return kernel.make_thread(0, kernel.space, kernel.step + 1);
}

// A call that is undone comes again with the registers it had, once for each time, and the thread
// sees one call.
Port::Context* call_again(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    switch (kernel.step) {
    case 0: return kernel.make_thread(0, kernel.space, 1);
    case 1: return kernel.order(thread, Order::pattern, kAskSeed, kAnswerSeed);
    case 2:
    case 3:
    case 4:
        kernel.expect(trap->kind == TrapKind::call && thread->reg(0) == kReady,
                      "the call is taken again");
        for (unsigned place = 1; place < abi::kCallRegisters; ++place) {
            kernel.expect(thread->reg(place) == pattern(kAskSeed, place),
                          "with the same registers");
        }
        if (kernel.step < 4) {
            thread->retake();
            return thread;
        }
        for (unsigned place = 0; place < abi::kCallRegisters; ++place) {
            thread->set_reg(place, pattern(kAnswerSeed, place));
        }
        return thread;
    default:
        kernel.expect(kernel.answered(*trap, thread, abi::kCallRegisters),
                      "the thread sees one answer");
        kernel.drop_thread(0);
        return kernel.done();
    }
}

// The same with another thread and an interrupt in between.
Port::Context* call_again_later(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    switch (kernel.step) {
    case 0: return kernel.make_thread(0, kernel.space, 0x11);
    case 1:
        kernel.expect(kernel.answered(*trap, thread, 0x11), "the first calls");
        thread->retake();
        return kernel.make_thread(1, kernel.space, 0x22);
    case 2:
        kernel.expect(kernel.answered(*trap, kernel.threads[1], 0x22), "the second calls");
        kernel.port.arm(kBootHart, {0});  // pending when the first is resumed
        return thread;
    case 3:
        kernel.expect(trap->kind == TrapKind::timer, "a pending interrupt comes before the call");
        kernel.port.disarm(kBootHart);
        thread->retake();  // the interrupt is not pending any more, the call still is
        return thread;
    case 4:
        kernel.expect(kernel.answered(*trap, thread, 0x11), "then the call is taken again");
        return kernel.order(thread, Order::work, 1);
    default:
        kernel.expect(kernel.answered(*trap, thread, 0), "and answered once");
        kernel.expect(thread->reg(2) == 1, "the thread saw one answer");
        kernel.drop_thread(0);
        kernel.drop_thread(1);
        return kernel.done();
    }
}

Port::Context* fault_again(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    constexpr Word kAddress = kTestPage + 8;
    switch (kernel.step) {
    case 0: return kernel.make_thread(0, kernel.space, 1);
    case 1: return kernel.order(thread, Order::store, kAddress, 0x99);
    case 2:
    case 3:
    case 4:
        kernel.expect(is_fault(*trap, FaultKind::store, kAddress), "the fault is taken again");
        if (kernel.step == 4) {
            kernel.frame = kernel.take_frame();
            kernel.map(kernel.space, kTestPage, kernel.frame, abi::kRead | abi::kWrite);
            kernel.port.flush(kBootHart, kernel.space.number, kTestPage, 1);
        }
        thread->retake();
        return thread;
    default:
        kernel.expect(kernel.answered(*trap, thread, 0x99), "until its cause is gone");
        kernel.table_entry(kernel.space, kTestPage) = {};
        kernel.port.flush(kBootHart, kernel.space.number, kTestPage, 1);
        kernel.drop_thread(0);
        return kernel.done();
    }
}

// An interrupt that is undone is pending or not by itself; the call before it is not made again.
Port::Context* interrupt_again(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    switch (kernel.step) {
    case 0: return kernel.make_thread(0, kernel.space, 1);
    case 1:
        kernel.port.arm(kBootHart, kernel.now() + Ticks{200});
        return kernel.order(thread, Order::work, 5'000);
    case 2:
    case 3:
        kernel.expect(trap->kind == TrapKind::timer, "a timer not armed again stays pending");
        thread->retake();
        if (kernel.step == 3) {
            kernel.port.disarm(kBootHart);
        }
        return thread;
    default:
        kernel.expect(kernel.answered(*trap, thread, 0),
                      "the thread goes on and its call comes once");
        kernel.expect(thread->reg(2) == 1, "it saw one answer");
        kernel.drop_thread(0);
        return kernel.done();
    }
}

// An interrupt that comes right behind a completed call, before the thread runs: undoing it does
// not bring the call back.
Port::Context* interrupt_behind_call(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    switch (kernel.step) {
    case 0: return kernel.make_thread(0, kernel.space, 1);
    case 1: kernel.port.arm(kBootHart, {0}); return kernel.order(thread, Order::work, 7);
    case 2:
        kernel.expect(trap->kind == TrapKind::timer, "the pending interrupt comes first");
        thread->retake();
        kernel.port.disarm(kBootHart);
        return thread;
    default:
        kernel.expect(kernel.answered(*trap, thread, 0) && thread->reg(2) == 1, "the call is done");
        kernel.drop_thread(0);
        return kernel.done();
    }
}

constexpr Check kChecks[] = {
    {"context-registers", 1, registers},
    {"context-keeps", 1, keeps},
    {"context-two-threads", 1, two_threads},
    {"context-fault-resumes", 1, fault_resumes},
    {"context-illegal", 1, illegal},
    {"context-finish", 1, finish},
    {"context-bad-entry", 1, bad_entry},
    {"context-drop-unrun", 1, drop_unrun},
    {"context-call-again", 1, call_again},
    {"context-call-again-later", 1, call_again_later},
    {"context-fault-again", 1, fault_again},
    {"context-interrupt-again", 1, interrupt_again},
    {"context-interrupt-behind-call", 1, interrupt_behind_call},
};

}  // namespace

std::span<const Check> context_checks() {
    return kChecks;
}

}  // namespace ravelin::conformance
