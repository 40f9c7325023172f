// The page-table formats of RISC-V, Sv39 and Sv32, as core/port.h's PageFormat.
//
// Rule: accessed and dirty are set in every leaf, so that nothing depends on hardware that updates
// them or faults instead (pitfall A7). `lent` is the lower of the two bits that hardware leaves to
// software. An entry without V keeps its frame and rights. User leaves only: U is set, G is not;
// the kernel's own mappings are made elsewhere.
#pragma once

#include "core/abi/calls.h"
#include "core/types.h"

namespace ravelin::riscv {

/// What both formats share: the low ten bits, and the frame number from bit 10 on.
template <class EntryType, unsigned levels, unsigned index_bits, u64 user_end>
struct Format {
    using Entry = EntryType;

    static constexpr unsigned kLevels = levels;
    static constexpr unsigned kIndexBits = index_bits;
    static constexpr u64 kUserEnd = user_end;

    static constexpr Entry kValid = 1u << 0;
    static constexpr Entry kReadable = 1u << 1;
    static constexpr Entry kWritable = 1u << 2;
    static constexpr Entry kExecutable = 1u << 3;
    static constexpr Entry kUser = 1u << 4;
    static constexpr Entry kAccessed = 1u << 6;
    static constexpr Entry kDirty = 1u << 7;
    static constexpr Entry kLent = 1u << 8;
    static constexpr unsigned kFrameShift = 10;

    /// A valid user leaf. `rights` are bits of abi::kRead and so on, read among them wherever write
    /// is.
    static constexpr Entry leaf(FrameNumber frame, u32 rights) noexcept {
        Entry entry = table(frame) | kUser | kAccessed | kDirty;
        if ((rights & abi::kRead) != 0) entry |= kReadable;
        if ((rights & abi::kWrite) != 0) entry |= kWritable;
        if ((rights & abi::kExecute) != 0) entry |= kExecutable;
        return entry;
    }

    /// A valid entry that leads to the next level.
    static constexpr Entry table(FrameNumber frame) noexcept {
        return static_cast<Entry>(Entry{frame.value} << kFrameShift | kValid);
    }

    static constexpr bool is_valid(Entry entry) noexcept { return (entry & kValid) != 0; }

    static constexpr bool is_leaf(Entry entry) noexcept {
        return (entry & (kReadable | kWritable | kExecutable)) != 0;
    }

    static constexpr FrameNumber frame(Entry entry) noexcept {
        return FrameNumber{static_cast<u32>(entry >> kFrameShift)};
    }

    static constexpr u32 rights(Entry entry) noexcept {
        return ((entry & kReadable) != 0 ? abi::kRead : 0) |
               ((entry & kWritable) != 0 ? abi::kWrite : 0) |
               ((entry & kExecutable) != 0 ? abi::kExecute : 0);
    }

    static constexpr bool is_lent(Entry entry) noexcept { return (entry & kLent) != 0; }

    static constexpr Entry with_lent(Entry entry, bool lent) noexcept {
        return lent ? entry | kLent : entry & static_cast<Entry>(~kLent);
    }

    static constexpr Entry with_valid(Entry entry, bool valid) noexcept {
        return valid ? entry | kValid : entry & static_cast<Entry>(~kValid);
    }
};

/// 64-bit machines: the lower half of 512 GiB is the user's.
using Sv39 = Format<u64, 3, 9, u64{1} << 38>;

/// 32-bit machines: the lower half of 4 GiB is the user's.
using Sv32 = Format<u32, 2, 10, u64{1} << 31>;

}  // namespace ravelin::riscv
