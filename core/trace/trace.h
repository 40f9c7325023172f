// The scheduling trace's writer: in checked builds a ring of 32-byte records at the top of RAM; in
// release builds nothing, not a byte (R23). Records beyond the ring's room are dropped and counted,
// which fails a case.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <span>

#include "core/abi/trace.h"
#include "core/port.h"
#include "core/stride/u128.h"

namespace ravelin::trace {

using abi::TraceCause;
using abi::TraceCharge;
using abi::TraceExpiry;
using abi::TraceKind;
using abi::TraceLeave;

#if RAVELIN_CHECKED

inline constexpr bool kOn = true;

class Trace {
  public:
    /// Takes the room that `bytes` at `place` give: the file's head, whole blocks of records, their
    /// sums. Room for less than a block is none.
    void init(void* place, std::size_t bytes, const abi::TraceHead& head) {
        constexpr std::size_t kRecords = abi::kTraceBlock;
        constexpr std::size_t kBytes = kRecords * sizeof(abi::TraceRecord) + sizeof(abi::TraceSums);
        if (bytes < sizeof head + kBytes) return;
        head_ = new (place) abi::TraceHead(head);
        room_ = {reinterpret_cast<abi::TraceRecord*>(head_ + 1),
                 (bytes - sizeof head) / kBytes * kRecords};
        block_sums_ = reinterpret_cast<abi::TraceSums*>(room_.data() + room_.size());
    }

    void next_entry() { ++entry_; }

    void write(HartIndex hart, TraceKind kind, u64 id, u64 x, u64 y, u32 what = 0) {
        if (count_ == room_.size()) {
            ++dropped_;
            return;
        }
        const abi::TraceRecord record{x,
                                      y,
                                      id,
                                      entry_,
                                      static_cast<u8>(kind),
                                      static_cast<u8>(hart.value),
                                      static_cast<u16>(what)};
        room_[count_++] = record;
        sums_.add(record);
        if (count_ % abi::kTraceBlock == 0) block_sums_[count_ / abi::kTraceBlock - 1] = sums_;
    }

    void write(HartIndex hart, TraceKind kind, u64 id, U128 pass, u32 what = 0) {
        write(hart, kind, id, pass.low, pass.high, what);
    }

    /// Records the floor if it has risen since it was recorded last.
    void floor(HartIndex hart, U128 pass) {
        if (pass == floor_) return;
        floor_ = pass;
        write(hart, TraceKind::floor, 0, pass);
    }

    /// Makes the room a file: brings the head up to date and the sums behind the last record. The digest
    /// is left to who saves it. Nothing is written afterwards; a second call changes nothing.
    void close() {
        if (head_ == nullptr) return;
        head_->records = count_;
        head_->dropped = dropped_;
        const u64 blocks = abi::trace_blocks(count_);
        if (blocks != 0) block_sums_[blocks - 1] = sums_;
        auto* behind = reinterpret_cast<abi::TraceSums*>(room_.data() + count_);
        std::copy_n(block_sums_, behind == block_sums_ ? 0 : blocks, behind);
        block_sums_ = behind;
    }

    /// The head, with the records behind it; null without room.
    const abi::TraceHead* head() const { return head_; }
    u64 count() const { return count_; }
    u64 dropped() const { return dropped_; }
    std::span<const abi::TraceRecord> records() const { return room_.first(count_); }
    /// Of a closed trace.
    std::span<const abi::TraceSums> sums() const {
        return {block_sums_, static_cast<std::size_t>(abi::trace_blocks(count_))};
    }

  private:
    abi::TraceHead* head_ = nullptr;
    std::span<abi::TraceRecord> room_;
    abi::TraceSums* block_sums_ = nullptr;
    std::size_t count_ = 0;
    abi::TraceSums sums_;
    u64 dropped_ = 0;
    u32 entry_ = 0;
    U128 floor_;
};

#else

inline constexpr bool kOn = false;

class Trace {
  public:
    void init(void*, std::size_t, const abi::TraceHead&) {}
    void next_entry() {}
    void write(HartIndex, TraceKind, u64, u64, u64, u32 = 0) {}
    void write(HartIndex, TraceKind, u64, U128, u32 = 0) {}
    void floor(HartIndex, U128) {}
    void close() {}
    const abi::TraceHead* head() const { return nullptr; }
    u64 count() const { return 0; }
};

#endif

}  // namespace ravelin::trace
