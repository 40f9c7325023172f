// Address spaces: single rules, one test each. space_model_test.cpp drives random sequences.
#include <array>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/memory/table.h"
#include "tests/unit/memory/support.h"

namespace ravelin {
namespace {

using abi::Status;
using Format = Port::Format;
using Walk = Tables<Format>;

constexpr u32 kRw = abi::kRead | abi::kWrite;
constexpr Word kPage = kPageSize;
constexpr Word kLeafSpan = Word{Walk::kEntries} * kPageSize;
constexpr Word kEnd = Word{Format::kUserEnd};

class SpaceTest : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_TRUE(machine.ready);
        MemoryContext context = process.context();
        ASSERT_EQ(create_space(context), Status::ok);
    }
    void TearDown() override {
        MemoryContext context = process.context();
        if (process.space.root.value != 0) destroy_space(context);
        EXPECT_EQ(budget.used, 0u);
        EXPECT_EQ(machine.frames.free(), machine.frames.total());
    }

    Status fixed(Word address, Word length, u32 rights = kRw) {
        MemoryContext context = process.context();
        flush = {};
        return map_fixed(context, address, length, rights, flush);
    }
    Status anon(Word length, Word& address, u32 rights = kRw) {
        MemoryContext context = process.context();
        flush = {};
        return map_anon(context, length, rights, address, flush);
    }
    Status remove(Word address, Word length) {
        MemoryContext context = process.context();
        flush = {};
        return unmap(context, address, length, flush);
    }
    Status change(Word address, Word length, u32 rights) {
        MemoryContext context = process.context();
        flush = {};
        return set_flags(context, address, length, rights, flush);
    }
    Format::Entry leaf(Word address) {
        return Walk(machine.port, machine.frames, process.space.root)
            .find(static_cast<u32>(address / kPageSize));
    }
    void set_leaf(Word address, Format::Entry entry) {
        Walk(machine.port, machine.frames, process.space.root)
            .update(static_cast<u32>(address / kPageSize), 1, [&](Format::Entry) { return entry; });
    }

