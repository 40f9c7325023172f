// A kernel that does nothing but fault, on the RISC-V port: what must come of it is the panic page and a
// machine that ends as failed, never a loop. How many harts the machine has says which fault it is.

#include <new>

#include "core/assert.h"
#include "port-riscv/machine.h"

namespace ravelin {

struct Kernel {
    Port& port;
};

namespace {

enum class Fault : u32 {
    load = 1,         ///< of what is not mapped
    store_to_code,    ///< which is not writable
    fetch_from_data,  ///< which is not executable
    user_page,        ///< one that user code may read; the kernel must not
    stack,            ///< runs into its guard page
    assertion,        ///< not a trap: the kernel found its own rule broken
    twice,            ///< and again while the first is told
};

constexpr Word kUnmapped = 0x10;
constexpr Word kUserPage = 0x4000'0000;

Fault chosen;
alignas(LAYOUT_PAGE) Word data[LAYOUT_PAGE / sizeof(Word)];

template <class T>
T opaque(T value) {
    asm volatile("" : "+r"(value));
    return value;
}

void load(Word address) {
    static_cast<void>(*reinterpret_cast<volatile Word*>(opaque(address)));
}

// Deeper than any stack; what comes back is used, so that no call becomes a jump.
[[gnu::noinline]] Word descend(Word depth) {
    volatile Word room[16];
    room[depth % 16] = depth;
    return opaque(depth) == 0 ? 0 : descend(depth + 1) + room[depth % 16];
}

// Shows that the page is there for who may use user addresses, and then reads it as the kernel does.
void read_user_page(Port& port) {
    using Format = Port::Format;
    FrameNumber next = port.facts().ram.front().first;
    const auto take = [&] {
        std::memset(port.frame_pointer(next), 0, kPageSize);
        return FrameNumber{next.value++};
    };
    const FrameNumber root = take();
    FrameNumber table = root;
    for (unsigned level = Format::kLevels; level-- > 0;) {
        const u64 place = u64{kUserPage} / kPageSize >> level * Format::kIndexBits;
        auto* entries = static_cast<Format::Entry*>(port.frame_pointer(table));
        table = take();
        entries[place & ((1U << Format::kIndexBits) - 1)] =
            level == 0 ? Format::leaf(table, abi::kRead | abi::kWrite) : Format::table(table);
    }
    port.activate({}, root, 1);
    riscv::csr_set<riscv::kSstatus>(riscv::kUserAccess);
    load(kUserPage);
    port.write(riscv::Line{}.text("the page is there").end());
    riscv::set_hart_state();
    load(kUserPage);
}

void make(Fault fault, Port& port) {
    switch (fault) {
    case Fault::load:
    case Fault::twice: return load(kUnmapped);
    case Fault::store_to_code: *const_cast<volatile char*>(ravelin_image_start) = 0; return;
    case Fault::fetch_from_data: return reinterpret_cast<void (*)()>(opaque(&data[0]))();
    case Fault::user_page: return read_user_page(port);
    case Fault::stack: static_cast<void>(descend(opaque(Word{1}))); return;
    case Fault::assertion: assertion_failed("one is two", "faults", 1);
    }
}

}  // namespace

namespace riscv {

Kernel& make_kernel(Port& port) noexcept {
    alignas(Kernel) static std::byte room[sizeof(Kernel)];
    return *new (room) Kernel{port};
}

void end_kernel(HartBlock&, const char* what) noexcept {
    if (chosen == Fault::twice) {
        load(kUnmapped);
    }
    machine().write(Line{}.text("the kernel ends: ").text(what).end());
    power_off(ResetKind::off_failed);
}

}  // namespace riscv

Port::Context* boot(Kernel& kernel, const BootProgram&) {
    chosen = static_cast<Fault>(kernel.port.facts().harts);
    const auto hex = [](const void* address) { return reinterpret_cast<Word>(address); };
    kernel.port.write(riscv::Line{}.text("code ").hex(hex(ravelin_image_start)).end());
    kernel.port.write(riscv::Line{}.text("data ").hex(hex(data)).end());
    kernel.port.write(riscv::Line{}.text("guard ").hex(hex(ravelin_stacks[0].guard)).end());
    make(chosen, kernel.port);
    kernel.port.write(riscv::Line{}.text("nothing came of it").end());
    riscv::power_off(ResetKind::off);
}

Port::Context* hart_online(Kernel&, HartIndex) {
    return nullptr;
}

Port::Context* enter(Kernel&, HartIndex, const Trap&) {
    return nullptr;
}

}  // namespace ravelin
