// Random sequences of every operation on three spaces and two budgets, compared after each step
// with a model: maps of pages, from which the charges, the free frames, the placements and every
// status are computed anew.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "core/memory/table.h"
#include "tests/unit/memory/support.h"

namespace ravelin {
namespace {

using abi::Status;
using Format = Port::Format;
using Walk = Tables<Format>;

constexpr u32 kUserPages = Walk::kUserPages;
constexpr u32 kAnonFirst = static_cast<u32>(kAnonBase / kPageSize);
constexpr u32 kSpaces = 3;

/// One page of the model: the word at its start, which the test writes, and what the space may do.
struct Page {
    u32 rights = 0;
    bool device = false;
    u64 tag = 0;
};

using Pages = std::map<u32, Page>;

/// Tables below the root that a space with these pages has.
u32 walk_count(const Pages& pages) {
    u32 tables = 0;
    for (unsigned level = 1; level < Walk::kLevels; ++level) {
        u32 last = ~u32{0};
        for (const auto& [page, ignored] : pages) {
            const u32 table = page >> level * Format::kIndexBits;
            tables += table != last ? 1 : 0;
            last = table;
        }
    }
    return tables;
}

/// All its frames that are no pages: the root, the tables below, the area map.
u32 table_count(const Pages& pages) {
    const auto marks = [&](u32 first) {
        const auto found = pages.lower_bound(first);
        return found != pages.end() && found->first - first < kMapPages ? 1u : 0u;
    };
    u32 maps = 0;
    for (u32 i = 0; i < kMapFrames; ++i) {
        maps += marks(kAnonFirst + i * kMapPages);
    }
    return 1 + walk_count(pages) + maps;
}

u32 charge_of(const Pages& pages) {
    const auto ram = std::count_if(pages.begin(), pages.end(),
                                   [](const auto& page) { return !page.second.device; });
    return table_count(pages) + static_cast<u32>(ram);
}

bool valid_rights(u32 rights) {
    return rights != 0 && rights < 8 && (rights & 6) != 6;
}

u32 full_rights(u32 rights) {
    return (rights & abi::kWrite) != 0 ? rights | abi::kRead : rights;
}

class Sequence {
  public:
    explicit Sequence(u32 seed) : random_(seed) {
        budgets_[0].limit = 60 + below(300);
        budgets_[1].limit = 60 + below(300);
        for (Process& process : processes_) {
            MemoryContext context = process.context();
            EXPECT_EQ(create_space(context), Status::ok);
        }
        check();
    }

    void run(u32 steps) {
        for (step_ = 0; step_ < steps && !testing::Test::HasFailure(); ++step_) {
            step();
            check();
        }
    }

    void end() {
        for (Process& process : processes_) {
            MemoryContext context = process.context();
            destroy_space(context);
        }
        EXPECT_EQ(budgets_[0].used, 0u);
        EXPECT_EQ(budgets_[1].used, 0u);
        EXPECT_EQ(machine_.frames.free(), machine_.frames.total());
    }

  private:
    u32 below(u32 limit) { return random_.below(limit); }

    /// A page near a place where something changes: an end of user space, of an area, of a table,
    /// of a frame of the area map; or next to one that is mapped.
    u32 some_page(u32 space) {
        static constexpr u32 kPlaces[] = {1,
                                          Walk::kEntries,
                                          kAnonFirst,
                                          kAnonFirst + 2 * Walk::kEntries,
                                          kAnonFirst + kMapPages,
                                          kAnonFirst + kAnonPages,
                                          kUserPages - 20};
        if (below(2) == 0 && !pages_[space].empty()) {
            auto page = pages_[space].begin();
            std::advance(page, below(static_cast<u32>(pages_[space].size())));
            return page->first + 2 - below(4);
        }
        return kPlaces[below(std::size(kPlaces))] + 12 - below(16);
    }

