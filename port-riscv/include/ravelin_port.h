// The RISC-V port: S-mode under SBI, Sv39 on rv64 and Sv32 on rv32. Included by core/port.h only.
//
// One Port of a machine; boot.cpp fills it from the device tree and it is fixed from then on, but for
// the count of code changes. What every entry uses is inline here.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "core/types.h"
#include "port-riscv/context.h"
#include "port-riscv/csr.h"
#include "port-riscv/format.h"
#include "port-riscv/hart.h"
#include "port-riscv/layout.h"
#include "port-riscv/plic.h"

namespace ravelin {

class Port {
  public:
    using Context = riscv::Context;
#if __riscv_xlen == 64
    using Format = riscv::Sv39;
#else
    using Format = riscv::Sv32;
#endif

    // Time.
    Ticks now(HartIndex) noexcept { return {riscv::read_clock()}; }

    void arm(HartIndex hart, Ticks when) noexcept {
        const Ticks last = now(hart) + farthest;
        set_timer(hart, when < last ? when.value : last.value);
    }

    void disarm(HartIndex hart) noexcept { set_timer(hart, kNever.value); }

    // Harts.
    bool start(HartIndex hart, HartIndex other) noexcept;
    void kick(HartIndex hart, HartMask harts) noexcept;

    void wait(HartIndex hart) noexcept {
        riscv::csr_write<riscv::kSie>(riscv::kSoftware);
        if ((riscv::csr_read<riscv::kSip>() & riscv::kSoftware) == 0) {
            riscv::wait_for_interrupt();
        } else {
            if constexpr (kCounting) {
                ++block(hart).skipped_halts;
            }
        }
        riscv::take_back_kick();
        riscv::csr_write<riscv::kSie>(riscv::kEveryInterrupt);
    }

    // Context.
    bool make_context(HartIndex, Context& context, const ContextStart& start) noexcept;
    void drop_context(HartIndex, Context&) noexcept {}

    // Memory.
    void* frame_pointer(FrameNumber frame) noexcept {
        return reinterpret_cast<void*>(Word{frame.value} * kPageSize + LAYOUT_OFFSET);
    }
    FrameNumber frame_number(const void* pointer) noexcept {
        return {static_cast<u32>((reinterpret_cast<Word>(pointer) - LAYOUT_OFFSET) / kPageSize)};
    }

    /// The window's entries of a root table are written when a hart first meets it; see create_space.
    void activate(HartIndex hart, FrameNumber root, u32 space) noexcept {
        if (root.value == 0) {
            riscv::csr_write<riscv::kSatp>(kernel_space);
            if (!numbered_spaces) {
                riscv::flush_everything();
            }
            return;
        }
        auto* table = static_cast<Format::Entry*>(frame_pointer(root));
        if (table[kImageEntry] == 0) {
            std::memcpy(table + kWindowEntry, kernel_root + kWindowEntry,
                        kWindowEntries * sizeof *table);
            riscv::flush_space(space);
        }
        riscv::csr_write<riscv::kSatp>(kPaging | Word{space & space_mask} << kSpaceShift |
                                       root.value);
        if (!numbered_spaces) {
            riscv::flush_everything();
        }
        fetch_new_code(hart);
    }

    /// The whole space is flushed: a page's own flush does not cover the tables that led to it.
    void flush(HartIndex hart, u32 space, Word, u32) noexcept {
        riscv::flush_space(space & space_mask);
        fetch_new_code(hart);
    }

    void release_space(HartIndex, u32 space) noexcept { riscv::flush_space(space & space_mask); }

    /// Other harts fetch afresh when they next switch to a space or flush one.
    void sync_code(HartIndex hart) noexcept {
        ++code_changes;
        fetch_new_code(hart);
    }

    // Interrupts.
    u32 claim(HartIndex hart) noexcept {
        const u32 source = plic.claim(block(hart).plic_context);
        if constexpr (kCounting) {
            ++(source == 0 ? block(hart).lost_claims : block(hart).claims);
        }
        return source;
    }
    void complete(HartIndex hart, u32 source) noexcept {
        plic.complete(block(hart).plic_context, source);
    }
    void set_enabled(HartIndex, u32 source, bool on) noexcept {
        for (u32 index = 0; index < board.harts; ++index) {
            plic.enable(block({index}).plic_context, source, on);
        }
    }

    /// The hart's context of the controller begins: nothing enabled, every priority through. By each hart
    /// itself, since firmware may set it otherwise as it starts the hart; before any source is enabled.
    void open_interrupts(HartIndex hart) noexcept { plic.open(block(hart).plic_context, sources); }

    // System.
    void console(HartIndex, std::span<const char> bytes) noexcept { write(bytes); }
    void entropy(std::span<std::byte, 32> to) noexcept { std::memcpy(to.data(), seed, to.size()); }
    void reset(HartIndex hart, ResetKind kind) noexcept;
    const BoardFacts& facts() noexcept { return board; }
    void work(HartIndex, Work, u32) noexcept {}

    // The machine, as boot found it.
    static constexpr unsigned kPagingShift = sizeof(Word) == 8 ? 60 : 31;
    static constexpr Word kPaging = LAYOUT_SATP_MODE;
    static constexpr unsigned kSpaceShift = sizeof(Word) == 8 ? 44 : 22;
    static constexpr u32 kWindowEntry = LAYOUT_ROOT_ENTRIES / 2;
    static constexpr u32 kWindowEntries = LAYOUT_ROOT_ENTRIES / 2;
    static constexpr u32 kImageEntry =
        kWindowEntry + ((LAYOUT_LOAD - LAYOUT_WINDOW_PHYSICAL) >> LAYOUT_ROOT_SHIFT);
#if RAVELIN_CHECKED
    static constexpr bool kCounting = true;
#else
    static constexpr bool kCounting = false;
#endif

    static riscv::HartBlock& block(HartIndex hart) noexcept {
        return ravelin_stacks[hart.value].block;
    }

    /// Console bytes, from anywhere in the kernel.
    void write(std::span<const char> bytes) noexcept;

    BoardFacts board;
    Ticks farthest;                 ///< one second: no timer is armed for later
    bool compare_register = false;  ///< every hart has Sstc
    bool debug_console = false;     ///< the firmware has DBCN
    bool numbered_spaces = false;   ///< satp keeps enough bits of a space's number
    u32 space_mask = 0;
    u32 code_changes = 0;
    Word kernel_space = 0;  ///< satp without a user space
    const Format::Entry* kernel_root = nullptr;
    riscv::Plic plic;
    u32 sources = 0;  ///< the controller's are 1 to this
    std::byte seed[32] = {};

  private:
    void set_timer(HartIndex hart, u64 when) noexcept {
        if (compare_register) {
            riscv::set_compare(when);
        } else {
            block(hart).timer = when;
            set_firmware_timer(when);
        }
    }
    void set_firmware_timer(u64 when) noexcept;
    void yield_turn(HartIndex hart) noexcept;

    void fetch_new_code(HartIndex hart) noexcept {
        if (block(hart).code_seen != code_changes) {
            block(hart).code_seen = code_changes;
            riscv::fence_instructions();
        }
    }
};

}  // namespace ravelin
