// The null port: a machine made of plain arrays, for unit tests of the core and as the smallest
// example of a port.
//
// Single-threaded. Nothing happens by itself: a test moves the clock, looks at what the kernel
// asked for (timers, kicks, flushes) and makes the upcalls itself. Included by core/port.h only.
// Bound: kFrames frames of RAM, kSources interrupt sources.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "core/abi/calls.h"
#include "core/types.h"

namespace ravelin {

class Port {
  public:
    static constexpr u32 kFrames = 4096;  ///< 16 MiB: four times the pages root keeps for itself
    static constexpr u32 kSources = kMaxSource + 1;

    struct Context {
        Word registers[abi::kCallRegisters];
        Word entry;
        Word stack;
        u32 space;
        u32 retaken;  ///< times retake() was called: what a test looks at

        Word reg(unsigned place) const noexcept { return registers[place]; }
        void set_reg(unsigned place, Word value) noexcept { registers[place] = value; }
        void retake() noexcept { ++retaken; }
    };

    /// Three levels of 512 entries. Bit 0 valid, 1 to 3 rights, 4 leaf, 5 lent, from 12 the frame.
    struct Format {
        using Entry = u64;
        static constexpr unsigned kLevels = 3;
        static constexpr unsigned kIndexBits = 9;
        static constexpr u64 kUserEnd = u64{1} << 30;

        static Entry leaf(FrameNumber number, u32 access) noexcept {
            return table(number) | Entry{access} << 1 | kLeaf;
        }
        static Entry table(FrameNumber number) noexcept {
            return Entry{number.value} << 12 | kValid;
        }
        static bool is_valid(Entry entry) noexcept { return (entry & kValid) != 0; }
        static bool is_leaf(Entry entry) noexcept { return (entry & kLeaf) != 0; }
        static FrameNumber frame(Entry entry) noexcept { return {static_cast<u32>(entry >> 12)}; }
        static u32 rights(Entry entry) noexcept { return entry >> 1 & 7; }
        static bool is_lent(Entry entry) noexcept { return (entry & kLent) != 0; }
        static Entry with_lent(Entry entry, bool on) noexcept {
            return on ? entry | kLent : entry & ~kLent;
        }
        static Entry with_valid(Entry entry, bool on) noexcept {
            return on ? entry | kValid : entry & ~kValid;
        }

      private:
        static constexpr Entry kValid = 1, kLeaf = 16, kLent = 32;
    };

    struct Hart {
        Ticks armed = kNever;
        u32 arms = 0;  ///< calls of arm and disarm
        u32 waits = 0;
        u32 flushes = 0;
        bool kicked = false;
        bool started = false;
        FrameNumber root;
        u32 space = 0;
    };

    // What a test sets and reads.
    Ticks clock{1};                        ///< moved by the test, by `cost` and by `look`
    Ticks look{};                          ///< ticks that reading the clock takes
    std::array<Ticks, kWorkKinds> cost{};  ///< ticks that one unit of each kind of work takes
    std::array<u64, kWorkKinds> worked{};  ///< units told so far
    std::array<Hart, kMaxHarts> harts{};
    HartMask refused;             ///< harts that start refuses
    u32 contexts_left = ~u32{0};  ///< make_context refuses when it is 0
    void (*on_wait)(Port& port, HartIndex hart) =
        nullptr;  ///< what the rest of the machine does while a hart waits
    void* on_wait_data = nullptr;
    std::array<bool, kSources> pending{}, claimed{}, enabled{};
    std::string written;  ///< what went to the console
    BoardFacts board;