    u32 some_rights() { return below(10) == 0 ? below(16) : full_rights(1 + below(5)); }

    Word some_length() {
        if (below(20) == 0) return ~Word{0} - below(3 * kPageSize);
        if (below(20) == 0) return below(3 * kPageSize);
        if (below(20) == 0) return Word{below(kUserPages)} * kPageSize;
        return Word{below(8) == 0 ? 1 + below(150) : 1 + below(6)} * kPageSize;
    }

    Word some_address(u32 space) {
        if (below(20) == 0) return ~Word{0} - below(3 * kPageSize);
        return Word{some_page(space)} * kPageSize + (below(20) == 0 ? below(kPageSize) : 0);
    }

    static bool valid_range(Word address, Word length) {
        const unsigned __int128 end = static_cast<unsigned __int128>(address) + length;
        return address % kPageSize == 0 && length % kPageSize == 0 && length != 0 && address != 0 &&
               end <= Format::kUserEnd;
    }

    Budget& budget_of(u32 space) { return processes_[space].payer; }

    /// Pages that a space's budget may still be charged, from the model alone.
    u32 room_of(u32 space) {
        u32 used = 0;
        for (u32 i = 0; i < kSpaces; ++i) {
            if (&budget_of(i) == &budget_of(space)) used += charge_of(pages_[i]);
        }
        return budget_of(space).limit - used;
    }

    u32 free_frames() const {
        u32 held = 0;
        for (const Pages& pages : pages_) {
            held += charge_of(pages);
        }
        return machine_.frames.total() - held;
    }

    /// Whether the space may come to have `after`, whose growth all needs frames.
    bool affordable(u32 space, const Pages& after) {
        const u32 growth = charge_of(after) - charge_of(pages_[space]);
        return growth <= room_of(space) && growth <= free_frames();
    }

