// S-mode's timer: the hart's own compare register (Sstc) where it has one, else the CLINT's.
//
// Rule: a deadline in the past fires at once, and arming withdraws what an earlier deadline left
// pending. Both hold because the hardware compares levels.

#include "port-riscv/firmware/firmware.h"

namespace ravelin::firmware {

namespace {

/// The CLINT takes its registers by halves on either width.
void write_clint(Word id, std::uint64_t deadline) noexcept {
    const Word compare = BOARD_CLINT_BASE + 0x4000 + id * 8;
    write_compare(
        deadline, device<std::uint32_t>(compare + 4),
        [=](std::uint32_t low) { device<std::uint32_t>(compare) = low; },
        [=](std::uint32_t high) { device<std::uint32_t>(compare + 4) = high; });
}

}  // namespace

void timer_init() noexcept {
    harts[self_id()].own_compare = firmware_enable_sstc() != 0;
    timer_set(kNeverFires);
}

void timer_set(std::uint64_t deadline) noexcept {
    const Word id = self_id();
    if (harts[id].own_compare) {
        set_compare(deadline);
        return;
    }
    csr_clear<kMip>(kTimer);
    write_clint(id, deadline);
    csr_set<kMie>(kMachineTimer);
}

void timer_fired() noexcept {
    csr_clear<kMie>(kMachineTimer);
    csr_set<kMip>(kTimer);
}

}  // namespace ravelin::firmware
