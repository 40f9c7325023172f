// Address spaces: what a process maps, where the kernel places what has no address, and how records
// are read and written (R11).
//
// Rules: W^X for every mapping; write implies read. Mapped pages are backed and charged at once,
// with their tables. A refused operation changes nothing: everything is checked, charged and
// counted before the first entry is written. The kernel never dereferences a user address: it walks
// the tables and reaches the frame.
// Invariant: pages + tables is what the payer is charged for the space; bit p of an area's map is
// set exactly if page p of that area has a leaf; a frame is mapped by at most one leaf of all spaces
// (a lent page: by one valid leaf).
// Loans: a page on its way in a message keeps its leaf, marked lent and no longer valid, so that
// nobody reaches it; while lent to a receiver it has a second leaf there, marked lent and valid. The
// two leaves are all the record there is of it, and both sides are charged. Neither can be unmapped,
// changed, moved or lent on.
// Bound: linear in the pages named, plus the search of next_fit over the fixed area
// (core/memory/runs.h). destroy_space costs the pages mapped and the entries of the space's own
// tables.
//
// Layout, the same for every format, below 1 GiB because the smallest user space (a hosted window)
// ends there:
//     0x0000_0000  page 0: never mapped, since address 0 means "none" in calls
//     0x0000_1000  the program's own: image, stack, map_fixed
//     0x0400_0000  message area, 4 MiB: pages that arrive in messages
//     0x1000_0000  anonymous area, 256 MiB: map_anon and devices
//     0x2000_0000  the program's own again, to the format's kUserEnd
// The areas begin and end at lowest tables of every format (2 and 4 MiB), so that they share none
// with their neighbours.
#pragma once

#include <cstddef>

#include "core/abi/calls.h"
#include "core/memory/frames.h"
#include "core/memory/runs.h"

namespace ravelin {

struct Budget;

/// Adds `pages` to what the budget uses; false, and nothing added, if its limit does not allow it.
bool charge(Budget& budget, u32 pages);

/// Takes `pages` off what the budget uses, which is at least that.
void uncharge(Budget& budget, u32 pages);

inline constexpr Word kMessageBase = 0x0400'0000;
inline constexpr u32 kMessagePages = 1'024;
inline constexpr Word kAnonBase = 0x1000'0000;
inline constexpr u32 kAnonPages = 65'536;
static_assert(kAnonBase + Word{kAnonPages} * kPageSize <= Port::Format::kUserEnd);
static_assert(kMessageBase + Word{kMessagePages} * kPageSize <= kAnonBase);

inline constexpr u32 kMessageWords = kMessagePages / kRunBits;

/// Pages whose bits one frame of the area map holds.
inline constexpr u32 kMapPages = kPageSize * 8;
inline constexpr u32 kMapFrames = kAnonPages / kMapPages;

/// The address space of one process; part of it. All-zero: none was created.
struct Space {
    FrameNumber root;               ///< the root table
    u32 pages = 0;                  ///< pages of RAM mapped and charged
    u32 tables = 0;                 ///< frames of tables and of the area map, charged too
    u32 anon_next = 0;              ///< page of the anonymous area behind the last one placed
    FrameNumber map[kMapFrames];    ///< the area map, a frame where any of its pages is used
    u32 map_used[kMapFrames] = {};  ///< bits set in each
    u32 message_next = 0;           ///< page of the message area behind the last one placed
    Word message_map[kMessageWords] = {};  ///< the message area's map
};

/// What an operation works on and who pays for it.
struct MemoryContext {
    Port& port;
    HartIndex hart;
    Frames& frames;
    Budget& payer;  ///< the budget the process runs in
    Space& space;
    u32 space_number = 0;
};

/// What the caller must have flushed, under the same lock section and before it takes another frame
/// or returns to user mode. Starts empty; operations only widen it.
///   removed  a mapping is gone or narrower: every hart that may run the space flushes (shootdown).
///   !removed mappings were only added or widened: the calling hart flushes; on others a fault that
///   `permits` disproves is dropped.
///   code     executable pages appeared: sync_code on every hart before it runs the space again.
struct Flush {
    u32 space = 0;
    Word address = 0;
    u32 pages = 0;  ///< 0: nothing to flush
    bool removed = false;
    bool code = false;