    void step() {
        const u32 space = below(kSpaces);
        MemoryContext context = processes_[space].context();
        Pages& pages = pages_[space];
        Flush flush;
        const Word address = some_address(space);
        const Word length = some_length();
        const u32 rights = some_rights();
        const u32 first = static_cast<u32>(address / kPageSize);
        const u64 count = length / kPageSize;
        const bool ranged = valid_range(address, length);
        const auto any_mapped = [&](const Pages& all, u32 page) {
            const auto found = all.lower_bound(page);
            return found != all.end() && found->first - page < count;
        };
        const auto every = [&](const auto& test) {
            for (u64 i = 0; i < count; ++i) {
                const auto found = pages.find(first + static_cast<u32>(i));
                if (found == pages.end() || !test(found->second)) return false;
            }
            return true;
        };

        switch (below(8)) {
        case 0:
        case 1: {
            Word placed = 0;
            const Status status = map_anon(context, length, rights, placed, flush);
            if (length == 0 || length % kPageSize != 0 || !valid_rights(rights)) {
                ASSERT_EQ(status, Status::invalid_argument);
                return;
            }
            const u32 place = count > kAnonPages ? kNoRun : search(space, static_cast<u32>(count));
            Pages after = pages;
            if (place != kNoRun && count <= machine_.frames.total()) {
                add(after, kAnonFirst + place, count, rights, false);
            }
            const bool fits =
                place != kNoRun && after.size() != pages.size() && affordable(space, after);
            ASSERT_EQ(status, fits ? Status::ok : Status::out_of_memory);
            if (!fits) return;
            ASSERT_EQ(placed, kAnonBase + Word{place} * kPageSize);
            pages = after;
            next_[space] = (place + static_cast<u32>(count)) % kAnonPages;
            expect_zero(space, kAnonFirst + place, count);
            tag(space, kAnonFirst + place, count);
            expect_added(flush, placed, count, rights);
            return;
        }
        case 2:
        case 3: {
            const Status status = map_fixed(context, address, length, rights, flush);
            if (!ranged || !valid_rights(rights)) {
                ASSERT_EQ(status, Status::invalid_argument);
                return;
            }
            if (count > room_of(space)) {
                ASSERT_EQ(status, Status::out_of_memory);
                return;
            }
            if (any_mapped(pages, first)) {
                ASSERT_EQ(status, Status::invalid_argument);
                return;
            }
            Pages after = pages;
            add(after, first, count, rights, false);
            const bool fits = affordable(space, after);
            ASSERT_EQ(status, fits ? Status::ok : Status::out_of_memory);
            if (!fits) return;
            pages = after;
            expect_zero(space, first, count);
            tag(space, first, count);
            expect_added(flush, address, count, rights);
            return;
        }
        case 4: {
            const u32 tables = walk_count(pages);
            const Status status = unmap(context, address, length, flush);
            const bool all = ranged && every([](const Page&) { return true; });
            ASSERT_EQ(status, all ? Status::ok : Status::invalid_argument);
            if (!all) return;
            pages.erase(pages.find(first), pages.lower_bound(first + static_cast<u32>(count)));
            ASSERT_TRUE(flush.removed);
            ASSERT_LE(flush.address, address);
            ASSERT_GE(flush.address + Word{flush.pages} * kPageSize, address + length);
            const u64 wanted = walk_count(pages) < tables ? kUserPages : count;
            ASSERT_EQ(flush.pages, wanted);
            return;
        }
        case 5: {
            const Status status = set_flags(context, address, length, rights, flush);
            const bool execute = (rights & abi::kExecute) != 0;
            const bool allowed = ranged && valid_rights(rights) &&
                                 every([&](const Page& page) { return !execute || !page.device; });
            ASSERT_EQ(status, allowed ? Status::ok : Status::invalid_argument);
            if (!allowed) return;
            bool narrowed = false;
            for (u64 i = 0; i < count; ++i) {
                Page& page = pages[first + static_cast<u32>(i)];
                narrowed = narrowed || (page.rights & ~full_rights(rights)) != 0;
                page.rights = full_rights(rights);
            }
            ASSERT_EQ(flush.removed, narrowed);
            ASSERT_EQ(flush.code, execute);
            ASSERT_EQ(flush.pages, count);
            return;
        }
        case 6: {
            const u32 other = (space + 1 + below(kSpaces - 1)) % kSpaces;
            MemoryContext target = processes_[other].context();
            const Word to = some_address(other);
            const u32 to_first = static_cast<u32>(to / kPageSize);
            Flush target_flush;
            const Status status =
                move_pages(context, target, address, to, length, rights, flush, target_flush);
            if (!ranged || !valid_range(to, length) || !valid_rights(rights) ||
                !every([](const Page& page) { return !page.device; })) {
                ASSERT_EQ(status, Status::invalid_argument);
                return;
            }
            const bool same_payer = &budget_of(space) == &budget_of(other);
            const u32 room = room_of(other);
            if (!same_payer && count > room) {
                ASSERT_EQ(status, Status::out_of_memory);
                return;
            }
            if (any_mapped(pages_[other], to_first)) {
                ASSERT_EQ(status, Status::invalid_argument);
                return;
            }
            Pages after = pages_[other];
            for (u64 i = 0; i < count; ++i) {
                Page page = pages[first + static_cast<u32>(i)];
                page.rights = full_rights(rights);
                after[to_first + static_cast<u32>(i)] = page;
            }
            const u32 tables = table_count(after) - table_count(pages_[other]);
            const bool fits = tables + (same_payer ? 0 : count) <= room && tables <= free_frames();
            ASSERT_EQ(status, fits ? Status::ok : Status::out_of_memory);
            if (!fits) return;
            pages_[other] = after;
            pages.erase(pages.find(first), pages.lower_bound(first + static_cast<u32>(count)));
            ASSERT_TRUE(flush.removed);
            ASSERT_FALSE(target_flush.removed);
            return;
        }
        default: {
            if (below(4) != 0) {
                records(space);
                return;
            }
            const u32 device_pages = 1 + below(30);
            Word placed = 0;
            const Status status =
                map_device(context, FrameNumber{Port::kDevice}, device_pages, placed, flush);
            const u32 place = search(space, device_pages);
            Pages after = pages;
            if (place != kNoRun) add(after, kAnonFirst + place, device_pages, 3, true);
            const bool fits = place != kNoRun && affordable(space, after);
            ASSERT_EQ(status, fits ? Status::ok : Status::out_of_memory);
            if (!fits) return;
            ASSERT_EQ(placed, kAnonBase + Word{place} * kPageSize);
            pages = after;
            next_[space] = (place + device_pages) % kAnonPages;
            return;
        }
        }
    }

