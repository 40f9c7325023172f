// Page-table walks, the same for every format: find an entry, map a range, unmap it, free a whole
// tree.
//
// Rule: tables are the only record of what a space maps. A table that maps nothing is freed at once
// (R11); destruction visits the tables that exist and no other RAM (R10).
// Invariants: the empty entry is the number 0. Frames::note of a table counts its entries that are
// not empty, in the user half only: the entries of the root from kUserEnd on are the port's and
// never touched here. Leaves stand in the lowest level only. A leaf that is not empty maps or, lent
// away, keeps its page.
// Bound: a block costs kLevels reads; a range costs its pages plus kLevels for each block. Absent
// subtrees are stepped over whole.
//
// Pages are numbered from address 0: page = address / kPageSize, below kUserPages.
#pragma once

#include "core/memory/frames.h"

namespace ravelin {

template <PageFormat Format>
class Tables {
  public:
    using Entry = typename Format::Entry;
    static constexpr unsigned kLevels = Format::kLevels;
    static constexpr u32 kEntries = u32{1} << Format::kIndexBits;
    static constexpr u32 kUserPages = static_cast<u32>(Format::kUserEnd / kPageSize);
    static_assert(kEntries * sizeof(Entry) <= kPageSize && kLevels >= 2);
    static_assert((Format::kUserEnd - 1) / kPageSize < (u64{1} << (kLevels * Format::kIndexBits)));

    Tables(Port& port, Frames& frames, FrameNumber root)
        : port_(port), frames_(frames), root_(root) {}

    /// The part of a range that one lowest table holds or, if `entries` is null, that one absent
    /// subtree would.
    struct Block {
        Entry* entries = nullptr;  ///< of the range's first page and on
        u32 count = 0;             ///< pages of the range, at least 1
        FrameNumber path[kLevels] =
            {};  ///< the tables down to it, the lowest first; only if entries is not null
    };

    /// The block of [page, page + count) that begins at `page`. count is at least 1.
    Block block(u32 page, u32 count) const {
        Block found;
        FrameNumber table = root_;
        for (unsigned level = kLevels - 1; level > 0; --level) {
            found.path[level] = table;
            const Entry entry = load(slot(table, page, level));
            if (!Format::is_valid(entry)) {
                found.count = clip(page, count, level);
                return found;
            }
            RAVELIN_ASSERT(!Format::is_leaf(entry));
            table = Format::frame(entry);
        }
        found.path[0] = table;
        found.entries = slot(table, page, 0);
        found.count = clip(page, count, 0);
        return found;
    }

    /// The leaf of a page; empty (0) if there is none.
    Entry find(u32 page) const {
        const Block found = block(page, 1);
        return found.entries == nullptr ? Entry{0} : load(found.entries);
    }

    /// Whether no page of the range has a leaf.
    bool vacant(u32 page, u32 count) const {
        while (count != 0) {
            const Block part = block(page, count);
            if (part.entries != nullptr) {
                for (u32 i = 0; i < part.count; ++i) {
                    if (load(part.entries + i) != 0) return false;
                }
            }
            page += part.count;
            count -= part.count;
        }
        return true;
    }

    /// Whether `test(leaf)` holds for the leaf of every page of the range, none of them empty.
    /// Stops at the first that fails.
    template <class Test>
    bool all(u32 page, u32 count, const Test& test) const {
        while (count != 0) {
            const Block part = block(page, count);
            if (part.entries == nullptr) return false;
            for (u32 i = 0; i < part.count; ++i) {
                const Entry entry = load(part.entries + i);
                if (entry == 0 || !test(entry)) return false;
            }
            page += part.count;
            count -= part.count;
        }
        return true;
    }

    /// Tables that map would have to make for the range.
    u32 missing(u32 page, u32 count) const {
        u32 tables = 0;
        while (count != 0) {
            FrameNumber table = root_;
            u32 step = 0;
            for (unsigned level = kLevels - 1; level > 0 && step == 0; --level) {
                const Entry entry = load(slot(table, page, level));
                if (Format::is_valid(entry)) {
                    table = Format::frame(entry);
                    continue;
                }
                step = clip(page, count, level);
                for (unsigned below = 1; below <= level; ++below) {
                    const unsigned shift = below * Format::kIndexBits;
                    tables += ((page + (step - 1)) >> shift) - (page >> shift) + 1;
                }
            }
            if (step == 0) step = clip(page, count, 0);
            page += step;
            count -= step;
        }
        return tables;
    }

    /// Gives each page of a vacant range the leaf `leaf(i)`, i from 0. Makes the tables, for which
    /// there are frames enough.
    /// Returns how many it made.
    template <class Leaf>
    u32 map(u32 page, u32 count, const Leaf& leaf) {
        u32 made = 0;
        u32 next = 0;
        while (next != count) {
            const Block part = grow(page + next, count - next, made);
            for (u32 i = 0; i < part.count; ++i) {
                RAVELIN_ASSERT(load(part.entries + i) == 0);
                store(part.entries + i, leaf(next + i));
            }
            frames_.note(part.path[0]) = static_cast<u16>(frames_.note(part.path[0]) + part.count);
            next += part.count;
        }
        return made;
    }

