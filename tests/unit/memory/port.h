// The machine of the memory tests: RAM in two runs with a hole between them, a device window, and
// no harts to speak of.
//
// Included by sv39/ravelin_port.h and sv32/ravelin_port.h, which choose the page-table format. Only
// the memory downcalls do anything; the test reads what `work` was told. Frame pointers out of RAM
// abort.
#pragma once

#include <array>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/abi/calls.h"
#include "core/types.h"
#include "port-riscv/format.h"

namespace ravelin {

template <class PageFormat>
class MemoryTestPort {
  public:
    using Format = PageFormat;
    static constexpr u32 kFirst = 0x80000;  ///< of the first run
    static constexpr u32 kFrames = 6'000;   ///< of both runs
    static constexpr u32 kSplit = 4'003;    ///< frames of the first run: ends inside a word of bits
    static constexpr u32 kHole = 77;        ///< frames between them, of no RAM
    static constexpr u32 kDevice = 0x10000;  ///< the device window's first frame

    struct Context {
        Word reg(unsigned) const noexcept { return 0; }
        void set_reg(unsigned, Word) noexcept {}
        void retake() noexcept {}
    };

    MemoryTestPort() : memory_(new(std::align_val_t{kPageSize}) std::byte[kBytes]) {
        std::memset(memory_, 0xa5, kBytes);
        runs_[0] = {FrameNumber{kFirst}, kSplit};
        runs_[1] = {FrameNumber{kFirst + kSplit + kHole}, kFrames - kSplit};
        board_.timebase = 10'000'000;
        board_.ram = runs_;
    }
    ~MemoryTestPort() { ::operator delete[](memory_, std::align_val_t{kPageSize}); }
    MemoryTestPort(const MemoryTestPort&) = delete;
    MemoryTestPort& operator=(const MemoryTestPort&) = delete;

    void* frame_pointer(FrameNumber frame) noexcept {
        const u32 offset = frame.value - kFirst;
        if (offset < kSplit) return memory_ + std::size_t{offset} * kPageSize;
        if (offset < kSplit + kHole || offset >= kFrames + kHole) std::abort();
        return memory_ + std::size_t{offset - kHole} * kPageSize;
    }
    FrameNumber frame_number(const void* pointer) noexcept {
        const auto offset = static_cast<const std::byte*>(pointer) - memory_;
        const u32 place = static_cast<u32>(offset / kPageSize);
        return {kFirst + place + (place < kSplit ? 0 : kHole)};
    }
    void work(HartIndex, Work kind, u32 count) noexcept {
        worked_[static_cast<unsigned>(kind)] += count;
    }
    u64 worked(Work kind) const { return worked_[static_cast<unsigned>(kind)]; }
    const BoardFacts& facts() noexcept { return board_; }
    BoardFacts& board() { return board_; }

    Ticks now(HartIndex) noexcept { return {}; }
    void arm(HartIndex, Ticks) noexcept {}
    void disarm(HartIndex) noexcept {}
    bool start(HartIndex, HartIndex) noexcept { return false; }
    void kick(HartIndex, HartMask) noexcept {}
    void wait(HartIndex) noexcept {}
    bool make_context(HartIndex, Context&, const ContextStart&) noexcept { return false; }
    void drop_context(HartIndex, Context&) noexcept {}
    void activate(HartIndex, FrameNumber, u32) noexcept {}
    void flush(HartIndex, u32, Word, u32) noexcept {}
    void release_space(HartIndex, u32) noexcept {}
    void sync_code(HartIndex) noexcept {}
    u32 claim(HartIndex) noexcept { return 0; }
    void complete(HartIndex, u32) noexcept {}
    void set_enabled(HartIndex, u32, bool) noexcept {}
    void console(HartIndex, std::span<const char>) noexcept {}
    void entropy(std::span<std::byte, 32>) noexcept {}
    void reset(HartIndex, ResetKind) noexcept { std::abort(); }

  private:
    static constexpr std::size_t kBytes = std::size_t{kFrames} * kPageSize;

    std::byte* memory_;
    std::array<RamRun, 2> runs_;
    BoardFacts board_;
    std::array<u64, kWorkKinds> worked_{};
};

}  // namespace ravelin