    explicit Port(u32 hart_count = 1, u32 trace_frames = 0)
        : block_(std::calloc(kFrames + 1, kPageSize)),
          memory_(static_cast<std::byte*>(block_) +
                  (kPageSize - reinterpret_cast<std::uintptr_t>(block_) % kPageSize)),
          run_{{1}, kFrames - 1 - trace_frames} {
        board.timebase = 10'000'000;
        board.harts = hart_count;
        board.ram = {&run_, 1};
        board.devices = {&reset_, 1};
        board.trace = {{kFrames - trace_frames}, trace_frames};
    }
    ~Port() { std::free(block_); }
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    Ticks now(HartIndex) noexcept {
        clock += look;
        return clock;
    }
    void arm(HartIndex hart, Ticks when) noexcept {
        harts[hart.value].armed = when;
        ++harts[hart.value].arms;
    }
    void disarm(HartIndex hart) noexcept { arm(hart, kNever); }

    bool start(HartIndex, HartIndex other) noexcept {
        return harts[other.value].started = other.value < board.harts && !refused.has(other);
    }
    void kick(HartIndex, HartMask set) noexcept {
        for (u32 i = 0; i < kMaxHarts; ++i)
            harts[i].kicked |= set.has({i});
    }
    void wait(HartIndex hart) noexcept {
        ++harts[hart.value].waits;
        if (!harts[hart.value].kicked && on_wait != nullptr) on_wait(*this, hart);
        harts[hart.value].kicked = false;
    }

    bool make_context(HartIndex, Context& context, const ContextStart& start) noexcept {
        if (contexts_left == 0) return false;
        --contexts_left;
        context = {.registers = {start.argument},
                   .entry = start.entry,
                   .stack = start.stack,
                   .space = start.space,
                   .retaken = 0};
        return true;
    }
    void drop_context(HartIndex, Context& context) noexcept {
        ++contexts_left;
        context = {};
    }

    void* frame_pointer(FrameNumber frame) noexcept {
        return memory_ + std::size_t{frame.value} * kPageSize;
    }
    FrameNumber frame_number(const void* pointer) noexcept {
        const auto offset =
            static_cast<std::size_t>(static_cast<const std::byte*>(pointer) - memory_);
        return {static_cast<u32>(offset / kPageSize)};
    }
    void activate(HartIndex hart, FrameNumber root, u32 space) noexcept {
        harts[hart.value].root = root;
        harts[hart.value].space = space;
    }
    void flush(HartIndex hart, u32, Word, u32) noexcept { ++harts[hart.value].flushes; }
    void release_space(HartIndex hart, u32) noexcept { ++harts[hart.value].flushes; }
    void sync_code(HartIndex) noexcept {}

    u32 claim(HartIndex) noexcept {
        for (u32 source = 1; source < kSources; ++source) {
            if (!pending[source] || claimed[source] || !enabled[source]) continue;
            pending[source] = false;
            claimed[source] = true;
            return source;
        }
        return 0;
    }
    void complete(HartIndex, u32 source) noexcept {
        if (enabled[source]) claimed[source] = false;
    }
    void set_enabled(HartIndex, u32 source, bool on) noexcept { enabled[source] = on; }

    void console(HartIndex, std::span<const char> bytes) noexcept {
        written.append(bytes.data(), bytes.size());
    }
    void entropy(std::span<std::byte, 32> seed) noexcept {
        std::memset(seed.data(), 0x5a, seed.size());
    }
    /// Ends the process: a test that wants to see it is a death test. Exit codes: 40 off, 41
    /// reboot, 42 off_failed.
    [[noreturn]] void reset(HartIndex, ResetKind kind) noexcept {
        std::fputs(written.c_str(), stderr);
        std::fflush(nullptr);
        std::_Exit(40 + static_cast<int>(kind));
    }
    const BoardFacts& facts() noexcept { return board; }
    void work(HartIndex, Work done, u32 count) noexcept {
        worked[static_cast<unsigned>(done)] += count;
        clock += {cost[static_cast<unsigned>(done)].value * count};
    }

  private:
    void* block_;  ///< of the host's zeroed pages, which cost nothing until they are touched
    std::byte* memory_;
    RamRun run_;
    DeviceFact reset_{.kind = DeviceKind::reset};
};

}  // namespace ravelin