    Machine machine;
    Budget budget{.limit = 3'000};
    Process process{machine, budget};
    Flush flush;
};

TEST_F(SpaceTest, HostileRangesAreRefusedAndChangeNothing) {
    const u32 used = budget.used;
    const Word max = ~Word{0};
    const std::array<std::array<Word, 2>, 16> ranges{{{0, kPage},
                                                      {0, kEnd},
                                                      {1, kPage},
                                                      {kPage, 0},
                                                      {kPage, 1},
                                                      {kPage, kPage - 1},
                                                      {kPage, kEnd},
                                                      {kEnd, kPage},
                                                      {kEnd - kPage, 2 * kPage},
                                                      {kPage, max - kPage + 1},
                                                      {kPage, max},
                                                      {max - kPage + 1, kPage},
                                                      {max - kPage + 1, 2 * kPage},
                                                      {max, max},
                                                      {kEnd - kPage, max - kEnd + kPage + 1},
                                                      {kPage + 8, kPage}}};
    for (const auto& [address, length] : ranges) {
        EXPECT_EQ(fixed(address, length), Status::invalid_argument) << address << " " << length;
        EXPECT_EQ(remove(address, length), Status::invalid_argument) << address << " " << length;
        EXPECT_EQ(change(address, length, kRw), Status::invalid_argument)
            << address << " " << length;
        EXPECT_TRUE(flush.empty());
    }
    Word address = 77;
    for (const Word length : {Word{0}, Word{1}, kPage + 1, max}) {
        EXPECT_EQ(anon(length, address), Status::invalid_argument) << length;
    }
    EXPECT_EQ(anon(max - kPage + 1, address), Status::out_of_memory);
    EXPECT_EQ(anon(Word{kAnonPages + 1} * kPage, address), Status::out_of_memory);
    EXPECT_EQ(address, 77u);
    EXPECT_EQ(budget.used, used);
}

TEST_F(SpaceTest, RightsAreCheckedAndWriteImpliesRead) {
    Word address = 0;
    for (const u32 rights : {0u, 6u, 7u, 8u, 9u, ~0u}) {
        EXPECT_EQ(fixed(kPage, kPage, rights), Status::invalid_argument) << rights;
        EXPECT_EQ(anon(kPage, address, rights), Status::invalid_argument) << rights;
    }
    ASSERT_EQ(fixed(kPage, kPage, abi::kWrite), Status::ok);
    EXPECT_EQ(Format::rights(leaf(kPage)), kRw);
    for (const u32 rights : {0u, 6u, 7u, 8u, ~0u}) {
        EXPECT_EQ(change(kPage, kPage, rights), Status::invalid_argument) << rights;
    }
    EXPECT_EQ(Format::rights(leaf(kPage)), kRw);
    EXPECT_EQ(change(kPage, kPage, abi::kExecute), Status::ok);
    EXPECT_EQ(Format::rights(leaf(kPage)), abi::kExecute);
}

TEST_F(SpaceTest, MapFixedReplacesNothing) {
    ASSERT_EQ(fixed(5 * kPage, kPage), Status::ok);
    const Format::Entry before = leaf(5 * kPage);
    const u32 used = budget.used;
    EXPECT_EQ(fixed(4 * kPage, 3 * kPage), Status::invalid_argument);
    EXPECT_EQ(fixed(5 * kPage, kPage), Status::invalid_argument);
    EXPECT_EQ(leaf(5 * kPage), before);
    EXPECT_EQ(leaf(4 * kPage), 0u);
    EXPECT_EQ(budget.used, used);
    // The budget is asked before the overlap is.
    budget.limit = used + 2;
    EXPECT_EQ(fixed(4 * kPage, 3 * kPage), Status::out_of_memory);
    EXPECT_EQ(fixed(4 * kPage, 2 * kPage), Status::invalid_argument);
}

TEST_F(SpaceTest, TablesAreChargedAndFreedWhenTheyMapNothing) {
    const u32 used = budget.used;
    ASSERT_EQ(fixed(kLeafSpan - kPage, 2 * kPage), Status::ok);
    EXPECT_EQ(budget.used, used + 2 + (Walk::kLevels - 2) + 2) << "two pages, two lowest tables";
    ASSERT_EQ(remove(kLeafSpan, kPage), Status::ok);
    EXPECT_EQ(budget.used, used + 1 + (Walk::kLevels - 2) + 1);
    EXPECT_TRUE(flush.removed);
    EXPECT_EQ(flush.address, 0u) << "a freed table widens the flush to all of user space";
    EXPECT_EQ(u64{flush.pages} * kPageSize, Format::kUserEnd);
    ASSERT_EQ(remove(kLeafSpan - kPage, kPage), Status::ok);
    EXPECT_EQ(budget.used, used);
}

TEST_F(SpaceTest, TheLastPageOfUserSpace) {
    ASSERT_EQ(fixed(kEnd - kPage, kPage), Status::ok);
    EXPECT_TRUE(permits(process.context(), kEnd - 1, abi::kWrite));
    EXPECT_FALSE(permits(process.context(), kEnd, abi::kRead));
    EXPECT_FALSE(permits(process.context(), ~Word{0}, abi::kRead));
    ASSERT_EQ(remove(kEnd - kPage, kPage), Status::ok);
    EXPECT_FALSE(permits(process.context(), kEnd - kPage, abi::kRead));
}

TEST_F(SpaceTest, RootEntriesPastTheUserHalfAreNeverTouched) {
    constexpr u32 kRootShift = 12 + (Walk::kLevels - 1) * Format::kIndexBits;
    constexpr u32 kKernelHalf = static_cast<u32>(Format::kUserEnd >> kRootShift);
    static_assert(kKernelHalf < Walk::kEntries);
    auto* root = static_cast<Format::Entry*>(machine.port.frame_pointer(process.space.root));
    // An entry that would lead a walk out of RAM, where the port aborts.
    for (u32 i = kKernelHalf; i < Walk::kEntries; ++i) {
        root[i] = Format::table(FrameNumber{Port::kDevice});
    }
    ASSERT_EQ(fixed(kEnd - kPage, kPage), Status::ok);
    ASSERT_EQ(remove(kEnd - kPage, kPage), Status::ok);
    ASSERT_EQ(fixed(kPage, kPage), Status::ok);
    EXPECT_EQ(root[kKernelHalf], Format::table(FrameNumber{Port::kDevice}));
}

TEST_F(SpaceTest, RefusalsForLackOfTablesOrFramesChangeNothing) {
    const u32 used = budget.used;
    const u32 free = machine.frames.free();
    const u32 need = 1 + (Walk::kLevels - 1);
    for (u32 room = 0; room < need; ++room) {
        budget.limit = used + room;
        EXPECT_EQ(fixed(kPage, kPage), Status::out_of_memory) << room;
        EXPECT_EQ(budget.used, used);
        EXPECT_EQ(machine.frames.free(), free);
    }
    budget.limit = 100'000;
    EXPECT_EQ(fixed(kPage, Word{free - need + 2} * kPage), Status::out_of_memory);
    EXPECT_EQ(budget.used, used);
    EXPECT_EQ(machine.frames.free(), free);
    EXPECT_TRUE(flush.empty());
    Word address = 0;
    EXPECT_EQ(anon(Word{free} * kPage, address), Status::out_of_memory);
    EXPECT_EQ(budget.used, used);
    EXPECT_EQ(machine.frames.free(), free);
}

TEST_F(SpaceTest, NextFitGoesOnAndWraps) {
    Word first = 0;
    Word second = 0;
    Word third = 0;
    ASSERT_EQ(anon(3 * kPage, first), Status::ok);
    EXPECT_EQ(first, kAnonBase);
    ASSERT_EQ(anon(kPage, second), Status::ok);
    EXPECT_EQ(second, kAnonBase + 3 * kPage);
    ASSERT_EQ(remove(first, 3 * kPage), Status::ok);
    ASSERT_EQ(anon(kPage, third), Status::ok);
    EXPECT_EQ(third, second + kPage) << "behind the last one, not in the gap";
    process.space.anon_next = kAnonPages - 1;
    Word wrapped = 0;
    ASSERT_EQ(anon(2 * kPage, wrapped), Status::ok);
    EXPECT_EQ(wrapped, kAnonBase);
    EXPECT_EQ(process.space.anon_next, 2u);
}

// The area's pages taken by devices, which need no RAM: every second one, so that no two are free.
TEST_F(SpaceTest, AFragmentedAreaIsSearchedAndRefusesAtOnce) {
    budget.limit = 100'000;
    MemoryContext context = process.context();
    Word address = 0;
    ASSERT_EQ(map_device(context, FrameNumber{Port::kDevice}, kAnonPages, address, flush),
              Status::ok);
    EXPECT_EQ(address, kAnonBase);
    EXPECT_EQ(process.space.pages, 0u) << "a device's pages are not charged";
    ASSERT_EQ(anon(kPage, address), Status::out_of_memory);
    for (u32 page = 0; page < kAnonPages; page += 2) {
        ASSERT_EQ(remove(kAnonBase + page * kPage, kPage), Status::ok);
    }
    const u32 used = budget.used;
    EXPECT_EQ(anon(2 * kPage, address), Status::out_of_memory);
    EXPECT_EQ(budget.used, used);
    EXPECT_EQ(machine.port.worked(Work::frame), used) << "only the tables were ever made";
    ASSERT_EQ(anon(kPage, address), Status::ok);
    ASSERT_EQ(remove(kAnonBase + 1'001 * kPage, kPage), Status::ok);
    ASSERT_EQ(anon(3 * kPage, address), Status::ok);
    EXPECT_EQ(address, kAnonBase + 1'000 * kPage);
}

TEST_F(SpaceTest, MapFixedInTheAnonymousAreaIsSeenByTheSearch) {
    ASSERT_EQ(fixed(kAnonBase - kPage, 3 * kPage), Status::ok);
    Word address = 0;
    ASSERT_EQ(anon(kPage, address), Status::ok);
    EXPECT_EQ(address, kAnonBase + 2 * kPage);
    ASSERT_EQ(remove(kAnonBase - kPage, 2 * kPage), Status::ok);
    process.space.anon_next = 0;
    ASSERT_EQ(anon(kPage, address), Status::ok);
    EXPECT_EQ(address, kAnonBase);
    const Word end = kAnonBase + Word{kAnonPages} * kPage;
    ASSERT_EQ(fixed(end - kPage, 2 * kPage), Status::ok);
    process.space.anon_next = kAnonPages - 1;
    ASSERT_EQ(anon(kPage, address), Status::ok);
    EXPECT_EQ(address, kAnonBase + 3 * kPage);
}

TEST_F(SpaceTest, LentPagesAreOccupiedAndNotTheirOwnersToTouch) {
    ASSERT_EQ(fixed(kPage, 3 * kPage), Status::ok);
    const Format::Entry own = leaf(2 * kPage);
    Process other{machine, budget, 3};
    MemoryContext context = process.context();
    MemoryContext target = other.context();
    ASSERT_EQ(create_space(target), Status::ok);
    const u32 used = budget.used;
    u64 slot = 0;
    Flush out;
    Flush in;
    // The lender's side keeps its frame without being valid; the borrower's is valid.
    for (const bool valid : {false, true}) {
        set_leaf(2 * kPage, Format::with_valid(Format::with_lent(own, true), valid));
        EXPECT_EQ(remove(kPage, 3 * kPage), Status::invalid_argument);
        EXPECT_EQ(change(2 * kPage, kPage, abi::kRead), Status::invalid_argument);
        EXPECT_EQ(fixed(2 * kPage, kPage), Status::invalid_argument);
        EXPECT_EQ(copy_in(context, &slot, 2 * kPage, 8), Status::invalid_argument);
        EXPECT_EQ(copy_out(context, 2 * kPage, &slot, 8), Status::invalid_argument);
        EXPECT_EQ(move_pages(context, target, 2 * kPage, 2 * kPage, kPage, kRw, out, in),
                  Status::invalid_argument);
        EXPECT_EQ(permits(context, 2 * kPage, abi::kWrite), valid);
    }
    EXPECT_EQ(budget.used, used);
    set_leaf(2 * kPage, own);
    EXPECT_EQ(remove(kPage, 3 * kPage), Status::ok);
    destroy_space(target);
}

TEST_F(SpaceTest, DevicePagesAreNeverRecordsExecutedMovedOrFreed) {
    MemoryContext context = process.context();
    const u32 used = budget.used;
    const u32 free = machine.frames.free();
    Word address = 0;
    ASSERT_EQ(map_device(context, FrameNumber{Port::kDevice}, 2, address, flush), Status::ok);
    EXPECT_EQ(Format::rights(leaf(address)), kRw);
    EXPECT_EQ(Format::frame(leaf(address + kPage)).value, Port::kDevice + 1);
    u64 slot = 0;
    EXPECT_EQ(copy_in(context, &slot, address, 8), Status::invalid_argument);
    EXPECT_EQ(copy_out(context, address, &slot, 8), Status::invalid_argument);
    EXPECT_EQ(change(address, kPage, abi::kRead | abi::kExecute), Status::invalid_argument);
    EXPECT_EQ(change(address, kPage, abi::kRead), Status::ok);
    Process other{machine, budget, 3};
    MemoryContext target = other.context();
    ASSERT_EQ(create_space(target), Status::ok);
    Flush in;
    EXPECT_EQ(move_pages(context, target, address, kPage, kPage, kRw, flush, in),
              Status::invalid_argument);
    destroy_space(target);
    ASSERT_EQ(remove(address, 2 * kPage), Status::ok);
    EXPECT_EQ(budget.used, used);
    EXPECT_EQ(machine.frames.free(), free);
}

TEST_F(SpaceTest, RecordsAreCheckedAndCopiedAcrossPages) {
    MemoryContext context = process.context();
    ASSERT_EQ(fixed(kPage, 2 * kPage), Status::ok);
    ASSERT_EQ(fixed(3 * kPage, kPage, abi::kRead), Status::ok);
    const std::array<u64, 4> written{1, ~u64{0}, 0x0123'4567'89ab'cdef, 4};
    const u32 size = sizeof(written);
    ASSERT_EQ(copy_out(context, 2 * kPage - 16, written.data(), size), Status::ok);
    std::array<u64, 4> read{};
    ASSERT_EQ(copy_in(context, read.data(), 2 * kPage - 16, size), Status::ok);
    EXPECT_EQ(read, written);
    const auto* second =
        static_cast<const u64*>(machine.port.frame_pointer(Format::frame(leaf(2 * kPage))));
    EXPECT_EQ(second[0], written[2]);
    EXPECT_EQ(second[1], written[3]);
    EXPECT_EQ(second[2], 0u);

    // The second page of each has the wrong right or is absent: nothing is copied.
    read.fill(7);
    const std::array<u64, 4> sevens = read;
    EXPECT_EQ(copy_out(context, 3 * kPage - 8, read.data(), size), Status::invalid_argument);
    EXPECT_EQ(second[kPageSize / 8 - 1], 0u);
    EXPECT_EQ(copy_in(context, read.data(), 4 * kPage - 8, size), Status::invalid_argument);
    ASSERT_EQ(change(3 * kPage, kPage, abi::kExecute), Status::ok);
    EXPECT_EQ(copy_in(context, read.data(), 3 * kPage - 8, size), Status::invalid_argument);
    EXPECT_EQ(copy_in(context, read.data(), kPage + 4, size), Status::invalid_argument);
    EXPECT_EQ(copy_in(context, read.data(), kEnd, size), Status::invalid_argument);
    EXPECT_EQ(copy_in(context, read.data(), kEnd - 8, size), Status::invalid_argument);
    EXPECT_EQ(copy_in(context, read.data(), ~Word{0} - 7, size), Status::invalid_argument);
    EXPECT_EQ(copy_in(context, read.data(), 0, size), Status::invalid_argument);
    EXPECT_EQ(read, sevens);
}

TEST_F(SpaceTest, FlushesSayWhatWasNarrowedAndWhatIsCode) {
    ASSERT_EQ(fixed(kPage, 4 * kPage), Status::ok);
    EXPECT_EQ(flush.space, process.number);
    EXPECT_EQ(flush.address, kPage);
    EXPECT_EQ(flush.pages, 4u);
    EXPECT_FALSE(flush.removed);
    EXPECT_FALSE(flush.code);
    ASSERT_EQ(change(2 * kPage, kPage, abi::kRead), Status::ok);
    EXPECT_EQ(flush.address, 2 * kPage);
    EXPECT_EQ(flush.pages, 1u);
    EXPECT_TRUE(flush.removed);
    ASSERT_EQ(change(2 * kPage, kPage, abi::kRead | abi::kExecute), Status::ok);
    EXPECT_FALSE(flush.removed);
    EXPECT_TRUE(flush.code);
    ASSERT_EQ(change(2 * kPage, 3 * kPage, kRw), Status::ok);
    EXPECT_TRUE(flush.removed) << "one page of the range lost execute";
    ASSERT_EQ(remove(2 * kPage, kPage), Status::ok);
    EXPECT_EQ(flush.address, 2 * kPage);
    EXPECT_EQ(flush.pages, 1u);
    EXPECT_TRUE(flush.removed);
    // One Flush gathers several operations.
    MemoryContext context = process.context();
    ASSERT_EQ(unmap(context, 4 * kPage, kPage, flush), Status::ok);
    EXPECT_EQ(flush.address, 2 * kPage);
    EXPECT_EQ(flush.pages, 3u);
}

TEST_F(SpaceTest, UnmapNeedsEveryPage) {
    ASSERT_EQ(fixed(kPage, 2 * kPage), Status::ok);
    ASSERT_EQ(fixed(4 * kPage, kPage), Status::ok);
    const u32 used = budget.used;
    EXPECT_EQ(remove(kPage, 4 * kPage), Status::invalid_argument);
    EXPECT_EQ(remove(4 * kPage, kEnd - 4 * kPage), Status::invalid_argument);
    EXPECT_EQ(budget.used, used);
    EXPECT_TRUE(permits(process.context(), kPage, abi::kWrite));
}

TEST_F(SpaceTest, ExactFramesAreMappedAsTheyAre) {
    const u32 first = Port::kFirst + 1'000;
    for (u32 i = 0; i < 3; ++i) {
        ASSERT_TRUE(machine.frames.take_exact(FrameNumber{first + i}));
    }
    std::memcpy(machine.port.frame_pointer(FrameNumber{first + 1}), "text", 4);
    MemoryContext context = process.context();
    EXPECT_EQ(map_exact(context, kPage, FrameNumber{first}, 3, 7, flush), Status::invalid_argument);
    EXPECT_EQ(map_exact(context, 0, FrameNumber{first}, 3, 5, flush), Status::invalid_argument);
    EXPECT_EQ(map_exact(context, kPage, FrameNumber{first}, ~u32{0}, 5, flush),
              Status::invalid_argument);
    const u32 used = budget.used;
    budget.limit = used + 3;
    EXPECT_EQ(map_exact(context, kPage, FrameNumber{first}, 3, 5, flush), Status::out_of_memory);
    EXPECT_EQ(budget.used, used);
    budget.limit = 3'000;
    ASSERT_EQ(map_exact(context, kPage, FrameNumber{first}, 3, 5, flush), Status::ok);
    EXPECT_TRUE(flush.code);
    EXPECT_EQ(Format::frame(leaf(2 * kPage)).value, first + 1);
    EXPECT_EQ(map_exact(context, 3 * kPage, FrameNumber{first}, 1, 5, flush),
              Status::invalid_argument);
    char text[8];
    ASSERT_EQ(copy_in(context, text, 2 * kPage, 8), Status::ok);
    EXPECT_EQ(std::memcmp(text, "text", 4), 0);
}

TEST_F(SpaceTest, MovingBetweenBudgetsMovesTheCharge) {
    Budget other_budget{.limit = 100};
    Process other{machine, other_budget, 3};
    MemoryContext context = process.context();
    MemoryContext target = other.context();
    ASSERT_EQ(create_space(target), Status::ok);
    const u32 empty = budget.used;
    ASSERT_EQ(fixed(kPage, 2 * kPage), Status::ok);
    const u64 value = 42;
    ASSERT_EQ(copy_out(context, kPage + 8, &value, 8), Status::ok);
    Flush out;
    Flush in;
    other_budget.limit = 1 + 2 + (Walk::kLevels - 1) - 1;
    EXPECT_EQ(move_pages(context, target, kPage, 8 * kPage, 2 * kPage, 5, out, in),
              Status::out_of_memory);
    EXPECT_EQ(other_budget.used, 1u);
    EXPECT_TRUE(out.empty() && in.empty());
    ++other_budget.limit;
    ASSERT_EQ(move_pages(context, target, kPage, 8 * kPage, 2 * kPage, 5, out, in), Status::ok);
    EXPECT_EQ(other_budget.used, other_budget.limit);
    EXPECT_EQ(budget.used, empty);
    EXPECT_TRUE(out.removed);
    EXPECT_EQ(out.space, process.number);
    EXPECT_FALSE(in.removed);
    EXPECT_TRUE(in.code);
    EXPECT_EQ(in.space, other.number);
    u64 read = 0;
    ASSERT_EQ(copy_in(target, &read, 8 * kPage + 8, 8), Status::ok);
    EXPECT_EQ(read, 42u);
    EXPECT_EQ(copy_in(context, &read, kPage + 8, 8), Status::invalid_argument);
    destroy_space(target);
    EXPECT_EQ(other_budget.used, 0u);
}

TEST_F(SpaceTest, CreateNeedsAPageAndAFrame) {
    Budget poor{.limit = 0};
    Process other{machine, poor, 3};
    MemoryContext context = other.context();
    EXPECT_EQ(create_space(context), Status::out_of_memory);
    EXPECT_EQ(other.space.root.value, 0u);
    poor.limit = 1;
    std::vector<FrameNumber> taken;
    while (machine.frames.free() != 0) {
        taken.push_back(machine.frames.take(machine.port));
    }
    EXPECT_EQ(create_space(context), Status::out_of_memory);
    EXPECT_EQ(poor.used, 0u);
    for (const FrameNumber frame : taken) {
        machine.frames.give(frame);
    }
}

#if RAVELIN_CHECKED
TEST_F(SpaceTest, DestroyWithALentPageStops) {
    ASSERT_EQ(fixed(kPage, kPage), Status::ok);
    const Format::Entry own = leaf(kPage);
    set_leaf(kPage, Format::with_valid(Format::with_lent(own, true), false));
    MemoryContext context = process.context();
    EXPECT_DEATH(destroy_space(context), "assertion failed");
    set_leaf(kPage, own);
}
#endif

}  // namespace
}  // namespace ravelin
