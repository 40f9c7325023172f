// The panic page: what is printed when the kernel itself faults or finds its own rule broken, before
// the machine ends as failed. A fault while it is printed ends the machine at once.

#include "core/assert.h"
#include "port-riscv/machine.h"

namespace ravelin {

namespace {

// Registers by number; 0 stands for the pc.
constexpr std::string_view kNames[32] = {"pc", "ra", "sp",  "gp",  "tp", "t0", "t1", "t2",
                                         "s0", "s1", "a0",  "a1",  "a2", "a3", "a4", "a5",
                                         "a6", "a7", "s2",  "s3",  "s4", "s5", "s6", "s7",
                                         "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};

void print_registers(const riscv::HartBlock& block) {
    constexpr u32 kRow = 4;
    for (u32 first = 0; first < 32; first += kRow) {
        riscv::Line line;
        for (u32 number = first; number < first + kRow; ++number) {
            line.text(number == first ? "  " : " ")
                .text(kNames[number])
                .text(" ")
                .hex(block.registers[number], sizeof(Word) * 2);
        }
        riscv::machine().write(line.end());
    }
}

[[noreturn]] void end(riscv::HartBlock& block, const char* what) {
    if (block.kernel == nullptr) {
        riscv::refuse(what);
    }
    end_kernel(block, what);
}

}  // namespace

namespace riscv {

/// The kernel trapped; its registers are in the block. Does not return.
extern "C" void ravelin_kernel_fault(HartBlock* block, Word cause, Word value) noexcept {
    if (block->faulted != 0) {
        power_off(ResetKind::off_failed);
    }
    block->faulted = 1;
    machine().write(Line{}
                        .text("ravelin: kernel fault on hart ")
                        .number(block->index.value)
                        .text(": cause ")
                        .hex(cause)
                        .text(" address ")
                        .hex(value)
                        .end());
    print_registers(*block);
    end(*block, "kernel fault");
}

}  // namespace riscv

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    auto& block = *reinterpret_cast<riscv::HartBlock*>(riscv::csr_read<riscv::kSscratch>());
    riscv::machine().write(riscv::Line{}
                               .text("ravelin: assertion failed on hart ")
                               .number(block.index.value)
                               .text(": ")
                               .text(expression)
                               .text(" at ")
                               .text(file)
                               .text(":")
                               .number(static_cast<u64>(line))
                               .end());
    end(block, "assertion failed");
}

}  // namespace ravelin