    bool empty() const { return pages == 0; }
};

/// Creates the empty space. Charges its root table. Errors: out_of_memory.
abi::Status create_space(MemoryContext& context);

/// Frees all the space has: its pages, its tables, the area maps; uncharges them. No hart runs the
/// space, and none of its pages is lent or borrowed. The space is as before create_space.
void destroy_space(MemoryContext& context);

/// Maps `length` bytes of zeroed pages in the anonymous area, found by next fit. Errors:
/// invalid_argument (length 0 or not whole pages; rights none, unknown, or write with execute),
/// out_of_memory (budget, no room, no frames).
abi::Status map_anon(MemoryContext& context, Word length, u32 rights, Word& address, Flush& flush);

/// Maps zeroed pages at a given range, replacing nothing. Errors in this order: invalid_argument
/// (range; rights), out_of_memory (pages against the budget), invalid_argument (a page of it is
/// mapped or lent), out_of_memory (tables, frames).
abi::Status map_fixed(MemoryContext& context, Word address, Word length, u32 rights, Flush& flush);

/// Maps `count` taken frames from `first` on, in order, at `address`, as map_fixed. They belong to
/// the space then.
abi::Status map_exact(MemoryContext& context, Word address, FrameNumber first, u32 count,
                      u32 rights, Flush& flush);

/// Maps a device's window, read and write, in the anonymous area. Charges tables only. Errors:
/// out_of_memory.
abi::Status map_device(MemoryContext& context, FrameNumber first, u32 count, Word& address,
                       Flush& flush);

/// Unmaps a range; RAM pages are freed and uncharged. Errors: invalid_argument (range; a page of it
/// is not mapped, or lent).
abi::Status unmap(MemoryContext& context, Word address, Word length, Flush& flush);

/// Changes the rights of a range. Errors: invalid_argument (range; rights; a page of it is not
/// mapped, lent, or a device's and to be executed).
abi::Status set_flags(MemoryContext& context, Word address, Word length, u32 rights, Flush& flush);

/// Moves pages of RAM from one space to another (process_map): they leave `source` at from_address
/// and stand in `target`, which no hart has run yet, at to_address with `rights`. target's payer is
/// charged for pages and tables, source's uncharged; between spaces of one payer only tables are.
/// Errors in this order: invalid_argument (ranges; rights; a source page not mapped, lent or a
/// device's), then as map_fixed.
abi::Status move_pages(MemoryContext& source, MemoryContext& target, Word from_address,
                       Word to_address, Word length, u32 rights, Flush& source_flush,
                       Flush& target_flush);

/// `count` pages at `address`, as a call names a run for a message.
struct PageRun {
    Word address = 0;
    u32 count = 0;
};

/// Whether a run may go into a message: whole pages of the space's own RAM, writable, neither lent
/// nor borrowed. count is not 0. Errors: invalid_argument.
abi::Status check_run(const MemoryContext& context, const PageRun& run);

/// A checked run is out of its holder's reach: lent, until one of the next four.
void put_out_of_reach(MemoryContext& context, const PageRun& run, Flush& flush);

/// A lent run that nobody took, or got back, is its holder's again.
void put_in_reach(MemoryContext& context, const PageRun& run, Flush& flush);

/// The lent run is its holder's no more: the leaves go and, if `charged`, their charge ends; the
/// frames stay.
void consume(MemoryContext& context, const PageRun& run, bool charged, Flush& flush);

/// Where in the message area `count` pages would lie, and the tables that mapping them there takes.
/// False: no room.
bool find_message_room(const MemoryContext& context, u32 count, Word& address, u32& tables);

/// Maps the frames of a run that is lent by `lender` at the place found, readable and writable:
/// marked lent too or, for a transfer, as the receiver's own. Charges pages and tables, which the
/// payer can pay and for which there are frames. `charged`: false if the receiver's payer pays for
/// the pages already.
void take_run(MemoryContext& receiver, const MemoryContext& lender, const PageRun& run,
              Word address, bool transfer, bool charged, Flush& flush);

/// The borrowed run leaves its borrower, and the charge ends. `free`: its frames go too, since they
/// are nobody else's.
void drop_borrowed(MemoryContext& context, const PageRun& run, bool free, Flush& flush);

/// Whether both runs have the same frames, page by page.
bool same_frames(const MemoryContext& one, const PageRun& run, const MemoryContext& other,
                 Word address);

/// Whether a record of `bytes`, a multiple of 8, may be read (`right` abi::kRead) or written
/// (abi::kWrite) at `address`: 8-byte aligned, in mapped RAM of the space's own with that right,
/// not lent or borrowed, no device. Errors: invalid_argument.
abi::Status check_record(const MemoryContext& context, Word address, u32 bytes, u32 right);

/// Reads a record out of the space to an 8-byte aligned place. Errors: those of check_record with
/// abi::kRead; then nothing was read.
abi::Status copy_in(const MemoryContext& context, void* to, Word address, u32 bytes);

/// Writes a record from an 8-byte aligned place into the space. Errors: those of check_record with
/// abi::kWrite; then nothing was written.
abi::Status copy_out(const MemoryContext& context, Word address, const void* from, u32 bytes);

/// Whether the tables allow an access now: a fault of one that they allow met a stale entry, and is
/// retried after a flush.
bool permits(const MemoryContext& context, Word address, u32 right);

}  // namespace ravelin