    /// Replaces the leaf of each page of the range, all of them there, by `change(leaf)`, which is
    /// not empty.
    template <class Change>
    void update(u32 page, u32 count, const Change& change) {
        while (count != 0) {
            const Block part = block(page, count);
            RAVELIN_ASSERT(part.entries != nullptr);
            for (u32 i = 0; i < part.count; ++i) {
                store(part.entries + i, change(load(part.entries + i)));
            }
            page += part.count;
            count -= part.count;
        }
    }

    /// Empties the leaf of each page of the range, all of them there, after `sink(leaf)` had it,
    /// and frees tables that map nothing now. Returns how many it freed.
    template <class Sink>
    u32 unmap(u32 page, u32 count, const Sink& sink) {
        u32 freed = 0;
        while (count != 0) {
            const Block part = block(page, count);
            RAVELIN_ASSERT(part.entries != nullptr);
            for (u32 i = 0; i < part.count; ++i) {
                const Entry entry = load(part.entries + i);
                store(part.entries + i, Entry{0});
                sink(entry);
            }
            u16& used = frames_.note(part.path[0]);
            RAVELIN_ASSERT(used >= part.count);
            used = static_cast<u16>(used - part.count);
            for (unsigned level = 0; level + 1 < kLevels && frames_.note(part.path[level]) == 0;
                 ++level) {
                store(slot(part.path[level + 1], page, level + 1), Entry{0});
                --frames_.note(part.path[level + 1]);
                frames_.give(part.path[level]);
                ++freed;
            }
            page += part.count;
            count -= part.count;
        }
        return freed;
    }

    /// Calls `sink(leaf)` for every leaf and frees every table, the root with them. Returns how
    /// many it freed.
    template <class Sink>
    u32 destroy(const Sink& sink) {
        return destroy_level(root_, kLevels - 1, sink);
    }

  private:
    // A machine may read tables while the kernel, which alone writes them, holds its lock: entries
    // change in one store, and what a new entry leads to is written before it. A format whose
    // entries no register holds has no such reader.
    static constexpr bool kOneStore = sizeof(Entry) <= sizeof(Word);

    static Entry load(const Entry* entry) {
        if constexpr (kOneStore) {
            return __atomic_load_n(entry, __ATOMIC_RELAXED);
        } else {
            return *entry;
        }
    }
    static void store(Entry* entry, Entry value) {
        if constexpr (kOneStore) {
            __atomic_store_n(entry, value, __ATOMIC_RELEASE);
        } else {
            *entry = value;
        }
    }

    Entry* slot(FrameNumber table, u32 page, unsigned level) const {
        const u32 index = page >> (level * Format::kIndexBits) & (kEntries - 1);
        return static_cast<Entry*>(port_.frame_pointer(table)) + index;
    }

    /// How many pages of the range one entry of the next level up covers (level 0: a lowest table;
    /// above: the absent entry's).
    static u32 clip(u32 page, u32 count, unsigned level) {
        const u64 span = u64{1} << ((level == 0 ? 1 : level) * Format::kIndexBits);
        const u64 room = span - (page & (span - 1));
        return count < room ? count : static_cast<u32>(room);
    }

    Block grow(u32 page, u32 count, u32& made) {
        Block found;
        FrameNumber table = root_;
        for (unsigned level = kLevels - 1; level > 0; --level) {
            found.path[level] = table;
            Entry* const entry = slot(table, page, level);
            const Entry old = load(entry);
            if (Format::is_valid(old)) {
                table = Format::frame(old);
                continue;
            }
            const FrameNumber child = frames_.take(port_);
            RAVELIN_ASSERT(child.value != 0);
            store(entry, Format::table(child));
            ++frames_.note(table);
            ++made;
            table = child;
        }
        found.path[0] = table;
        found.entries = slot(table, page, 0);
        found.count = clip(page, count, 0);
        return found;
    }

    template <class Sink>
    u32 destroy_level(FrameNumber table, unsigned level, const Sink& sink) {
        const auto* entries = static_cast<const Entry*>(port_.frame_pointer(table));
        u32 freed = 1;
        u32 left = frames_.note(table);
        for (u32 i = 0; left != 0; ++i) {
            const Entry entry = load(entries + i);
            if (entry == 0) continue;
            --left;
            if (level == 0) {
                sink(entry);
            } else {
                freed += destroy_level(Format::frame(entry), level - 1, sink);
            }
        }
        frames_.give(table);
        return freed;
    }

    Port& port_;
    Frames& frames_;
    FrameNumber root_;
};

}  // namespace ravelin
