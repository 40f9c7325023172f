// The port that the suite drives: the port itself, or, where RAVELIN_PLANTED_FAULTS is defined, one
// that breaks a promise of core/port.h by name, so that the suite can be seen to notice.
#pragma once

#include "core/port.h"

#if RAVELIN_PLANTED_FAULTS

#include <array>
#include <string_view>

namespace ravelin::conformance {

enum class Fault : unsigned {
    none,
    clock_goes_back,
    past_arm_dropped,
    disarm_ignored,
    first_arm_stays,
    start_answers_always,
    kick_lost,
    kick_to_itself_lost,
    kick_reaches_one,
    wait_takes_timer,
    argument_lost,
    frame_off_by_one,
    first_space_stays,
    flush_ignored,
    flush_of_one_page,
    space_never_released,
    claim_again,
    complete_ignored,
    source_never_disabled,
    entropy_of_zeros,
    facts_change,
};

inline constexpr std::string_view kFaultNames[] = {
    "none",
    "clock-goes-back",
    "past-arm-dropped",
    "disarm-ignored",
    "first-arm-stays",
    "start-answers-always",
    "kick-lost",
    "kick-to-itself-lost",
    "kick-reaches-one",
    "wait-takes-timer",
    "argument-lost",
    "frame-off-by-one",
    "first-space-stays",
    "flush-ignored",
    "flush-of-one-page",
    "space-never-released",
    "claim-again",
    "complete-ignored",
    "source-never-disabled",
    "entropy-of-zeros",
    "facts-change",
};

/// The fault of this process.
inline Fault planted_fault = Fault::none;

class FaultyPort {
  public:
    explicit FaultyPort(Port& port) : sound_(port) {}

    Ticks now(HartIndex hart) noexcept {
        const Ticks time = sound_.now(hart);
        return has(Fault::clock_goes_back) && ++reads_ % 64 == 0 ? Ticks{time.value - 1'000} : time;
    }
    void arm(HartIndex hart, Ticks when) noexcept {
        if (has(Fault::past_arm_dropped) && when <= sound_.now(hart)) {
            return;
        }
        if (has(Fault::first_arm_stays) && armed_[hart.value] > sound_.now(hart)) {
            return;
        }
        armed_[hart.value] = when;
        sound_.arm(hart, when);
    }
    void disarm(HartIndex hart) noexcept {
        if (!has(Fault::disarm_ignored)) {
            armed_[hart.value] = {};
            sound_.disarm(hart);
        }
    }

    bool start(HartIndex hart, HartIndex other) noexcept {
        return sound_.start(hart, other) || has(Fault::start_answers_always);
    }
    void kick(HartIndex hart, HartMask harts) noexcept {
        if (has(Fault::kick_lost) && ++kicks_ % 100 == 0) {
            return;
        }
        if (has(Fault::kick_to_itself_lost)) {
            harts.bits &= ~HartMask::of(hart).bits;
        }
        if (has(Fault::kick_reaches_one)) {
            harts.bits &= ~harts.bits + 1;
        }
        sound_.kick(hart, harts);
    }
    void wait(HartIndex hart) noexcept {
        sound_.wait(hart);
        if (has(Fault::wait_takes_timer)) {
            sound_.disarm(hart);
        }
    }

    bool make_context(HartIndex hart, Port::Context& context, ContextStart start) noexcept {
        if (has(Fault::argument_lost)) {
            start.argument = 0;
        }
        return sound_.make_context(hart, context, start);
    }
    void drop_context(HartIndex hart, Port::Context& context) noexcept {
        sound_.drop_context(hart, context);
    }

    void* frame_pointer(FrameNumber frame) noexcept { return sound_.frame_pointer(frame); }
    FrameNumber frame_number(const void* pointer) noexcept {
        return {sound_.frame_number(pointer).value + (has(Fault::frame_off_by_one) ? 1 : 0)};
    }
    void activate(HartIndex hart, FrameNumber root, u32 space) noexcept {
        if (has(Fault::first_space_stays) && hart.value == 0 && ++activations_ > 1) {
            return;
        }
        sound_.activate(hart, root, space);
    }
    void flush(HartIndex hart, u32 space, Word address, u32 count) noexcept {
        if (!has(Fault::flush_ignored)) {
            sound_.flush(hart, space, address, has(Fault::flush_of_one_page) ? 1 : count);
        }
    }
    void release_space(HartIndex hart, u32 space) noexcept {
        if (!has(Fault::space_never_released)) {
            sound_.release_space(hart, space);
        }
    }
    void sync_code(HartIndex hart) noexcept { sound_.sync_code(hart); }

    u32 claim(HartIndex hart) noexcept {
        const u32 source = sound_.claim(hart);
        claimed_ = source != 0 ? source : claimed_;
        return has(Fault::claim_again) ? claimed_ : source;
    }
    void complete(HartIndex hart, u32 source) noexcept {
        if (!has(Fault::complete_ignored)) {
            sound_.complete(hart, source);
        }
    }
    void set_enabled(HartIndex hart, u32 source, bool on) noexcept {
        sound_.set_enabled(hart, source, on || has(Fault::source_never_disabled));
    }

    void console(HartIndex hart, std::span<const char> bytes) noexcept {
        sound_.console(hart, bytes);
    }
    void entropy(std::span<std::byte, 32> seed) noexcept {
        if (!has(Fault::entropy_of_zeros)) {
            sound_.entropy(seed);
        }
    }
    void reset(HartIndex hart, ResetKind kind) noexcept { sound_.reset(hart, kind); }
    const BoardFacts& facts() noexcept {
        facts_[0] = facts_[1] = sound_.facts();
        return facts_[has(Fault::facts_change) ? ++asked_ % 2 : 0];
    }
    void work(HartIndex hart, Work done, u32 count) noexcept { sound_.work(hart, done, count); }

  private:
    static bool has(Fault fault) { return planted_fault == fault; }

    Port& sound_;
    std::array<BoardFacts, 2> facts_{};
    std::array<Ticks, kMaxHarts> armed_{};
    u64 reads_ = 0;
    u64 kicks_ = 0;
    u64 activations_ = 0;
    u64 asked_ = 0;
    u32 claimed_ = 0;
};

using TestedPort = FaultyPort;

}  // namespace ravelin::conformance

#else

namespace ravelin::conformance {
using TestedPort = Port&;
}  // namespace ravelin::conformance

#endif
