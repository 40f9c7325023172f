// Traps in C++: what a cause means, and what a hart does with what the kernel answers.

#include "port-riscv/machine.h"

namespace ravelin::riscv {

namespace {

constexpr Word kInterrupt = ~(~Word{0} >> 1);

enum Cause : Word {
    kSupervisorSoftware = kInterrupt | 1,
    kSupervisorTimer = kInterrupt | 5,
    kSupervisorExternal = kInterrupt | 9,
    kUserCall = 8,
    kFetchPageFault = 12,
    kLoadPageFault = 13,
    kStorePageFault = 15,
};

// An access fault is no page fault: the tables allow the access and the machine does not, so nothing is
// gained by trying again.
FaultKind fault_of(Word cause) {
    switch (cause) {
    case kFetchPageFault: return FaultKind::fetch;
    case kLoadPageFault: return FaultKind::load;
    case kStorePageFault: return FaultKind::store;
    default: return FaultKind::illegal;
    }
}

Port::Context* enter_from_idle(HartBlock& block) noexcept {
    const Word pending = csr_read<kSip>() & kEveryInterrupt;
    Trap trap;
    if ((pending & kExternal) != 0) {
        trap.kind = TrapKind::external;
    } else if ((pending & kSoftware) != 0) {
        take_back_kick();
        trap.kind = TrapKind::kick;
    } else if ((pending & kTimer) != 0) {
        trap.kind = TrapKind::timer;
    } else {
        return nullptr;
    }
    return enter(*block.kernel, block.index, trap);
}

}  // namespace

Port::Context* settle(HartBlock& block, Port::Context* next) noexcept {
    while (next == nullptr) {
        wait_for_interrupt();
        next = enter_from_idle(block);
    }
    return next;
}

/// A trap from user mode; everything of it is in `context`. Returns what the hart runs next.
extern "C" Port::Context* ravelin_trap(HartBlock* block, Port::Context* context, Word cause,
                                       Word value) noexcept {
    Trap trap;
    context->after_call = 0;
    if (cause == kUserCall) {
        context->x[0] += Port::Context::kCallBytes;
        context->after_call = 1;
        trap.kind = TrapKind::call;
    } else if (cause == kSupervisorTimer) {
        trap.kind = TrapKind::timer;
    } else if (cause == kSupervisorSoftware) {
        take_back_kick();
        trap.kind = TrapKind::kick;
    } else if (cause == kSupervisorExternal) {
        trap.kind = TrapKind::external;
    } else {
        trap.kind = TrapKind::fault;
        trap.fault = fault_of(cause);
        trap.address = value;
    }
    return settle(*block, enter(*block->kernel, block->index, trap));
}

/// A started hart, on its own stack. One that comes too late stays where it is.
extern "C" Port::Context* ravelin_secondary(HartBlock* block) noexcept {
    set_hart_state();
    machine().open_interrupts(block->index);
    u32 state = 0;
    if (!block->alive.compare_exchange_strong(state, kHartAlive)) {
        csr_write<kSie>(0);
        for (;;) {
            wait_for_interrupt();
        }
    }
    // A compare register that was never written is due.
    machine().disarm(block->index);
    machine().kick(block->index, HartMask::of({}));
    return settle(*block, hart_online(*block->kernel, block->index));
}

}  // namespace ravelin::riscv
