// Checks of what only a RISC-V machine has: the registers that a trap must save and bring back whatever they
// hold, and the state that the kernel must find itself in at each entry.

#include "tests/conformance/kernel.h"

extern "C" const char conformance_registers[], conformance_registers_end[];
extern "C" void ravelin_kernel_trap();

namespace ravelin::conformance {

namespace {

using riscv::csr_read;

constexpr Word kMissing = kTestPage + kPageSize;

bool has_own_values(const Port::Context& context) {
    for (Word number = 1; number < 32; ++number) {
        if (context.x[number] != 0x5a00'0000 + number * 0x1'0101) {
            return false;
        }
    }
    return true;
}

// Another thread runs between the two calls.
Port::Context* every_register(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    switch (kernel.step) {
    case 0: {
        kernel.frame = kernel.take_frame();
        std::memcpy(kernel.words(kernel.frame), conformance_registers,
                    static_cast<std::size_t>(conformance_registers_end - conformance_registers));
        kernel.map(kernel.space, kTestPage, kernel.frame, abi::kRead | abi::kExecute);
        kernel.port.sync_code(kBootHart);
        kernel.port.flush(kBootHart, kernel.space.number, kTestPage, 1);
        return kernel.make_thread_at(0, kernel.space, kTestPage, 0);
    }
    case 1:
        kernel.expect(trap->kind == TrapKind::call && has_own_values(*thread),
                      "a call saves every register");
        return kernel.make_thread(1, kernel.space, 0x22);
    case 2:
        kernel.expect(kernel.answered(*trap, kernel.threads[1], 0x22), "another thread runs");
        kernel.drop_thread(1);
        return thread;
    default:
        kernel.expect(trap->kind == TrapKind::call && has_own_values(*thread),
                      "every register came back");
        kernel.drop_thread(0);
        kernel.table_entry(kernel.space, kTestPage) = 0;
        kernel.port.flush(kBootHart, kernel.space.number, kTestPage, 1);
        return kernel.done();
    }
}

void expect_sound_state(Kernel& kernel) {
    const Word state = csr_read<riscv::kSstatus>();
    kernel.expect((state & riscv::kSupervisorInterrupts) == 0, "interrupts are off in the kernel");
    kernel.expect((state & (riscv::kUserAccess | riscv::kExecutableReads)) == 0,
                  "the kernel may not use user addresses");
    kernel.expect((state & (riscv::kFloatState | riscv::kVectorState)) == 0,
                  "floating point and vectors are off");
    kernel.expect(csr_read<riscv::kStvec>() == reinterpret_cast<Word>(&ravelin_kernel_trap),
                  "a trap of the kernel is told from the user's");
}

// After a trap of every kind but a device's.
Port::Context* entry_state(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    expect_sound_state(kernel);
    switch (kernel.step) {
    case 0: return kernel.make_thread(0, kernel.space, 1);
    case 1:
        kernel.expect(kernel.answered(*trap, thread, 1), "a call");
        kernel.port.arm(kBootHart, kernel.now() + Ticks{50});
        return kernel.order(thread, Order::work, 1'000);
    case 2:
        kernel.expect(trap->kind == TrapKind::timer, "a timer");
        kernel.port.disarm(kBootHart);
        kernel.port.kick(kBootHart, HartMask::of(kBootHart));
        return thread;
    case 3: kernel.expect(trap->kind == TrapKind::kick, "a kick"); return thread;
    case 4:
        kernel.expect(trap->kind == TrapKind::call, "a call after the work");
        return kernel.order(thread, Order::load, kMissing);
    case 5:
        kernel.expect(trap->kind == TrapKind::fault, "a fault");
        kernel.drop_thread(0);
        kernel.port.arm(kBootHart, kernel.now() + Ticks{50});
        return nullptr;
    default:
        kernel.expect(trap->kind == TrapKind::timer, "a timer from idle");
        kernel.port.disarm(kBootHart);
        return kernel.done();
    }
}

constexpr Check kChecks[] = {
    {"riscv-every-register", 1, every_register},
    {"riscv-entry-state", 1, entry_state},
};

}  // namespace

std::span<const Check> machine_checks() {
    return kChecks;
}

}  // namespace ravelin::conformance
