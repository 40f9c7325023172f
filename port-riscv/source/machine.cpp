// The port's downcalls that are not inline: harts, the firmware's console and timer, the machine's end.

#include "port-riscv/machine.h"

#include <new>

#include "core/abi/trace.h"

alignas(LAYOUT_PAGE)
    [[gnu::section(".bss.uncleared")]] ravelin::riscv::HartStack ravelin_stacks[ravelin::kMaxHarts];

extern "C" void ravelin_secondary_start();

namespace ravelin {

namespace {

// How long a hart may take from its start to C++ code. Firmware needs microseconds, and an emulator whose
// host has other work some tenths of a second.
constexpr u64 kStartMillis = 1000;

Word physical(const void* pointer) {
    return reinterpret_cast<Word>(pointer) - LAYOUT_OFFSET;
}

Word physical(void (*function)()) {
    return reinterpret_cast<Word>(function) - LAYOUT_OFFSET;
}

// The bench reads the trace out of the machine's RAM; see docs/trace.md.
void report(Port& port) {
    if constexpr (Port::kCounting) {
        for (u32 index = 0; index < port.board.harts; ++index) {
            const riscv::HartBlock& block = Port::block({index});
            port.write(riscv::Line{}
                           .text("ravelin: hart ")
                           .number(index)
                           .text(": interrupts ")
                           .number(block.claims)
                           .text(", lost claims ")
                           .number(block.lost_claims)
                           .text(", skipped halts ")
                           .number(block.skipped_halts)
                           .end());
        }
        if (port.board.trace.count == 0) {
            return;
        }
        const auto* head =
            static_cast<const abi::TraceHead*>(port.frame_pointer(port.board.trace.first));
        if (std::memcmp(head->magic, "RAVTRACE", sizeof head->magic) != 0) {
            return;
        }
        port.write(riscv::Line{}
                       .text("RAVELIN-TRACE ")
                       .hex(u64{port.board.trace.first.value} * kPageSize)
                       .text(" ")
                       .number(sizeof *head + head->records * sizeof(abi::TraceRecord) +
                               abi::trace_blocks(head->records) * sizeof(abi::TraceSums))
                       .end());
    }
}

}  // namespace

bool Port::start(HartIndex hart, HartIndex other) noexcept {
    riscv::HartBlock& started = block(other);
    if (started.alive.load(std::memory_order_acquire) != 0) {
        return false;
    }
    const u64 end = riscv::read_clock() + board.timebase / 1000 * kStartMillis;
    riscv::fence_all();
    const sbi::Result answer = riscv::call_firmware(sbi::kHsm, sbi::hsm::kStart, started.id,
                                                    physical(&ravelin_secondary_start));
    const char* why = " refused by the firmware";
    if (answer.error == sbi::Error::success) {
        why = " did not start in time";
        while (started.alive.load(std::memory_order_acquire) == 0 && riscv::read_clock() < end) {
            // The hart's own kick ends the wait early; one that is pending already is the kernel's.
            set_timer(hart, riscv::read_clock() + board.timebase / 1000);
            const Word pending = riscv::csr_read<riscv::kSip>() & riscv::kSoftware;
            riscv::csr_write<riscv::kSie>(riscv::kTimer | (riscv::kSoftware & ~pending));
            riscv::wait_for_interrupt();
        }
        riscv::csr_write<riscv::kSie>(riscv::kEveryInterrupt);
        // The kernel had armed a timer, which this took: it comes early.
        set_timer(hart, 0);
    }
    u32 state = 0;
    if (!started.alive.compare_exchange_strong(state, riscv::kHartGivenUp)) {
        return true;
    }
    write(riscv::Line{}.text("ravelin: hart id ").number(started.id).text(why).end());
    return false;
}

void Port::kick(HartIndex hart, HartMask harts) noexcept {
    // One call reaches the ids from a base on that fit a register's bits; boards number closely.
    constexpr u32 kBits = sizeof(Word) * 8;
    while (!harts.empty()) {
        Word base = riscv::kNoHart;
        for (u32 index = 0; index < kMaxHarts; ++index) {
            if (harts.has({index}) && block({index}).id < base) {
                base = block({index}).id;
            }
        }
        Word bits = 0;
        for (u32 index = 0; index < kMaxHarts; ++index) {
            const Word distance = block({index}).id - base;
            if (harts.has({index}) && distance < kBits) {
                bits |= Word{1} << distance;
                harts.bits &= ~HartMask::of({index}).bits;
            }
        }
        riscv::call_firmware(sbi::kIpi, sbi::ipi::kSend, bits, base);
    }
    yield_turn(hart);
}

// Lets a kicked hart run before this one goes on where harts take turns on one host thread: an emulator
// ends a turn at wfi, and otherwise only when the next timer is due. This hart's own timer is made
// pending meanwhile, so that a machine whose harts run at once goes on at once.
void Port::yield_turn(HartIndex hart) noexcept {
    const u64 timer = compare_register ? riscv::read_compare() : block(hart).timer;
    set_timer(hart, 0);
    riscv::wait_for_interrupt();
    set_timer(hart, timer);
}

bool Port::make_context(HartIndex, Context& context, const ContextStart& start) noexcept {
    context = {};
    context.x[0] = start.entry;
    context.x[Context::kStackRegister] = start.stack;
    context.x[Context::kArgumentRegister] = start.argument;
    return true;
}

void Port::write(std::span<const char> bytes) noexcept {
    if (!debug_console) {
        for (const char byte : bytes) {
            riscv::call_firmware(sbi::kLegacyPutchar, 0, static_cast<u8>(byte));
        }
        return;
    }
    while (!bytes.empty()) {
        const sbi::Result answer = riscv::call_firmware(sbi::kDbcn, sbi::dbcn::kWrite, bytes.size(),
                                                        physical(bytes.data()), 0);
        if (answer.error != sbi::Error::success || answer.value > bytes.size()) {
            return;
        }
        bytes = bytes.subspan(answer.value);
    }
}

void Port::reset(HartIndex, ResetKind kind) noexcept {
    report(*this);
    riscv::power_off(kind);
}

void Port::set_firmware_timer(u64 when) noexcept {
    riscv::call_firmware(sbi::kTime, sbi::timer::kSet, static_cast<Word>(when),
                         sizeof(Word) == 4 ? static_cast<Word>(when >> 32) : 0);
}

namespace riscv {

Port& machine() noexcept {
    alignas(Port) static std::byte room[sizeof(Port)];
    return *std::launder(reinterpret_cast<Port*>(room));
}

void set_hart_state() noexcept {
    csr_clear<kSstatus>(kSupervisorInterrupts | kPreviousInterrupts | kPreviousSupervisor |
                        kFloatState | kVectorState | kUserAccess | kExecutableReads);
    csr_write<kScounteren>(kUserClock);
    csr_write<kSie>(kEveryInterrupt);
}

void power_off(ResetKind kind) noexcept {
    constexpr std::string_view kNames[] = {"off", "reboot", "failed"};
    machine().write(Line{}.text("RAVELIN-OFF ").text(kNames[static_cast<u32>(kind)]).end());
    call_firmware(sbi::kSrst, sbi::srst::kReset,
                  kind == ResetKind::reboot ? sbi::srst::kColdReboot : sbi::srst::kShutdown,
                  kind == ResetKind::off_failed ? sbi::srst::kSystemFailure : sbi::srst::kNoReason);
    call_firmware(sbi::kLegacyShutdown, 0);
    csr_write<kSie>(0);
    for (;;) {
        wait_for_interrupt();
    }
}

void refuse(std::string_view what, std::string_view detail) noexcept {
    machine().write(Line{}.text("ravelin: refused: ").text(what).text(detail).end());
    power_off(ResetKind::off_failed);
}

}  // namespace riscv

}  // namespace ravelin