    static void add(Pages& pages, u32 first, u64 count, u32 rights, bool device) {
        for (u64 i = 0; i < count; ++i) {
            pages[first + static_cast<u32>(i)] = Page{full_rights(rights), device, 0};
        }
    }

    /// Next fit by its definition, over the gaps between mapped pages.
    u32 search(u32 space, u32 count) const {
        const auto fits_at = [&](u32 start) {
            if (start + u64{count} > kAnonPages) return false;
            const auto found = pages_[space].lower_bound(kAnonFirst + start);
            return found == pages_[space].end() || found->first >= kAnonFirst + start + count;
        };
        // A run found begins at the cursor, at the area's start or behind a mapped page.
        std::set<u32> starts{next_[space], 0};
        for (const auto& [page, ignored] : pages_[space]) {
            if (page + 1 >= kAnonFirst && page + 1 < kAnonFirst + kAnonPages)
                starts.insert(page + 1 - kAnonFirst);
        }
        for (auto start = starts.find(next_[space]); start != starts.end(); ++start) {
            if (fits_at(*start)) return *start;
        }
        for (const u32 start : starts) {
            if (fits_at(start)) return start;
        }
        return kNoRun;
    }

    void* pointer(u32 space, u32 page) {
        const auto entry =
            Walk(machine_.port, machine_.frames, processes_[space].space.root).find(page);
        return machine_.port.frame_pointer(Format::frame(entry));
    }

    void expect_zero(u32 space, u32 first, u64 count) {
        for (u64 i = 0; i < count; ++i) {
            const auto* byte =
                static_cast<const char*>(pointer(space, first + static_cast<u32>(i)));
            ASSERT_TRUE(std::all_of(byte, byte + kPageSize, [](char value) { return value == 0; }));
        }
    }

    void tag(u32 space, u32 first, u64 count) {
        for (u64 i = 0; i < count; ++i) {
            const u32 page = first + static_cast<u32>(i);
            pages_[space][page].tag = ++last_tag_;
            *static_cast<u64*>(pointer(space, page)) = last_tag_;
        }
    }

    static void expect_added(const Flush& flush, Word address, u64 count, u32 rights) {
        ASSERT_FALSE(flush.removed);
        ASSERT_EQ(flush.address, address);
        ASSERT_EQ(flush.pages, count);
        ASSERT_EQ(flush.code, (rights & abi::kExecute) != 0);
    }

