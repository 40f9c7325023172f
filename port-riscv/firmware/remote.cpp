// What one hart asks of another: S-mode interrupts and fences.
//
// A sender leaves its wish in the target's record and rings it; the target serves all wishes at
// once. A fence waits for its acks halted, with only the ring enabled, and serves others meanwhile:
// two harts that fence each other both get through.
//
// Order: a ring is taken back before the wishes are read, and rung after they are written, with a
// full fence between on both sides, so that no wish is left without a ring.

#include "port-riscv/firmware/firmware.h"

#include <bit>
#include <optional>

namespace ravelin::firmware {

namespace {

/// Above this many pages a fence flushes everything: cheaper than page by page on any core.
constexpr Word kPageBytes = 4096, kFlushPages = 64;

volatile std::uint32_t& software_register(Word id) noexcept {
    return device<std::uint32_t>(BOARD_CLINT_BASE + id * 4);
}

/// The harts that `mask` names from `base` on; nothing if one of them is not there.
std::optional<HartMask> named(Word mask, Word base) noexcept {
    if (base == ~Word{0}) return present;
    const std::uint64_t wide = mask;
    if (base >= kMaxHarts || (wide >> (kMaxHarts - base)) != 0) return {};
    const auto chosen = static_cast<HartMask>(wide << base);
    if ((chosen & ~present) != 0) return {};
    return chosen;
}

/// Calls `visit` with the id of each hart in the mask.
template <class Visit>
void for_each(HartMask mask, Visit visit) noexcept {
    for (; mask != 0; mask &= mask - 1) {
        visit(static_cast<Word>(std::countr_zero(mask)));
    }
}

bool whole_space(const Fence& fence) noexcept {
    if (fence.size == ~Word{0} || (fence.start == 0 && fence.size == 0)) return true;
    return fence.size > kFlushPages * kPageBytes || fence.start + fence.size < fence.start;
}

void carry_out(const Fence& fence) noexcept {
    const bool one_space = fence.kind == FenceKind::one_space;
    if (fence.kind == FenceKind::instructions) {
        fence_instructions();
    } else if (whole_space(fence)) {
        one_space ? flush_space(fence.asid) : flush_everything();
    } else {
        const Word first = fence.start & ~(kPageBytes - 1);
        const Word bytes = fence.start + fence.size - first;
        for (Word at = 0; at < bytes; at += kPageBytes) {
            one_space ? flush_page(first + at, fence.asid) : flush_page(first + at);
        }
    }
}

}  // namespace

void find_harts() noexcept {
    // A software interrupt register that no hart stands behind does not keep what is written.
    for (Word id = 0; id < kMaxHarts; ++id) {
        harts[id].state.store(RunState::stopped);
        software_register(id) = 1;
        if (software_register(id) != 0) present |= HartMask{1} << id;
    }
    firmware_may_join.store(1, std::memory_order_release);
}

void ring(Word id) noexcept {
    fence_all();
    software_register(id) = 1;
}

void serve(Word id) noexcept {
    Hart& self = harts[id];
    software_register(id) = 0;
    fence_all();
    if (self.software.exchange(0) != 0) csr_set<kMip>(kSoftware);
    for_each(self.fences_from.exchange(0), [](Word sender) {
        carry_out(harts[sender].fence);
        harts[sender].acks_due.fetch_sub(1);
        ring(sender);
    });
}

sbi::Error send_interrupts(Word mask, Word base) noexcept {
    const std::optional<HartMask> targets = named(mask, base);
    if (!targets) return sbi::Error::invalid_param;
    const Word me = self_id();
    for_each(*targets, [=](Word id) {
        if (id == me) {
            csr_set<kMip>(kSoftware);
        } else if (harts[id].state.load() == RunState::started) {
            harts[id].software.store(1);
            ring(id);
        }
    });
    return sbi::Error::success;
}

sbi::Error send_fence(Word mask, Word base, const Fence& fence) noexcept {
    const std::optional<HartMask> targets = named(mask, base);
    if (!targets) return sbi::Error::invalid_param;
    const Word me = self_id();
    Hart& self = harts[me];
    self.fence = fence;
    // The caller's stores come before the look at who has started: wait_for_start has the other
    // half of this order.
    fence_all();
    for_each(*targets, [&](Word id) {
        if (id == me) {
            carry_out(fence);
        } else if (harts[id].state.load() == RunState::started) {
            self.acks_due.fetch_add(1);
            harts[id].fences_from.fetch_or(HartMask{1} << me);
            ring(id);
        }
    });
    const Word enabled = csr_read<kMie>();
    csr_write<kMie>(kMachineSoftware);
    for (;;) {
        serve(me);
        if (self.acks_due.load() == 0) break;
        wait_for_interrupt();
    }
    csr_write<kMie>(enabled);
    return sbi::Error::success;
}

}  // namespace ravelin::firmware
