// Address spaces: every operation first checks, charges and counts, then changes entries without a
// way to fail. See space.h.
#include "core/memory/space.h"

#include "core/memory/table.h"

namespace ravelin {
namespace {

using abi::Status;
using Walk = Tables<Port::Format>;
using Entry = Port::Format::Entry;
using Format = Port::Format;

constexpr u32 kAnonFirst = static_cast<u32>(kAnonBase / kPageSize);
constexpr u32 kMessageFirst = static_cast<u32>(kMessageBase / kPageSize);
constexpr u32 kAllRights = abi::kRead | abi::kWrite | abi::kExecute;

struct PageRange {
    u32 page = 0;
    u32 count = 0;
};

Walk tables_of(const MemoryContext& context) {
    return Walk(context.port, context.frames, context.space.root);
}

Word address_of(u32 page) {
    return Word{page} * kPageSize;
}

/// Whole pages of user space, not page 0, not empty, without overflow.
bool to_range(Word address, Word length, PageRange& range) {
    if (address % kPageSize != 0 || length % kPageSize != 0 || length == 0 || address == 0)
        return false;
    if (address >= Format::kUserEnd || length > Format::kUserEnd - address) return false;
    range = {static_cast<u32>(address / kPageSize), static_cast<u32>(length / kPageSize)};
    return true;
}

/// Rights as a leaf has them: write implies read.
bool to_rights(u32& rights) {
    if (rights == 0 || (rights & ~kAllRights) != 0) return false;
    if ((rights & abi::kWrite) == 0) return true;
    if ((rights & abi::kExecute) != 0) return false;
    rights |= abi::kRead;
    return true;
}

void widen(const MemoryContext& context, Flush& flush, PageRange range, bool removed) {
    const Word begin = address_of(range.page);
    const Word end = begin + Word{range.count} * kPageSize;
    if (flush.empty()) {
        flush.address = begin;
        flush.pages = range.count;
    } else {
        const Word old_end = flush.address + Word{flush.pages} * kPageSize;
        if (begin < flush.address) flush.address = begin;
        flush.pages =
            static_cast<u32>(((end > old_end ? end : old_end) - flush.address) / kPageSize);
    }
    flush.space = context.space_number;
    flush.removed = flush.removed || removed;
}

/// What a freed table led to may be cached above the leaves, which a flush of single pages need not
/// reach: all of user space.
void widen_all(const MemoryContext& context, Flush& flush) {
    widen(context, flush, {0, Walk::kUserPages}, true);
}

// ---- The area map ----

/// The part of a range in one frame of the area map, as bits of that frame.
struct MapPart {
    u32 frame = 0;
    u32 bit = 0;
    u32 count = 0;
};

template <class Visit>
void for_map_parts(PageRange range, const Visit& visit) {
    const u64 begin = range.page > kAnonFirst ? range.page : kAnonFirst;
    const u64 range_end = u64{range.page} + range.count;
    const u64 end = range_end < kAnonFirst + kAnonPages ? range_end : kAnonFirst + kAnonPages;
    for (u64 page = begin; page < end;) {
        const u32 place = static_cast<u32>(page - kAnonFirst);
        const u32 bit = place % kMapPages;
        const u64 room = kMapPages - bit;
        const u32 count = static_cast<u32>(end - page < room ? end - page : room);
        visit(MapPart{place / kMapPages, bit, count});
        page += count;
    }
}

template <class Change>
void for_map_words(Word* words, MapPart part, const Change& change) {
    while (part.count != 0) {
        const u32 low = part.bit % kRunBits;
        const u32 room = kRunBits - low;
        const u32 count = part.count < room ? part.count : room;
        const Word ones = count == kRunBits ? ~Word{0} : (Word{1} << count) - 1;
        change(words[part.bit / kRunBits], ones << low);
        part.bit += count;
        part.count -= count;
    }
}

/// Changes the message area's map by `change(word, bits)` where the range lies in that area.
template <class Change>
void for_message_words(Space& space, PageRange range, const Change& change) {
    const u64 end = u64{range.page} + range.count;
    const u64 begin = range.page > kMessageFirst ? range.page : kMessageFirst;
    const u64 stop = end < kMessageFirst + kMessagePages ? end : kMessageFirst + kMessagePages;
    if (begin >= stop) return;
    for_map_words(space.message_map,
                  {0, static_cast<u32>(begin - kMessageFirst), static_cast<u32>(stop - begin)},
                  change);
}

u32 missing_maps(const Space& space, PageRange range) {
    u32 missing = 0;
    for_map_parts(range,
                  [&](MapPart part) { missing += space.map[part.frame].value == 0 ? 1u : 0u; });
    return missing;
}

/// Marks the range's pages used. Makes the frames of the map, for which there are frames enough.
void mark_used(MemoryContext& context, PageRange range) {
    Space& space = context.space;
    for_message_words(space, range, [](Word& word, Word bits) {
        RAVELIN_ASSERT((word & bits) == 0);
        word |= bits;
    });
    for_map_parts(range, [&](MapPart part) {
        if (space.map[part.frame].value == 0) {
            space.map[part.frame] = context.frames.take(context.port);
            RAVELIN_ASSERT(space.map[part.frame].value != 0);
        }
        for_map_words(static_cast<Word*>(context.port.frame_pointer(space.map[part.frame])), part,
                      [](Word& word, Word bits) {
                          RAVELIN_ASSERT((word & bits) == 0);
                          word |= bits;
                      });
        space.map_used[part.frame] += part.count;
    });
}

/// Marks the range's pages free and frees the frames of the map that mark nothing now. Returns how
/// many.
u32 mark_free(MemoryContext& context, PageRange range) {
    Space& space = context.space;
    u32 freed = 0;
    for_message_words(space, range, [](Word& word, Word bits) {
        RAVELIN_ASSERT((word & bits) == bits);
        word &= ~bits;
    });
    for_map_parts(range, [&](MapPart part) {
        for_map_words(static_cast<Word*>(context.port.frame_pointer(space.map[part.frame])), part,
                      [](Word& word, Word bits) {
                          RAVELIN_ASSERT((word & bits) == bits);
                          word &= ~bits;
                      });
        space.map_used[part.frame] -= part.count;
        if (space.map_used[part.frame] == 0) {
            context.frames.give(space.map[part.frame]);
            space.map[part.frame] = FrameNumber{0};
            ++freed;
        }
    });
    return freed;
}

/// Room for `count` pages in the anonymous area, by next fit.
bool find_room(const MemoryContext& context, u32 count, PageRange& range) {
    const Space& space = context.space;
    const Word* maps[kMapFrames];
    for (u32 i = 0; i < kMapFrames; ++i) {
        maps[i] = space.map[i].value == 0
                      ? nullptr
                      : static_cast<const Word*>(context.port.frame_pointer(space.map[i]));
    }
    const auto rows = [&](u32 i) { return maps[i]; };
    const u32 place = next_fit<kMapPages / kRunBits>(rows, kAnonPages, space.anon_next, count);
    if (place == kNoRun) return false;
    range = {kAnonFirst + place, count};
    return true;
}

void placed(MemoryContext& context, PageRange range) {
    context.space.anon_next = (range.page - kAnonFirst + range.count) % kAnonPages;
}

// ---- Mapping ----

/// Charges the tables and map frames that a vacant range still lacks, and sees that there are
/// frames for them and `pages` more.
bool reserve_tables(MemoryContext& context, PageRange range, u32 pages) {
    const u32 tables =
        tables_of(context).missing(range.page, range.count) + missing_maps(context.space, range);
    if (!charge(context.payer, tables)) return false;
    if (u64{tables} + pages > context.frames.free()) {
        uncharge(context.payer, tables);
        return false;
    }
    context.space.tables += tables;
    context.port.work(context.hart, Work::frame, tables + pages);
    return true;
}

/// Gives each page of a vacant range, tables reserved, the leaf `leaf(i)`.
template <class Leaf>
void install(MemoryContext& context, PageRange range, u32 rights, const Leaf& leaf, Flush& flush) {
    mark_used(context, range);
    tables_of(context).map(range.page, range.count, leaf);
    widen(context, flush, range, false);
    if ((rights & abi::kExecute) != 0) flush.code = true;
}

/// Backs a vacant range whose pages are charged; on failure they stay charged.
bool back(MemoryContext& context, PageRange range, u32 rights, Flush& flush) {
    if (!reserve_tables(context, range, range.count)) return false;
    install(
        context, range, rights,
        [&](u32) {
            const FrameNumber frame = context.frames.take(context.port);
            RAVELIN_ASSERT(frame.value != 0);
            return Format::leaf(frame, rights);
        },
        flush);
    context.space.pages += range.count;
    return true;
}

/// Frees the leaf's frame, if it is RAM.
u32 drop(MemoryContext& context, Entry leaf) {
    const FrameNumber frame = Format::frame(leaf);
    if (!context.frames.contains(frame)) return 0;
    context.frames.give(frame);
    return 1;
}

/// A page that the space may do with as it likes: mapped and neither lent nor borrowed.
bool is_own(Entry leaf) {
    return Format::is_valid(leaf) && !Format::is_lent(leaf);
}

/// The frame of a page of the space's own RAM with a right, as the kernel reaches it; null if there
/// is none.
std::byte* record_page(const MemoryContext& context, u32 page, u32 right) {
    const Entry leaf = tables_of(context).find(page);
    if (!is_own(leaf) || (Format::rights(leaf) & right) != right) return nullptr;
    const FrameNumber frame = Format::frame(leaf);
    if (!context.frames.contains(frame)) return nullptr;
    return static_cast<std::byte*>(context.port.frame_pointer(frame));
}

/// Visits the parts of a checked record, one a page: visit(pointer, offset in the record, bytes).
template <class Visit>
void for_record(const MemoryContext& context, Word address, u32 bytes, u32 right,
                const Visit& visit) {
    for (u32 done = 0; done < bytes;) {
        const u32 offset = static_cast<u32>(address % kPageSize);
        const u32 count = bytes - done < kPageSize - offset ? bytes - done : kPageSize - offset;
        visit(record_page(context, static_cast<u32>(address / kPageSize), right) + offset, done,
              count);
        address += count;
        done += count;
    }
}

// In slots of 8 bytes, which records are made of and aligned to: without that promise the compiler
// would go byte by byte.
void copy_slots(std::byte* to, const std::byte* from, u32 bytes) {
    for (u32 i = 0; i < bytes; i += 8) {
        __builtin_memcpy(__builtin_assume_aligned(to + i, 8), __builtin_assume_aligned(from + i, 8),
                         8);
    }
}

}  // namespace

Status create_space(MemoryContext& context) {
    RAVELIN_ASSERT(context.space.root.value == 0);
    if (!charge(context.payer, 1)) return Status::out_of_memory;
    const FrameNumber root = context.frames.take(context.port);
    if (root.value == 0) {
        uncharge(context.payer, 1);
        return Status::out_of_memory;
    }
    context.port.work(context.hart, Work::frame, 1);
    context.space = Space{};
    context.space.root = root;
    context.space.tables = 1;
    return Status::ok;
}

void destroy_space(MemoryContext& context) {
    Space& space = context.space;
    u32 pages = 0;
    u32 tables = tables_of(context).destroy([&](Entry leaf) {
        RAVELIN_ASSERT(is_own(leaf));
        pages += drop(context, leaf);
    });
    for (const FrameNumber map : space.map) {
        if (map.value == 0) continue;
        context.frames.give(map);
        ++tables;
    }
    RAVELIN_ASSERT(pages == space.pages && tables == space.tables);
    uncharge(context.payer, pages + tables);
    context.port.work(context.hart, Work::frame, pages + tables);
    space = Space{};
}

Status map_anon(MemoryContext& context, Word length, u32 rights, Word& address, Flush& flush) {
    if (length == 0 || length % kPageSize != 0 || !to_rights(rights))
        return Status::invalid_argument;
    if (length / kPageSize > kAnonPages) return Status::out_of_memory;
    const u32 count = static_cast<u32>(length / kPageSize);
    if (!charge(context.payer, count)) return Status::out_of_memory;
    PageRange range;
    if (!find_room(context, count, range) || !back(context, range, rights, flush)) {
        uncharge(context.payer, count);
        return Status::out_of_memory;
    }
    placed(context, range);
    address = address_of(range.page);
    return Status::ok;
}

Status map_fixed(MemoryContext& context, Word address, Word length, u32 rights, Flush& flush) {
    PageRange range;
    if (!to_range(address, length, range) || !to_rights(rights)) return Status::invalid_argument;
    if (!charge(context.payer, range.count)) return Status::out_of_memory;
    const bool vacant = tables_of(context).vacant(range.page, range.count);
    if (!vacant || !back(context, range, rights, flush)) {
        uncharge(context.payer, range.count);
        return vacant ? Status::out_of_memory : Status::invalid_argument;
    }
    return Status::ok;
}

Status map_exact(MemoryContext& context, Word address, FrameNumber first, u32 count, u32 rights,
                 Flush& flush) {
    PageRange range;
    if (count > Walk::kUserPages || !to_range(address, Word{count} * kPageSize, range) ||
        !to_rights(rights)) {
        return Status::invalid_argument;
    }
    if (!charge(context.payer, count)) return Status::out_of_memory;
    const bool vacant = tables_of(context).vacant(range.page, range.count);
    if (!vacant || !reserve_tables(context, range, 0)) {
        uncharge(context.payer, count);
        return vacant ? Status::out_of_memory : Status::invalid_argument;
    }
    install(
        context, range, rights,
        [&](u32 i) { return Format::leaf(FrameNumber{first.value + i}, rights); }, flush);
    context.space.pages += count;
    return Status::ok;
}

Status map_device(MemoryContext& context, FrameNumber first, u32 count, Word& address,
                  Flush& flush) {
    PageRange range;
    constexpr u32 kRights = abi::kRead | abi::kWrite;
    if (!find_room(context, count, range) || !reserve_tables(context, range, 0))
        return Status::out_of_memory;
    install(
        context, range, kRights,
        [&](u32 i) { return Format::leaf(FrameNumber{first.value + i}, kRights); }, flush);
    placed(context, range);
    address = address_of(range.page);
    return Status::ok;
}

/// Empties a range of own pages after `sink(leaf)` had each, and uncharges what that freed beside
/// `pages`, which the caller counted.
template <class Sink>
static void take_out(MemoryContext& context, PageRange range, const Sink& sink, Flush& flush) {
    u32 tables = tables_of(context).unmap(range.page, range.count, sink);
    widen(context, flush, range, true);
    if (tables != 0) widen_all(context, flush);
    tables += mark_free(context, range);
    context.space.tables -= tables;
    uncharge(context.payer, tables);
    context.port.work(context.hart, Work::frame, tables);
}

Status unmap(MemoryContext& context, Word address, Word length, Flush& flush) {
    PageRange range;
    if (!to_range(address, length, range)) return Status::invalid_argument;
    if (!tables_of(context).all(range.page, range.count, is_own)) return Status::invalid_argument;
    u32 pages = 0;
    take_out(context, range, [&](Entry leaf) { pages += drop(context, leaf); }, flush);
    context.space.pages -= pages;
    uncharge(context.payer, pages);
    context.port.work(context.hart, Work::frame, pages);
    return Status::ok;
}

Status set_flags(MemoryContext& context, Word address, Word length, u32 rights, Flush& flush) {
    PageRange range;
    if (!to_range(address, length, range) || !to_rights(rights)) return Status::invalid_argument;
    Walk tables = tables_of(context);
    const bool execute = (rights & abi::kExecute) != 0;
    bool narrowed = false;
    const bool allowed = tables.all(range.page, range.count, [&](Entry leaf) {
        narrowed = narrowed || (Format::rights(leaf) & ~rights) != 0;
        return is_own(leaf) && (!execute || context.frames.contains(Format::frame(leaf)));
    });
    if (!allowed) return Status::invalid_argument;
    tables.update(range.page, range.count,
                  [&](Entry leaf) { return Format::leaf(Format::frame(leaf), rights); });
    widen(context, flush, range, narrowed);
    if (execute) flush.code = true;
    return Status::ok;
}

Status move_pages(MemoryContext& source, MemoryContext& target, Word from_address, Word to_address,
                  Word length, u32 rights, Flush& source_flush, Flush& target_flush) {
    RAVELIN_ASSERT(&source.space != &target.space);
    PageRange from;
    PageRange to;
    if (!to_range(from_address, length, from) || !to_range(to_address, length, to) ||
        !to_rights(rights)) {
        return Status::invalid_argument;
    }
    const Walk from_tables = tables_of(source);
    const bool movable = from_tables.all(from.page, from.count, [&](Entry leaf) {
        return is_own(leaf) && source.frames.contains(Format::frame(leaf));
    });
    if (!movable) return Status::invalid_argument;

    const u32 moving = &source.payer == &target.payer ? 0 : from.count;
    if (!charge(target.payer, moving)) return Status::out_of_memory;
    const bool vacant = tables_of(target).vacant(to.page, to.count);
    if (!vacant || !reserve_tables(target, to, 0)) {
        uncharge(target.payer, moving);
        return vacant ? Status::out_of_memory : Status::invalid_argument;
    }
    // Into the target before out of the source: a table that the source frees must not be taken
    // again before its flush.
    install(
        target, to, rights,
        [&](u32 i) { return Format::leaf(Format::frame(from_tables.find(from.page + i)), rights); },
        target_flush);
    target.space.pages += to.count;
    take_out(source, from, [](Entry) {}, source_flush);
    source.space.pages -= from.count;
    uncharge(source.payer, moving);
    return Status::ok;
}

Status check_run(const MemoryContext& context, const PageRun& run) {
    PageRange range;
    if (run.count > Walk::kUserPages ||
        !to_range(run.address, Word{run.count} * kPageSize, range)) {
        return Status::invalid_argument;
    }
    const bool lendable = tables_of(context).all(range.page, range.count, [&](Entry leaf) {
        return is_own(leaf) && (Format::rights(leaf) & abi::kWrite) != 0 &&
               context.frames.contains(Format::frame(leaf));
    });
    return lendable ? Status::ok : Status::invalid_argument;
}

/// The pages of a run that was checked.
static PageRange range_of(const PageRun& run) {
    return {static_cast<u32>(run.address / kPageSize), run.count};
}

void put_out_of_reach(MemoryContext& context, const PageRun& run, Flush& flush) {
    const PageRange range = range_of(run);
    Walk tables = tables_of(context);
    tables.update(range.page, range.count, [](Entry leaf) {
        return Format::with_valid(Format::with_lent(leaf, true), false);
    });
    widen(context, flush, range, true);
}

void put_in_reach(MemoryContext& context, const PageRun& run, Flush& flush) {
    const PageRange range = range_of(run);
    Walk tables = tables_of(context);
    tables.update(range.page, range.count, [](Entry leaf) {
        RAVELIN_ASSERT(Format::is_lent(leaf) && !Format::is_valid(leaf));
        return Format::with_valid(Format::with_lent(leaf, false), true);
    });
    widen(context, flush, range, false);
}

void consume(MemoryContext& context, const PageRun& run, bool charged, Flush& flush) {
    take_out(
        context, range_of(run),
        [](Entry leaf) {
            static_cast<void>(leaf);
            RAVELIN_ASSERT(Format::is_lent(leaf) && !Format::is_valid(leaf));
        },
        flush);
    context.space.pages -= run.count;
    uncharge(context.payer, charged ? run.count : 0);
}

bool find_message_room(const MemoryContext& context, u32 count, Word& address, u32& tables) {
    const Space& space = context.space;
    const auto rows = [&](u32) { return space.message_map; };
    const u32 place = next_fit<kMessageWords>(rows, kMessagePages, space.message_next, count);
    if (place == kNoRun) return false;
    address = address_of(kMessageFirst + place);
    tables = tables_of(context).missing(kMessageFirst + place, count);
    return true;
}

void take_run(MemoryContext& receiver, const MemoryContext& lender, const PageRun& run,
              Word address, bool transfer, bool charged, Flush& flush) {
    constexpr u32 kRights = abi::kRead | abi::kWrite;
    const PageRange range = range_of({address, run.count});
    const bool paid =
        charge(receiver.payer, charged ? run.count : 0) && reserve_tables(receiver, range, 0);
    static_cast<void>(paid);
    RAVELIN_ASSERT(paid);
    const Walk source = tables_of(lender);
    const u32 first = static_cast<u32>(run.address / kPageSize);
    install(
        receiver, range, kRights,
        [&](u32 i) {
            const Entry leaf = Format::leaf(Format::frame(source.find(first + i)), kRights);
            return Format::with_lent(leaf, !transfer);
        },
        flush);
    receiver.space.pages += run.count;
    receiver.space.message_next = (range.page - kMessageFirst + range.count) % kMessagePages;
}

void drop_borrowed(MemoryContext& context, const PageRun& run, bool free, Flush& flush) {
    take_out(
        context, range_of(run),
        [&](Entry leaf) {
            RAVELIN_ASSERT(Format::is_lent(leaf) && Format::is_valid(leaf));
            if (free) context.frames.give(Format::frame(leaf));
        },
        flush);
    context.space.pages -= run.count;
    uncharge(context.payer, run.count);
}

bool same_frames(const MemoryContext& one, const PageRun& run, const MemoryContext& other,
                 Word address) {
    const Walk ones = tables_of(one);
    const Walk others = tables_of(other);
    for (u32 i = 0; i < run.count; ++i) {
        const Entry mine = ones.find(static_cast<u32>(run.address / kPageSize) + i);
        const Entry theirs = others.find(static_cast<u32>(address / kPageSize) + i);
        if (mine == 0 || theirs == 0 || Format::frame(mine) != Format::frame(theirs)) return false;
    }
    return true;
}

Status check_record(const MemoryContext& context, Word address, u32 bytes, u32 right) {
    RAVELIN_ASSERT(bytes % 8 == 0 && bytes != 0);
    if (address % 8 != 0 || address >= Format::kUserEnd || bytes > Format::kUserEnd - address) {
        return Status::invalid_argument;
    }
    const u32 last = static_cast<u32>((address + (bytes - 1)) / kPageSize);
    for (u32 page = static_cast<u32>(address / kPageSize); page <= last; ++page) {
        if (record_page(context, page, right) == nullptr) return Status::invalid_argument;
    }
    return Status::ok;
}

Status copy_in(const MemoryContext& context, void* to, Word address, u32 bytes) {
    const Status status = check_record(context, address, bytes, abi::kRead);
    if (status != Status::ok) return status;
    for_record(context, address, bytes, abi::kRead, [&](const std::byte* at, u32 done, u32 count) {
        copy_slots(static_cast<std::byte*>(to) + done, at, count);
    });
    return Status::ok;
}

Status copy_out(const MemoryContext& context, Word address, const void* from, u32 bytes) {
    const Status status = check_record(context, address, bytes, abi::kWrite);
    if (status != Status::ok) return status;
    for_record(context, address, bytes, abi::kWrite, [&](std::byte* at, u32 done, u32 count) {
        copy_slots(at, static_cast<const std::byte*>(from) + done, count);
    });
    return Status::ok;
}

bool permits(const MemoryContext& context, Word address, u32 right) {
    if (address >= Format::kUserEnd) return false;
    const Entry leaf = tables_of(context).find(static_cast<u32>(address / kPageSize));
    return Format::is_valid(leaf) && (Format::rights(leaf) & right) == right;
}

}  // namespace ravelin
