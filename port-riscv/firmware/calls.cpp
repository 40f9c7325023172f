// The calls S-mode makes: what each extension answers.
//
// Rule: SBI 1.0 with the debug console of 2.0. a0 is the error and a1 the value, every other
// register is as it was; legacy calls answer in a0 alone. What is not here is not supported.

#include "port-riscv/firmware/firmware.h"

namespace ravelin::firmware {

namespace {

using sbi::Error;
using sbi::Result;

constexpr Word kSpecVersion = Word{1} << 24;
constexpr Word kImplementationVersion = 1;

/// A 64-bit argument: one register, or on rv32 a pair of them, low half first.
std::uint64_t wide(Word low, Word high) noexcept {
    if constexpr (sizeof(Word) == 8) return low;
    return std::uint64_t{high} << 32 | low;
}

Result probe(Word extension) noexcept {
    switch (extension) {
    case sbi::kBase:
    case sbi::kTime:
    case sbi::kIpi:
    case sbi::kRfence:
    case sbi::kHsm:
    case sbi::kSrst:
    case sbi::kDbcn:
    case sbi::kLegacySetTimer:
    case sbi::kLegacyPutchar:
    case sbi::kLegacyGetchar:
    case sbi::kLegacyShutdown: return {Error::success, 1};
    default: return {Error::success, 0};
    }
}

Result base_call(Word function, Word argument) noexcept {
    switch (function) {
    case sbi::base::kSpecVersion: return {Error::success, kSpecVersion};
    case sbi::base::kImplementationId: return {Error::success, sbi::kOurImplementation};
    case sbi::base::kImplementationVersion: return {Error::success, kImplementationVersion};
    case sbi::base::kProbe: return probe(argument);
    case sbi::base::kVendor: return {Error::success, csr_read<kMvendorid>()};
    case sbi::base::kArchitecture: return {Error::success, csr_read<kMarchid>()};
    case sbi::base::kMachine: return {Error::success, csr_read<kMimpid>()};
    default: return {Error::not_supported};
    }
}

Result fence_call(Word function, const Word* a) noexcept {
    switch (function) {
    case sbi::rfence::kFenceI: return {send_fence(a[0], a[1], {FenceKind::instructions, 0, 0, 0})};
    case sbi::rfence::kSfenceVma:
        return {send_fence(a[0], a[1], {FenceKind::all_spaces, a[2], a[3], 0})};
    case sbi::rfence::kSfenceVmaAsid:
        return {send_fence(a[0], a[1], {FenceKind::one_space, a[2], a[3], a[4]})};
    default: return {Error::not_supported};
    }
}

constexpr Word kFault = ~Word{0};

/// Loads a byte as S-mode would, or answers kFault. PMP alone would refuse the firmware's memory,
/// but an emulator may answer from a translation it kept of the page these instructions are on.
Word load_for_supervisor(Word address) noexcept {
    if (address - FIRMWARE_RAM_BASE < FIRMWARE_BYTES) return kFault;
    return firmware_guarded_load(address);
}

/// S-mode may start a hart where S-mode may itself read, at an instruction's alignment.
bool can_start_at(Word address) noexcept {
    return (address & 1) == 0 && load_for_supervisor(address) != kFault;
}

Error hart_start(Word id, Word address, Word opaque) noexcept {
    if (!exists(id)) return Error::invalid_param;
    if (!can_start_at(address)) return Error::invalid_address;
    Hart& hart = harts[id];
    auto expected = RunState::stopped;
    if (!hart.state.compare_exchange_strong(expected, RunState::claimed)) {
        return Error::already_available;
    }
    hart.start_address = address;
    hart.opaque = opaque;
    hart.state.store(RunState::ready);
    ring(id);
    return Error::success;
}

[[noreturn]] void hart_stop() noexcept {
    const Word id = self_id();
    csr_write<kMie>(kMachineSoftware);
    timer_disarm();
    harts[id].state.store(RunState::stopped);
    wait_for_start(id);
}

Result hart_status(Word id) noexcept {
    if (!exists(id)) return {Error::invalid_param};
    auto status = sbi::HartStatus::start_pending;
    switch (harts[id].state.load()) {
    case RunState::started: status = sbi::HartStatus::started; break;
    case RunState::stopped: status = sbi::HartStatus::stopped; break;
    case RunState::claimed:
    case RunState::ready: break;
    }
    return {Error::success, static_cast<Word>(status)};
}

Result hart_call(Word function, const Word* a) noexcept {
    switch (function) {
    case sbi::hsm::kStart: return {hart_start(a[0], a[1], a[2])};
    case sbi::hsm::kStop: hart_stop();
    case sbi::hsm::kStatus: return hart_status(a[0]);
    default: return {Error::not_supported};
    }
}

Result reset_call(Word function, Word type, Word reason) noexcept {
    if (function != 0) return {Error::not_supported};
    if (type > sbi::srst::kWarmReboot || reason > sbi::srst::kSystemFailure) {
        return {Error::invalid_param};
    }
    end_machine(type, reason == sbi::srst::kSystemFailure);
}

/// Writes or reads up to `bytes` at a physical address; answers how many it did. The high half of
/// the address must be 0: no such memory is within a register's reach.
Result console_bytes(Word function, Word bytes, Word address, Word high) noexcept {
    if (high != 0 || address + bytes < address) return {Error::invalid_param};
    for (Word done = 0; done < bytes; ++done) {
        if (function == sbi::dbcn::kWrite) {
            const Word byte = load_for_supervisor(address + done);
            if (byte == kFault) return {Error::invalid_param};
            console_put(static_cast<char>(byte));
            continue;
        }
        // A byte once received cannot be put back: the buffer is tried first, with what it holds.
        const Word held = load_for_supervisor(address + done);
        if (held == kFault || firmware_guarded_store(address + done, held) != 0) {
            return {Error::invalid_param};
        }
        const int byte = console_get();
        if (byte < 0) return {Error::success, done};
        firmware_guarded_store(address + done, static_cast<Word>(byte));
    }
    return {Error::success, bytes};
}

Result console_call(Word function, const Word* a) noexcept {
    switch (function) {
    case sbi::dbcn::kWrite:
    case sbi::dbcn::kRead: return console_bytes(function, a[0], a[1], a[2]);
    case sbi::dbcn::kWriteByte: console_put(static_cast<char>(a[0])); return {};
    default: return {Error::not_supported};
    }
}

/// True if the call was a legacy one.
bool legacy_call(Word* a) noexcept {
    switch (a[7]) {
    case sbi::kLegacySetTimer:
        timer_set(wide(a[0], a[1]));
        a[0] = 0;
        return true;
    case sbi::kLegacyPutchar:
        console_put(static_cast<char>(a[0]));
        a[0] = 0;
        return true;
    case sbi::kLegacyGetchar: a[0] = static_cast<Word>(console_get()); return true;
    case sbi::kLegacyShutdown: end_machine(sbi::srst::kShutdown, false);
    default: return false;
    }
}

Result extension_call(const Word* a) noexcept {
    const Word function = a[6];
    switch (a[7]) {
    case sbi::kBase: return base_call(function, a[0]);
    case sbi::kTime:
        if (function != 0) return {Error::not_supported};
        timer_set(wide(a[0], a[1]));
        return {};
    case sbi::kIpi:
        if (function != 0) return {Error::not_supported};
        return {send_interrupts(a[0], a[1])};
    case sbi::kRfence: return fence_call(function, a);
    case sbi::kHsm: return hart_call(function, a);
    case sbi::kSrst: return reset_call(function, a[0], a[1]);
    case sbi::kDbcn: return console_call(function, a);
    default: return {Error::not_supported};
    }
}

}  // namespace

void call(Frame& frame) noexcept {
    if (legacy_call(frame.a)) return;
    const Result result = extension_call(frame.a);
    frame.a[0] = static_cast<Word>(result.error);
    frame.a[1] = result.value;
}

void end_machine(Word type, bool failure) noexcept {
    constexpr std::uint32_t kPass = 0x5555;
    constexpr std::uint32_t kFail = 0x3333;
    constexpr std::uint32_t kReboot = 0x7777;
    constexpr std::uint32_t kExitCode = 1U << 16;
    std::uint32_t order = failure ? kFail | kExitCode : kPass;
    if (type != sbi::srst::kShutdown) order = kReboot;
    device<std::uint32_t>(BOARD_FINISHER_BASE) = order;
    for (;;) {
        wait_for_interrupt();
    }
}

}  // namespace ravelin::firmware
