// What the port asks of the kernel's own type: its room in the image, and its end. The conformance suite,
// which is a kernel of its own, has the same two functions (tests/conformance/riscv_main.cpp).

#include <new>

#include "core/entry/panic.h"
#include "core/kernel.h"
#include "port-riscv/machine.h"

namespace ravelin::riscv {

namespace {

constexpr u64 kLastRecords = 12;

alignas(Kernel) std::byte kernel_room[sizeof(Kernel)];

void print_last_records(const Kernel& kernel) {
    if constexpr (trace::kOn) {
        const abi::TraceHead* head = kernel.trace.head();
        if (head == nullptr) {
            return;
        }
        const auto* records = reinterpret_cast<const abi::TraceRecord*>(head + 1);
        const u64 count = kernel.trace.count();
        for (u64 place = count < kLastRecords ? 0 : count - kLastRecords; place < count; ++place) {
            const abi::TraceRecord& record = records[place];
            riscv::machine().write(riscv::Line{}
                                       .text("  record ")
                                       .number(place)
                                       .text(": entry ")
                                       .number(record.entry)
                                       .text(" hart ")
                                       .number(record.hart)
                                       .text(" kind ")
                                       .number(record.kind)
                                       .text(" what ")
                                       .number(record.what)
                                       .text(" id ")
                                       .number(record.id)
                                       .text(" x ")
                                       .hex(record.x)
                                       .text(" y ")
                                       .hex(record.y)
                                       .end());
        }
    }
}

}  // namespace

Kernel& make_kernel(Port& port) noexcept {
    return *new (kernel_room) Kernel(port);
}

void end_kernel(HartBlock& block, const char* what) noexcept {
    print_last_records(*block.kernel);
    panic(*block.kernel, block.kernel->hart(block.index), what);
}

}  // namespace ravelin::riscv
