// The platform-level interrupt controller.
//
// Rule: a context is a number that the device tree gives for a hart's S-mode; it is never computed
// from the hart. Source 0 is none. complete is ignored by the controller while the source is disabled.
#pragma once

#include "core/types.h"

namespace ravelin::riscv {

class Plic {
  public:
    Plic() = default;

    /// Registers as the kernel addresses them.
    explicit Plic(Word registers) noexcept : registers_(registers) {}

    /// What the source may interrupt it does: priority 0 never would.
    void prioritise(u32 source) noexcept { at(source * 4) = 1; }

    /// Bytes of registers that a machine whose highest context is `context` has in use.
    static constexpr u64 bytes(u32 context) noexcept {
        return kContexts + u64{context + 1} * kContextBytes;
    }

    /// The context starts with nothing enabled and lets every priority through.
    void open(u32 context, u32 sources) noexcept {
        for (u32 source = 0; source <= sources; source += 32) {
            at(enables(context, source)) = 0;
        }
        at(kContexts + context * kContextBytes) = 0;
    }

    u32 claim(u32 context) noexcept { return at(claims(context)); }
    void complete(u32 context, u32 source) noexcept { at(claims(context)) = source; }

    void enable(u32 context, u32 source, bool on) noexcept {
        volatile u32& word = at(enables(context, source));
        const u32 bit = u32{1} << source % 32;
        word = on ? word | bit : word & ~bit;
        if (on) {
            // QEMU's controller does not look at what is pending when a source is enabled, but does
            // when a threshold is written.
            at(kContexts + context * kContextBytes) = 0;
        }
    }

  private:
    static constexpr u32 kEnables = 0x2000, kEnableBytes = 0x80;
    static constexpr u32 kContexts = 0x20'0000, kContextBytes = 0x1000;

    static constexpr u32 enables(u32 context, u32 source) noexcept {
        return kEnables + context * kEnableBytes + source / 32 * 4;
    }
    static constexpr u32 claims(u32 context) noexcept {
        return kContexts + context * kContextBytes + 4;
    }
    volatile u32& at(u32 offset) const noexcept {
        return *reinterpret_cast<volatile u32*>(registers_ + offset);
    }

    Word registers_ = 0;
};

}  // namespace ravelin::riscv
