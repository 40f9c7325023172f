// The search for free pages: what it finds is what a page-by-page search finds, and how much it
// reads is bounded.
#include <algorithm>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "core/memory/runs.h"
#include "tests/unit/memory/support.h"

namespace ravelin {
namespace {

constexpr u32 kRowWords = 4;

/// The map of an area, which counts the words read. A row without a used page is null.
struct Map {
    struct Row {
        const Map* map;
        u32 first;

        bool operator==(std::nullptr_t) const { return map == nullptr; }
        Word operator[](u32 i) const {
            ++map->reads;
            EXPECT_LT(i, kRowWords);
            return map->words[first + i];
        }
    };

    std::vector<Word> words;
    mutable u64 reads = 0;

    explicit Map(u32 pages) : words(pages / kRunBits) {}
    bool used(u32 page) const { return (words[page / kRunBits] >> page % kRunBits & 1) != 0; }
    void set(u32 page, bool on) {
        const Word bit = Word{1} << page % kRunBits;
        Word& word = words[page / kRunBits];
        word = on ? word | bit : word & ~bit;
    }
    u32 pages() const { return static_cast<u32>(words.size() * kRunBits); }
    Row row(u32 i) const {
        const auto begin = words.begin() + i * kRowWords;
        const bool free =
            std::all_of(begin, begin + kRowWords, [](Word word) { return word == 0; });
        return Row{free ? nullptr : this, i * kRowWords};
    }
    u32 find(u32 cursor, u32 length) const {
        return next_fit<kRowWords>([this](u32 i) { return row(i); }, pages(), cursor, length);
    }
};

/// The definition: the first start at or behind the cursor, then the first of all.
u32 plain_search(const Map& map, u32 cursor, u32 length) {
    std::vector<u32> free_from(map.pages() + 1, 0);
    for (u32 page = map.pages(); page-- > 0;) {
        free_from[page] = map.used(page) ? 0 : free_from[page + 1] + 1;
    }
    for (u32 i = 0; i < map.pages(); ++i) {
        const u32 start = (cursor + i) % map.pages();
        if (free_from[start] >= length) return start;
    }
    return kNoRun;
}

TEST(Runs, AgreesWithThePlainSearch) {
    Random random(2);
    for (int round = 0; round < 400; ++round) {
        Map map(512);
        // Alternating runs, short or long ones, so that every boundary of words is met.
        const u32 longest = round % 4 == 0 ? 3 : round % 4 == 1 ? 20 : round % 4 == 2 ? 70 : 200;
        u32 page = 0;
        for (bool on = round % 2 == 0; page < map.pages(); on = !on) {
            const u32 run = 1 + random.below(longest);
            for (u32 i = 0; i < run && page < map.pages(); ++i) {
                map.set(page++, on);
            }
        }
        for (int look = 0; look < 60; ++look) {
            const u32 length = look < 30 ? 1 + random.below(longest) : 1 + random.below(520);
            const u32 cursor = random.below(map.pages());
            ASSERT_EQ(map.find(cursor, length), plain_search(map, cursor, length))
                << "round " << round << " cursor " << cursor << " length " << length;
        }
    }
}

TEST(Runs, EmptyAndFullMaps) {
    Map map(256);
    EXPECT_EQ(map.find(0, 256), 0u);
    EXPECT_EQ(map.find(1, 256), 0u);
    EXPECT_EQ(map.find(255, 1), 255u);
    EXPECT_EQ(map.find(255, 2), 0u);
    EXPECT_EQ(map.find(0, 257), kNoRun);
    EXPECT_EQ(map.find(9, ~u32{0}), kNoRun);
    for (u32 page = 0; page < 256; ++page) {
        map.set(page, true);
    }
    EXPECT_EQ(map.find(17, 1), kNoRun);
}

// A refused search of an area of 65,536 pages, in the worst fragmentation for each length: every
// free run is one page too short.
TEST(Runs, ARefusalReadsEachWordOnceAndTheCursorsAgain) {
    for (const u32 length : {1u, 2u, 3u, 17u, 63u, 64u, 65u, 1'000u, 32'768u, 65'536u}) {
        Map map(65'536);
        for (u32 page = length - 1; page < map.pages(); page += length) {
            map.set(page, true);
        }
        for (const u32 cursor : {0u, 1u, 40'000u, 65'535u}) {
            map.reads = 0;
            ASSERT_EQ(map.find(cursor, length), kNoRun) << length;
            EXPECT_LE(map.reads, map.words.size() + length / kRunBits + 2) << length;
        }
    }
}

}  // namespace
}  // namespace ravelin