    /// A record read or written somewhere, at times across two pages.
    void records(u32 space) {
        const MemoryContext context = processes_[space].context();
        const u32 page = some_page(space);
        const u32 offset =
            below(3) == 0 ? kPageSize - 8 : below(kPageSize) & (below(8) == 0 ? ~0u : ~7u);
        const bool write = below(2) == 0;
        u64 slots[4] = {1, 2, 3, 4};
        const u32 slot_count = 1 + below(4);
        const u32 bytes = slot_count * 8;
        const Word address = Word{page} * kPageSize + offset;
        const u64 last = (u64{address} + bytes - 1) / kPageSize;
        bool allowed = offset % 8 == 0 && u64{address} + bytes <= Format::kUserEnd;
        for (u64 i = page; i <= last; ++i) {
            const auto found = pages_[space].find(static_cast<u32>(i));
            allowed = allowed && found != pages_[space].end() && !found->second.device &&
                      (found->second.rights & (write ? abi::kWrite : abi::kRead)) != 0;
        }
        const Status wanted = allowed ? Status::ok : Status::invalid_argument;
        if (!write) {
            ASSERT_EQ(copy_in(context, slots, address, bytes), wanted);
            if (allowed && offset == 0) {
                ASSERT_EQ(slots[0], pages_[space][page].tag);
            }
            return;
        }
        // Past the tag, unless the record runs on into the next page's.
        const Word target = offset == 0 ? address + 8 : address;
        ASSERT_EQ(copy_out(context, target, slots, bytes), wanted);
        if (allowed && last != page) pages_[space][page + 1].tag = slots[(kPageSize - offset) / 8];
    }

    /// Everything the kernel's side holds against the model.
    void check() {
        u32 used[2] = {0, 0};
        u32 held = 0;
        for (u32 space = 0; space < kSpaces; ++space) {
            const Pages& pages = pages_[space];
            const Space& real = processes_[space].space;
            const u32 charged = charge_of(pages);
            used[&budget_of(space) == &budgets_[0] ? 0 : 1] += charged;
            held += charged;
            ASSERT_EQ(real.tables, table_count(pages)) << where();
            ASSERT_EQ(real.pages + real.tables, charged) << where();
            ASSERT_EQ(real.anon_next, next_[space]) << where();
        }
        ASSERT_EQ(budgets_[0].used, used[0]) << where();
        ASSERT_EQ(budgets_[1].used, used[1]) << where();
        ASSERT_EQ(machine_.frames.free(), machine_.frames.total() - held) << where();

        // Every leaf of one space, and each frame under one leaf only.
        const u32 space = below(kSpaces);
        const Walk walk(machine_.port, machine_.frames, processes_[space].space.root);
        std::set<u32> frames;
        u32 seen = 0;
        for (u32 page = 0; page < kUserPages;) {
            const typename Walk::Block block = walk.block(page, kUserPages - page);
            for (u32 i = 0; block.entries != nullptr && i < block.count; ++i) {
                const Format::Entry entry = block.entries[i];
                if (entry == 0) continue;
                ++seen;
                const auto found = pages_[space].find(page + i);
                ASSERT_NE(found, pages_[space].end()) << where() << " page " << page + i;
                ASSERT_EQ(Format::rights(entry), found->second.rights) << where();
                const FrameNumber frame = Format::frame(entry);
                ASSERT_EQ(machine_.frames.contains(frame), !found->second.device) << where();
                if (found->second.device) continue;
                ASSERT_TRUE(frames.insert(frame.value).second) << where();
                ASSERT_EQ(*static_cast<const u64*>(machine_.port.frame_pointer(frame)),
                          found->second.tag)
                    << where() << " page " << page + i;
            }
            page += block.count;
        }
        ASSERT_EQ(seen, pages_[space].size()) << where();
    }

    std::string where() const { return "step " + std::to_string(step_); }

    Random random_;
    Machine machine_;
    Budget budgets_[2];
    Process processes_[kSpaces] = {{machine_, budgets_[0], 2, {}},
                                   {machine_, budgets_[0], 3, {}},
                                   {machine_, budgets_[1], 4, {}}};
    Pages pages_[kSpaces];
    u32 next_[kSpaces] = {};
    u64 last_tag_ = 0;
    u32 step_ = 0;
};

TEST(SpaceModel, RandomSequencesAgree) {
    for (u32 seed = 1; seed <= 60 && !HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Sequence sequence(seed);
        sequence.run(1'000);
        if (!HasFailure()) sequence.end();
    }
}

}  // namespace
}  // namespace ravelin
