// The port's functions that are not inline, and the library's face. See ravelin_port.h.

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "port-hosted/source/host_time.h"
#include "port-hosted/source/machine.h"
#include "port-hosted/source/panic.h"

namespace ravelin {

using hosted::panic;

namespace {

// A strict machine's timer comes early rather than farther away than this.
constexpr u64 kStrictFarthest = hosted::kTimebase;

// The words of entropy, among all that is derived from the seed.
constexpr u64 kEntropy = 32;

}  // namespace

Ticks Port::real_now() noexcept {
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return {hosted::ticks_of(now)};
}

void Port::arm_slowly(HartIndex hart) noexcept {
    Turn& turn = turns_[hart.value];
    if (machine_.options.strict && turn.armed != kNever.value) {
        turn.armed = std::min(turn.armed, now(hart).value + kStrictFarthest);
    }
    if (real_) {
        machine_.set_timer(*machine_.harts[hart.value]);
    }
}

void Port::pass_turn(HartIndex hart) noexcept {
    hosted::Hart& mine = *machine_.harts[hart.value];
    machine_.block(mine, mine.loop, turns_[hart.value].time, false);
}

bool Port::start(HartIndex hart, HartIndex other) noexcept {
    if (other.value >= board_.harts) {
        return false;
    }
    return real_ ? machine_.start_thread(other) : machine_.start_virtual(hart, other);
}

void Port::kick(HartIndex hart, HartMask harts) noexcept {
    if (real_) {
        machine_.kick_real(harts);
    } else {
        machine_.kick_virtual(hart, harts);
    }
}

void Port::wait(HartIndex hart) noexcept {
    hosted::Hart& mine = *machine_.harts[hart.value];
    if (real_) {
        machine_.wait_real(mine);
    } else {
        machine_.wait_virtual(mine);
    }
}

bool Port::make_context(HartIndex, Context& context, const ContextStart& start) noexcept {
    if (machine_.contexts.load(std::memory_order_relaxed) == hosted::StackPool::kMostSlots) {
        return false;
    }
    machine_.contexts.fetch_add(1, std::memory_order_relaxed);
    context = {.registers = {start.argument},
               .entry = start.entry,
               .stack = start.stack,
               .thread = nullptr,
               .space = start.space,
               .made = 1,
               .again = 0,
               .was_call = 0};
    return true;
}

void Port::drop_context(HartIndex, Context& context) noexcept {
    if (context.made == 0) {
        panic("drop_context: a context that was never made");
    }
    if (context.thread != nullptr) {
        machine_.stacks.give(*context.thread);
    }
    machine_.contexts.fetch_sub(1, std::memory_order_relaxed);
    context = {};
}

void Port::activate(HartIndex hart, FrameNumber root, u32 space) noexcept {
    machine_.windows->activate(hart, root, space);
}

void Port::flush(HartIndex hart, u32 space, Word address, u32 count) noexcept {
    machine_.windows->flush(hart, space, address, count);
}

void Port::release_space(HartIndex hart, u32 space) noexcept {
    machine_.windows->release(hart, space);
}

void Port::assert_frame_unmapped(FrameNumber frame) noexcept {
    machine_.windows->assert_unmapped(frame);
}

u32 Port::claim(HartIndex hart) noexcept {
    const u32 source = machine_.interrupts.claim();
    hosted::HartCounts& counts = machine_.harts[hart.value]->counts;
    ++(source == 0 ? counts.lost_claims : counts.claims);
    return source;
}

void Port::complete(HartIndex, u32 source) noexcept {
    machine_.interrupts.complete(source);
    machine_.announce_interrupts();
}

void Port::set_enabled(HartIndex, u32 source, bool on) noexcept {
    machine_.interrupts.set_enabled(source, on);
    machine_.announce_interrupts();
}

void Port::console(HartIndex, std::span<const char> bytes) noexcept {
    if (machine_.options.console) {
        machine_.options.console(bytes);
        return;
    }
    while (!bytes.empty()) {
        const ssize_t wrote = ::write(1, bytes.data(), bytes.size());
        if (wrote <= 0 && errno != EINTR) {
            return;  // nobody reads it any more
        }
        bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(wrote, 0)));
    }
}

void Port::entropy(std::span<std::byte, 32> seed) noexcept {
    for (u64 i = 0; i < 4; ++i) {
        const u64 word = hosted::mix(machine_.options.seed, kEntropy + i);
        std::memcpy(seed.data() + 8 * i, &word, 8);
    }
}

void Port::reset(HartIndex hart, ResetKind kind) noexcept {
    hosted::Hart& mine = *machine_.harts[hart.value];
    const hosted::End end = kind == ResetKind::off      ? hosted::End::off
                            : kind == ResetKind::reboot ? hosted::End::reboot
                                                        : hosted::End::off_failed;
    machine_.finish(mine, mine.loop, end, now(hart).value);
}

}  // namespace ravelin

namespace ravelin::hosted {

HostedMachine::HostedMachine(const HostedOptions& options)
    : machine_(std::make_unique<Machine>(options)) {}
HostedMachine::~HostedMachine() = default;

Port& HostedMachine::port() {
    return machine_->port;
}

BootProgram HostedMachine::boot_program(void (*entry)(Word argument), Word argument) {
    return {.entry = entry_value(entry), .stack = 0, .argument = argument, .segments = {}};
}

Result HostedMachine::run(Kernel& kernel, const BootProgram& program) {
    return machine_->run(kernel, program);
}

void HostedMachine::set_line(u32 source, bool high) {
    machine_->set_line(source, high);
}

Word entry_value(void (*entry)(Word argument)) {
    return reinterpret_cast<Word>(entry) - image().base;
}

}  // namespace ravelin::hosted
