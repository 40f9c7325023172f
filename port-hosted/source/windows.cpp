// See windows.h.

#include "port-hosted/source/windows.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "port-hosted/source/panic.h"

namespace ravelin::hosted {

namespace {

constexpr u32 kWindowPages = static_cast<u32>(Port::Format::kUserEnd / kPageSize);
static_assert(kMaxHarts <= 8, "sets of harts are kept in bytes");

constexpr u8 bit(HartIndex hart) {
    return static_cast<u8>(1u << hart.value);
}

int protection(u32 rights) {
    int bits = PROT_NONE;
    if ((rights & abi::kRead) != 0) {
        bits |= PROT_READ;
    }
    if ((rights & abi::kWrite) != 0) {
        bits |= PROT_READ | PROT_WRITE;
    }
    if ((rights & abi::kExecute) != 0) {
        bits |= PROT_READ | PROT_EXEC;
    }
    return bits;
}

// The host has no pages that can be written or executed and not read.
bool allows(u32 rights, FaultKind access) {
    switch (access) {
    case FaultKind::fetch: return (rights & abi::kExecute) != 0;
    case FaultKind::store: return (rights & abi::kWrite) != 0;
    default: return rights != 0;
    }
}

// The kernel's own call, since the C library's mmap may be a sanitizer's, which must not be entered
// from a fault.
void map(std::byte* at, int bits, int kind, int file, u64 offset) {
    const long got = ::syscall(SYS_mmap, at, kPageSize, bits, kind | MAP_FIXED, file, offset);
    if (got == -1) {
        panic("the host refuses to map a page of a window (vm.max_map_count?)");
    }
}

}  // namespace

Windows::Hold::Hold(std::atomic<bool>& flag) : flag_(flag) {
    while (flag_.exchange(true, std::memory_order_acquire)) {
        ::syscall(SYS_sched_yield);
    }
}

Windows::Windows(const Ram& ram, u32 capacity, bool strict, u64 seed)
    : ram_(ram),
      capacity_(capacity),
      strict_(strict),
      random_(seed | 1),
      entries_memory_(kMostEntries * sizeof(Entry), PROT_READ | PROT_WRITE),
      buckets_memory_(kBuckets * sizeof(u16), PROT_READ | PROT_WRITE),
      shown_memory_(ram.frames * sizeof(u16), PROT_READ | PROT_WRITE),
      entries_(entries_memory_.as<Entry>()),
      buckets_(buckets_memory_.as<u16>()),
      shown_(shown_memory_.as<u16>()) {}

void Windows::activate(HartIndex hart, FrameNumber root, u32 space) {
    if (space >= kSpaces) {
        panic("activate: no such address space number");
    }
    if (root.value == 0) {
        space = 0;
    }
    Hold hold(held_flag_);
    View& view = views_[hart.value];
    if (view.space != space && view.space != 0) {
        Space& old = spaces_[view.space];
        old.active &= static_cast<u8>(~bit(hart));
        if (old.owed != 0) {
            for (u32 i = 0; i < used_; ++i) {
                if (entries_[i].state == State::stale && entries_[i].space == view.space) {
                    settle(entries_[i]);
                }
            }
        }
    }
    view = {space, root};
    if (space == 0) {
        return;
    }
    Space& now = spaces_[space];
    now.root = root;
    now.users |= bit(hart);
    now.active |= bit(hart);
}

std::byte* Windows::open(u32 space) {
    Hold hold(held_flag_);
    HostMemory& window = spaces_[space].window;
    if (window.start() == nullptr) {
        try {
            window = HostMemory(Port::Format::kUserEnd, PROT_NONE);
        } catch (const std::system_error&) {
            panic("the host has no room for another memory window");
        }
    }
    return window.start();
}

void Windows::flush(HartIndex hart, u32 space, Word address, u32 count) {
    if (space >= kSpaces) {
        panic("flush: no such address space number");
    }
    Hold hold(held_flag_);
    const u64 first = address / kPageSize;
    const u64 end = first + count;
    if (count > used_) {
        for (u32 i = 0; i < used_; ++i) {
            Entry& entry = entries_[i];
            if (entry.state != State::free && entry.space == space && entry.page >= first &&
                entry.page < end) {
                flush_entry(hart, entry);
            }
        }
        return;
    }
    for (u64 page = first; page < std::min<u64>(end, kWindowPages); ++page) {
        if (Entry* entry = find(space, static_cast<u32>(page))) {
            flush_entry(hart, *entry);
        }
    }
}

void Windows::flush_entry(HartIndex hart, Entry& entry) {
    Space& space = spaces_[entry.space];
    switch (entry.state) {
    case State::free: return;
    case State::refused: remove(entry); return;
    case State::stale:
    case State::ghost:
        entry.owing &= static_cast<u8>(~bit(hart));
        settle(entry);
        return;
    case State::live: break;
    }
    const u64 table_entry = walk(space.root, entry.page);
    const bool same = table_entry != 0 && Port::Format::frame(table_entry).value == entry.frame &&
                      (Port::Format::rights(table_entry) & entry.rights) == entry.rights;
    entry.owing = same ? 0 : static_cast<u8>(space.users & ~bit(hart));
    if (entry.owing != 0) {
        entry.state = State::stale;
        ++space.owed;
    }
    settle(entry);
}

// Hides what no hart that runs the space can use any more, and forgets what no hart owes.
void Windows::settle(Entry& entry) {
    if (entry.owing == 0) {
        remove(entry);
    } else if (entry.state == State::stale && (entry.owing & spaces_[entry.space].active) == 0) {
        hide(entry);
        entry.state = State::ghost;
    }
}

void Windows::release(HartIndex hart, u32 number) {
    if (number >= kSpaces) {
        panic("release_space: no such address space number");
    }
    Hold hold(held_flag_);
    Space& space = spaces_[number];
    space.users &= static_cast<u8>(~bit(hart));
    for (u32 i = 0; i < used_; ++i) {
        Entry& entry = entries_[i];
        if (entry.state == State::free || entry.space != number) {
            continue;
        }
        if (entry.state == State::live || entry.state == State::refused) {
            // The tables may be gone: whatever is shown is old for the harts that have not
            // released.
            entry.owing = entry.state == State::live ? space.users : u8{0};
            if (entry.owing != 0) {
                entry.state = State::stale;
                ++space.owed;
            }
        }
        entry.owing &= static_cast<u8>(~bit(hart));
        settle(entry);
    }
}

void Windows::assert_unmapped(FrameNumber frame) {
    Hold hold(held_flag_);
    if (frame.value >= ram_.frames) {
        panic("assert_frame_unmapped: no such frame");
    }
    if (shown_[frame.value] == 0) {
        return;
    }
    for (u32 i = 0; i < used_; ++i) {
        const Entry& entry = entries_[i];
        if ((entry.state == State::live || entry.state == State::stale) &&
            entry.frame == frame.value) {
            panic("frame %u is handed out while space %u still reaches it at 0x%x (a flush is "
                  "missing)",
                  frame.value, unsigned{entry.space}, entry.page * kPageSize);
        }
    }
}

void Windows::check_resume_slowly(HartIndex hart, u32 number) {
    Hold hold(held_flag_);
    if (views_[hart.value].space != number) {
        panic("hart %u resumes a thread of space %u while space %u is active", hart.value, number,
              views_[hart.value].space);
    }
    for (u32 i = 0; i < used_; ++i) {
        const Entry& entry = entries_[i];
        if (entry.state == State::ghost && entry.space == number &&
            (entry.owing & bit(hart)) != 0) {
            panic("hart %u resumes space %u without having flushed 0x%x", hart.value, number,
                  entry.page * kPageSize);
        }
    }
}

// A frame that is about to be shown must not be shown elsewhere by a translation that the tables no
// longer hold and nobody has begun to flush.
void Windows::check_frame(u32 frame) {
    for (u32 i = 0; i < used_; ++i) {
        const Entry& entry = entries_[i];
        if (entry.state != State::live || entry.frame != frame) {
            continue;
        }
        const u64 table_entry = walk(spaces_[entry.space].root, entry.page);
        if (table_entry == 0 || Port::Format::frame(table_entry).value != frame) {
            panic("frame %u is mapped again while space %u still reaches it at 0x%x (a flush is "
                  "missing)",
                  frame, unsigned{entry.space}, entry.page * kPageSize);
        }
    }
}

bool Windows::fill(HartIndex hart, Word address, FaultKind access) {
    const View view = views_[hart.value];
    if (view.space == 0 || address >= Port::Format::kUserEnd) {
        return false;
    }
    Hold hold(held_flag_);
    const u32 page = static_cast<u32>(address / kPageSize);
    Entry* known = find(view.space, page);
    if (known != nullptr && known->state != State::ghost) {
        if (known->state != State::refused && allows(known->rights, access)) {
            return true;  // another hart was faster
        }
        if (strict_) {
            return false;
        }
    }
    const u64 table_entry = walk(view.root, page);
    const u32 rights = table_entry == 0 ? 0 : Port::Format::rights(table_entry);
    if (!allows(rights, access)) {
        random_ = random_ * 6364136223846793005u + 1;
        if (strict_ && known == nullptr && random_ >> 63 != 0) {
            insert(view.space, page, 0, 0, State::refused);
        }
        return false;
    }
    const u32 frame = Port::Format::frame(table_entry).value;
    if (frame >= ram_.frames) {
        return false;  // a device's
    }
    if (shown_[frame] != 0) {
        check_frame(frame);
    }
    if (known != nullptr) {
        remove(*known);
    }
    show(insert(view.space, page, frame, static_cast<u8>(rights), State::live));
    return true;
}

std::optional<u64> Windows::translate(HartIndex hart, Word address, FaultKind access) const {
    const View view = views_[hart.value];
    if (view.space == 0 || address >= Port::Format::kUserEnd) {
        return std::nullopt;
    }
    const u64 entry = walk(view.root, static_cast<u32>(address / kPageSize));
    if (!allows(entry == 0 ? 0 : Port::Format::rights(entry), access)) {
        return std::nullopt;
    }
    return u64{Port::Format::frame(entry).value} * kPageSize + address % kPageSize;
}

// Reads the tables as a hart's page walker does: at any moment, whatever the core is writing.
__attribute__((no_sanitize("thread"))) u64 Windows::walk(FrameNumber root, u32 page) const {
    using Format = Port::Format;
    u32 table = root.value;
    for (unsigned level = Format::kLevels; level-- > 0;) {
        if (table == 0 || table >= ram_.frames) {
            return 0;
        }
        const u32 place = page >> level * Format::kIndexBits & ((1u << Format::kIndexBits) - 1);
        const auto* entries =
            reinterpret_cast<const volatile u64*>(ram_.start + std::size_t{table} * kPageSize);
        const u64 entry = entries[place];
        if (!Format::is_valid(entry)) {
            return 0;
        }
        const u32 frame = Format::frame(entry).value;
        if (Format::is_leaf(entry)) {
            return level == 0 && frame != 0 ? entry : 0;
        }
        table = frame;
    }
    return 0;
}

u32 Windows::bucket_of(u32 space, u32 page) {
    return ((space << 18 | page) * 2654435761u) >> 17 & (kBuckets - 1);
}

Windows::Entry* Windows::find(u32 space, u32 page) {
    for (u32 at = bucket_of(space, page); buckets_[at] != 0; at = (at + 1) % kBuckets) {
        Entry& entry = entries_[buckets_[at] - 1];
        if (entry.page == page && entry.space == space) {
            return &entry;
        }
    }
    return nullptr;
}

void Windows::link(u32 index) {
    u32 at = bucket_of(entries_[index].space, entries_[index].page);
    while (buckets_[at] != 0) {
        at = (at + 1) % kBuckets;
    }
    buckets_[at] = static_cast<u16>(index + 1);
}

void Windows::unlink(u32 index) {
    u32 hole = bucket_of(entries_[index].space, entries_[index].page);
    while (buckets_[hole] != index + 1) {
        hole = (hole + 1) % kBuckets;
    }
    buckets_[hole] = 0;
    // Whatever stood behind the hole because its place was taken moves up.
    for (u32 at = (hole + 1) % kBuckets; buckets_[at] != 0; at = (at + 1) % kBuckets) {
        const u16 moved = std::exchange(buckets_[at], u16{0});
        link(moved - 1u);
    }
}

Windows::Entry& Windows::insert(u32 space, u32 page, u32 frame, u8 rights, State state) {
    if (free_ == 0 && used_ == capacity_) {
        random_ = random_ * 6364136223846793005u + 1;
        remove(entries_[(random_ >> 33) % capacity_]);
    }
    u32 index = used_;
    if (free_ != 0) {
        index = free_ - 1;
        free_ = entries_[index].frame;
    } else {
        ++used_;
    }
    entries_[index] = {frame, page, static_cast<u16>(space), rights, state, 0};
    link(index);
    return entries_[index];
}

void Windows::remove(Entry& entry) {
    if (entry.state == State::live || entry.state == State::stale) {
        hide(entry);
    }
    if (entry.state == State::stale || entry.state == State::ghost) {
        --spaces_[entry.space].owed;
    }
    const u32 index = static_cast<u32>(&entry - entries_);
    unlink(index);
    entry.state = State::free;
    entry.frame = free_;
    free_ = index + 1;
}

void Windows::show(const Entry& entry) {
    ++shown_[entry.frame];
    map(place_of(entry), protection(entry.rights), MAP_SHARED, ram_.file,
        u64{entry.frame} * kPageSize);
}

void Windows::hide(const Entry& entry) {
    --shown_[entry.frame];
    map(place_of(entry), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

}  // namespace ravelin::hosted
