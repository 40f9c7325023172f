// The calls S-mode makes: what each extension answers.
//
// Rule: SBI 1.0 with the debug console of 2.0. a0 is the error and a1 the value, every other
// register is as it was; legacy calls answer in a0 alone. What is not here is not supported.

#include "port-riscv/firmware/firmware.h"

namespace ravelin::firmware {

namespace {

using sbi::Error;
using sbi::Result;

constexpr Word kOurSpecVersion = Word{1} << 24, kOurVersion = 1;

constexpr Word kExtensions[] = {
    sbi::kBase,          sbi::kTime,          sbi::kIpi,           sbi::kRfence,
    sbi::kHsm,           sbi::kSrst,          sbi::kDbcn,          sbi::kLegacySetTimer,
    sbi::kLegacyPutchar, sbi::kLegacyGetchar, sbi::kLegacyShutdown};

bool supported(Word extension) noexcept {
    for (const Word known : kExtensions) {
        if (known == extension) return true;
    }
    return false;
}

constexpr Word kFault = ~Word{0};

/// Loads a byte as S-mode would, or answers kFault. PMP alone would refuse the firmware's memory,
/// but an emulator may answer from a translation it kept of the page these instructions are on.
Word load_for_supervisor(Word address) noexcept {
    if (address - FIRMWARE_RAM_BASE < FIRMWARE_BYTES) return kFault;
    return firmware_guarded_load(address);
}

/// A hart may start where S-mode may itself read, at an instruction's alignment.
Error hart_start(Word id, Word address, Word opaque) noexcept {
    if (!exists(id)) return Error::invalid_param;
    if ((address & 1) != 0 || load_for_supervisor(address) == kFault) return Error::invalid_address;
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
    timer_set(kNeverFires);
    csr_write<kMie>(kMachineSoftware);
    harts[id].state.store(RunState::stopped);
    wait_for_start(id);
}

Result hart_status(Word id) noexcept {
    if (!exists(id)) return {Error::invalid_param};
    return {Error::success, static_cast<Word>(harts[id].state.load()) & 3};
}

Error reset(Word type, Word reason) noexcept {
    if (type > sbi::srst::kWarmReboot || reason > sbi::srst::kSystemFailure) {
        return Error::invalid_param;
    }
    end_machine(type, reason == sbi::srst::kSystemFailure);
}

/// Writes or reads up to `bytes` at a physical address; answers how many it did. The high half of
/// the address must be 0: no such memory is within a register's reach.
Result console_bytes(Word function, Word bytes, Word address, Word high) noexcept {
    if (high != 0 || address + bytes < address) return {Error::invalid_param};
    for (Word done = 0; done < bytes; ++done) {
        const Word held = load_for_supervisor(address + done);
        if (held == kFault) return {Error::invalid_param};
        if (function == sbi::dbcn::kWrite) {
            console_put(static_cast<char>(held));
            continue;
        }
        // A byte once received cannot be put back: the buffer is tried first, with what it holds.
        if (firmware_guarded_store(address + done, held) != 0) return {Error::invalid_param};
        const int byte = console_get();
        if (byte < 0) return {Error::success, done};
        firmware_guarded_store(address + done, static_cast<Word>(byte));
    }
    return {Error::success, bytes};
}

/// An extension and a function in one number; both ids are 32 bits wide. A legacy extension is one
/// call, whatever the function.
constexpr std::uint64_t id_of(Word extension, Word function) noexcept {
    const Word which = extension < sbi::kBase ? 0 : function;
    return std::uint64_t{extension} << 32 | static_cast<std::uint32_t>(which);
}

Result answer(const Word* a) noexcept {
    using namespace sbi;
    // A 64-bit argument is one register, or on rv32 a pair of them, low half first.
    const std::uint64_t deadline = sizeof(Word) == 8 ? a[0] : std::uint64_t{a[1]} << 32 | a[0];
    switch (id_of(a[7], a[6])) {
    case id_of(kBase, base::kSpecVersion): return {Error::success, kOurSpecVersion};
    case id_of(kBase, base::kImplementationId): return {Error::success, kOurImplementation};
    case id_of(kBase, base::kImplementationVersion): return {Error::success, kOurVersion};
    case id_of(kBase, base::kProbe): return {Error::success, supported(a[0])};
    case id_of(kBase, base::kVendor): return {Error::success, csr_read<kMvendorid>()};
    case id_of(kBase, base::kArchitecture): return {Error::success, csr_read<kMarchid>()};
    case id_of(kBase, base::kMachine): return {Error::success, csr_read<kMimpid>()};
    case id_of(kLegacySetTimer, 0):
    case id_of(kTime, timer::kSet): timer_set(deadline); return {};
    case id_of(kIpi, ipi::kSend): return {send_interrupts(a[0], a[1])};
    case id_of(kRfence, rfence::kFenceI):
        return {send_fence(a[0], a[1], {FenceKind::instructions, 0, 0, 0})};
    case id_of(kRfence, rfence::kSfenceVma):
        return {send_fence(a[0], a[1], {FenceKind::all_spaces, a[2], a[3], 0})};
    case id_of(kRfence, rfence::kSfenceVmaAsid):
        return {send_fence(a[0], a[1], {FenceKind::one_space, a[2], a[3], a[4]})};
    case id_of(kHsm, hsm::kStart): return {hart_start(a[0], a[1], a[2])};
    case id_of(kHsm, hsm::kStop): hart_stop();
    case id_of(kHsm, hsm::kStatus): return hart_status(a[0]);
    case id_of(kSrst, srst::kReset): return {reset(a[0], a[1])};
    case id_of(kDbcn, dbcn::kWrite):
    case id_of(kDbcn, dbcn::kRead): return console_bytes(a[6], a[0], a[1], a[2]);
    case id_of(kLegacyGetchar, 0): return {static_cast<Error>(console_get())};
    case id_of(kLegacyShutdown, 0): end_machine(srst::kShutdown, false);
    case id_of(kLegacyPutchar, 0):
    case id_of(kDbcn, dbcn::kWriteByte): console_put(static_cast<char>(a[0])); return {};
    default: return {Error::not_supported};
    }
}

}  // namespace

void call(Frame& frame) noexcept {
    const bool legacy = frame.a[7] < sbi::kBase;
    const Result result = answer(frame.a);
    frame.a[0] = static_cast<Word>(result.error);
    if (!legacy) frame.a[1] = result.value;
}

void end_machine(Word type, bool failure) noexcept {
    // The finisher's orders; a failure carries exit code 1 in its upper half.
    constexpr std::uint32_t kPass = 0x5555, kFail = 0x13333, kReboot = 0x7777;
    const std::uint32_t end = failure ? kFail : kPass;
    const std::uint32_t order = type == sbi::srst::kShutdown ? end : kReboot;
    device<std::uint32_t>(BOARD_FINISHER_BASE) = order;
    for (;;) {
        wait_for_interrupt();
    }
}

}  // namespace ravelin::firmware
