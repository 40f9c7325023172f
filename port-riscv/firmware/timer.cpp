// S-mode's timer: the hart's own compare register (Sstc) where it has one, else the CLINT's.
//
// Rule: a deadline in the past fires at once, and arming withdraws what an earlier deadline left
// pending. Both hold because the hardware compares levels; the halves are written in split.h's
// order. All harts of a machine are alike in Sstc or not; each keeps its own answer all the same.

#include "port-riscv/firmware/firmware.h"
#include "port-riscv/firmware/split.h"

namespace ravelin::firmware {

namespace {

constexpr Word kCompare = BOARD_CLINT_BASE + 0x4000;

/// Bit h: hart h has its own compare register.
std::atomic<HartMask> own_compare;

bool has_own_compare(Word id) noexcept {
    return ((own_compare.load(std::memory_order_relaxed) >> id) & 1U) != 0;
}

void write_clint(Word id, std::uint64_t deadline) noexcept {
    const Word reg = kCompare + id * 8;
    if constexpr (sizeof(Word) == 8) {
        device<std::uint64_t>(reg) = deadline;
    } else {
        write_compare(
            deadline, [=](std::uint32_t low) { device<std::uint32_t>(reg) = low; },
            [=](std::uint32_t high) { device<std::uint32_t>(reg + 4) = high; });
    }
}

void write_own(std::uint64_t deadline) noexcept {
    if constexpr (sizeof(Word) == 8) {
        csr_write<kStimecmp>(static_cast<Word>(deadline));
    } else {
        write_compare(
            deadline, [](std::uint32_t low) { csr_write<kStimecmp>(low); },
            [](std::uint32_t high) { csr_write<kStimecmph>(high); });
    }
}

}  // namespace

void timer_init() noexcept {
    const Word id = self_id();
    write_clint(id, ~std::uint64_t{0});
    if (firmware_enable_sstc() != 0) {
        own_compare.fetch_or(HartMask{1} << id, std::memory_order_relaxed);
    }
    timer_disarm();
}

void timer_set(std::uint64_t deadline) noexcept {
    const Word id = self_id();
    if (has_own_compare(id)) {
        write_own(deadline);
        return;
    }
    csr_clear<kMip>(kSupervisorTimer);
    write_clint(id, deadline);
    csr_set<kMie>(kMachineTimer);
}

void timer_disarm() noexcept {
    timer_set(~std::uint64_t{0});
    csr_clear<kMie>(kMachineTimer);
}

void timer_fired() noexcept {
    csr_clear<kMie>(kMachineTimer);
    csr_set<kMip>(kSupervisorTimer);
}

}  // namespace ravelin::firmware
