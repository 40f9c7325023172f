// The facts of each kind of board, stated by hand.

#include "tests/fdt/corpus.h"

#include "port-riscv/fdt/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace ravelin::fdt::test {

namespace {

using testing::ElementsAre;

/// A tree of the corpus, and what was read from it.
struct Board {
    explicit Board(const std::string& name) : blob{read_tree(name)} {
        EXPECT_EQ(tree.open(blob), Status::ok) << name;
        status = read_facts(tree, *facts);
    }

    std::vector<std::uint64_t> ids() const {
        std::vector<std::uint64_t> ids;
        for (const Hart& hart : facts->harts.view()) {
            ids.push_back(hart.id);
        }
        return ids;
    }

    std::vector<bool> usable() const {
        std::vector<bool> usable;
        for (const Hart& hart : facts->harts.view()) {
            usable.push_back(hart.usable);
        }
        return usable;
    }

    /// The contexts by hart; -1 is none.
    std::vector<int> contexts() const {
        std::vector<int> contexts;
        for (const Hart& hart : facts->harts.view()) {
            contexts.push_back(hart.context ? static_cast<int>(*hart.context) : -1);
        }
        return contexts;
    }

    std::vector<std::uint8_t> blob;
    Tree tree;
    std::unique_ptr<Facts> facts = std::make_unique<Facts>();
    Status status;
};

Status status_of(const std::string& name) {
    return Board{name}.status;
}

auto regions(std::span<const Region> view) {
    return std::vector<Region>(view.begin(), view.end());
}

TEST(Facts, OfQemuVirt) {
    for (const std::string width : {"rv64", "rv32"}) {
        const Board board{"virt-" + width + "-4"};
        ASSERT_EQ(board.status, Status::ok);
        const Facts& facts = *board.facts;
        EXPECT_THAT(regions(facts.memory.view()), ElementsAre(Region{0x80000000, 0x10000000}));
        EXPECT_EQ(facts.reserved.size(), 0U);
        EXPECT_THAT(board.ids(), ElementsAre(0, 1, 2, 3));
        EXPECT_THAT(board.usable(), ElementsAre(true, true, true, true));
        EXPECT_THAT(board.contexts(), ElementsAre(1, 3, 5, 7));
        EXPECT_EQ(facts.harts[0].paging, width == "rv64" ? Paging::sv48 : Paging::sv32);
        EXPECT_TRUE(facts.harts[3].sstc);
        EXPECT_EQ(facts.timebase, 10'000'000U);
        ASSERT_TRUE(facts.plic);
        EXPECT_EQ(facts.plic->registers, (Region{0xC000000, 0x600000}));
        EXPECT_EQ(facts.plic->sources, 96U);
        ASSERT_TRUE(facts.uart);
        EXPECT_EQ(facts.uart->device, (Device{{0x10000000, 0x100}, 10}));
        EXPECT_EQ(facts.uart->kind, UartKind::ns16550);
        EXPECT_EQ(facts.uart->clock, 3'686'400U);
        EXPECT_EQ(facts.rtc, (Device{{0x101000, 0x1000}, 11}));
        ASSERT_EQ(facts.virtio.size(), 8U);
        EXPECT_EQ(facts.virtio[0], (Device{{0x10008000, 0x1000}, 8}));
        EXPECT_EQ(facts.rng_seed.size(), 32U);
        EXPECT_FALSE(facts.initrd);
    }
}

TEST(Facts, OfQemuVirtWithOneAndEightHarts) {
    const Board one{"virt-rv64-1"};
    EXPECT_THAT(one.contexts(), ElementsAre(1));
    const Board eight{"virt-rv32-8"};
    EXPECT_THAT(eight.contexts(), ElementsAre(1, 3, 5, 7, 9, 11, 13, 15));
}

TEST(Facts, OfSifiveU) {
    const Board board{"sifive-u-rv64"};
    ASSERT_EQ(board.status, Status::ok);
    EXPECT_THAT(board.ids(), ElementsAre(0, 1));
    EXPECT_THAT(board.usable(), ElementsAre(false, true));
    EXPECT_THAT(board.contexts(), ElementsAre(-1, 2));
    EXPECT_FALSE(board.facts->harts[1].sstc);
    EXPECT_EQ(board.facts->timebase, 1'000'000U);
    EXPECT_EQ(board.facts->plic->sources, 53U);
    EXPECT_EQ(board.facts->uart->kind, UartKind::sifive);
    EXPECT_EQ(board.facts->uart->device, (Device{{0x10010000, 0x1000}, 4}));
}

TEST(Facts, OfSpike) {
    const Board board{"spike-rv32"};
    ASSERT_EQ(board.status, Status::ok);
    EXPECT_FALSE(board.facts->plic);
    EXPECT_FALSE(board.facts->uart);
    EXPECT_THAT(board.contexts(), ElementsAre(-1, -1));
}

TEST(Facts, OfIcicleKit) {
    const Board board{"microchip-icicle-kit"};
    ASSERT_EQ(board.status, Status::ok);
    EXPECT_THAT(board.ids(), ElementsAre(0, 1, 2, 3, 4));
    EXPECT_THAT(board.usable(), ElementsAre(false, true, true, true, true));
    EXPECT_THAT(board.contexts(), ElementsAre(-1, 2, 4, 6, 8));
    EXPECT_THAT(regions(board.facts->memory.view()),
                ElementsAre(Region{0x80000000, 0x40000000}, Region{0x1000000000, 0x40000000}));
    EXPECT_THAT(regions(board.facts->reserved.view()), ElementsAre(Region{0x103FC00000, 0x400000}));
    EXPECT_EQ(board.facts->uart->device, (Device{{0x20100000, 0x400}, 91}));
    EXPECT_EQ(board.facts->uart->shift, 2U);
    EXPECT_EQ(board.facts->plic->sources, 186U);
}

TEST(Facts, HartIdsAreNotIndices) {
    const Board to_four{"harts-1-to-4"};
    EXPECT_THAT(to_four.ids(), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(to_four.contexts(), ElementsAre(1, 3, 5, 7));
    const Board four{"harts-4"};
    EXPECT_THAT(four.ids(), ElementsAre(4));
    EXPECT_THAT(four.contexts(), ElementsAre(1));
    const Board disabled{"harts-0-disabled"};
    EXPECT_THAT(disabled.ids(), ElementsAre(0, 1, 2));
    EXPECT_THAT(disabled.usable(), ElementsAre(false, true, true));
    EXPECT_THAT(disabled.contexts(), ElementsAre(1, 3, 5));
    const Board sparse{"harts-sparse"};
    EXPECT_THAT(sparse.ids(), ElementsAre(0, 1, 16, 17));
    EXPECT_THAT(sparse.contexts(), ElementsAre(1, 3, 5, 7));
}

TEST(Facts, CellsOfAddressesSizesAndHartIds) {
    const Board board{"cells-2-1"};
    ASSERT_EQ(board.status, Status::ok);
    EXPECT_THAT(regions(board.facts->memory.view()),
                ElementsAre(Region{0x80000000, 0x8000000}, Region{0x100000000, 0x1000}));
    EXPECT_THAT(board.ids(), ElementsAre(0, 0x100000001));
    EXPECT_THAT(board.usable(), ElementsAre(false, true));
    EXPECT_THAT(board.contexts(), ElementsAre(-1, 2));
    EXPECT_EQ(status_of("cells-3"), Status::bad_cells);
}

TEST(Facts, SourcesOfTheController) {
    EXPECT_EQ(Board{"ndev-1"}.facts->plic->sources, 1U);
    EXPECT_EQ(Board{"harts-4"}.facts->plic->sources, 53U);
    EXPECT_EQ(Board{"ndev-95"}.facts->plic->sources, 95U);
    EXPECT_EQ(Board{"ndev-127"}.facts->plic->sources, 127U);
    EXPECT_EQ(Board{"ndev-1023"}.facts->plic->sources, 1023U);
    EXPECT_EQ(status_of("ndev-1023"), Status::ok);
    EXPECT_EQ(status_of("ndev-0"), Status::bad_controller);
    EXPECT_EQ(status_of("ndev-1024"), Status::bad_controller);
    EXPECT_EQ(status_of("ndev-1500"), Status::bad_controller);
}

TEST(Facts, Timebase) {
    EXPECT_EQ(Board{"timebase-per-cpu"}.facts->timebase, 1'000'000U);
    EXPECT_EQ(Board{"timebase-wide"}.facts->timebase, 0x100000000U);
    EXPECT_EQ(status_of("timebase-missing"), Status::no_timebase);
    EXPECT_EQ(status_of("timebase-zero"), Status::no_timebase);
    EXPECT_EQ(status_of("timebase-odd-size"), Status::bad_property);
    EXPECT_EQ(status_of("timebase-differs"), Status::bad_timebase);
}

TEST(Facts, Memory) {
    EXPECT_EQ(status_of("memory-none"), Status::no_memory);
    EXPECT_EQ(status_of("memory-empty"), Status::no_memory);
    EXPECT_EQ(status_of("memory-wraps"), Status::bad_range);
    EXPECT_EQ(status_of("memory-odd-size"), Status::bad_property);
    EXPECT_THAT(regions(Board{"memory-to-the-top"}.facts->memory.view()),
                ElementsAre(Region{0xFFFFFFFFFFFFF000, 0x1000}));
    EXPECT_THAT(regions(Board{"memory-many"}.facts->memory.view()),
                ElementsAre(Region{0x100000000, 0x40000000}, Region{0x80000000, 0x8000000},
                            Region{0x300000000, 0x100000000}));
}

TEST(Facts, ReservedMemory) {
    const Board board{"reserved"};
    ASSERT_EQ(board.status, Status::ok);
    EXPECT_THAT(regions(board.facts->reserved.view()),
                ElementsAre(Region{0x80000000, 0x40000}, Region{0x87000000, 0x1000},
                            Region{0x80000000, 0x80000}, Region{0x84000000, 0x1000},
                            Region{0x85000000, 0x2000}));
}

TEST(Facts, Chosen) {
    const Board board{"chosen"};
    ASSERT_EQ(board.status, Status::ok);
    EXPECT_EQ(board.facts->bootargs, "case=hello");
    EXPECT_EQ(board.facts->initrd, (Region{0x84000000, 0x123456}));
    EXPECT_THAT(board.facts->rng_seed, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    // By alias, with options, of the second compatible string, its interrupt extended.
    EXPECT_EQ(board.facts->uart->device, (Device{{0x10010000, 0x1000}, 4}));
    EXPECT_EQ(board.facts->uart->kind, UartKind::sifive);
    EXPECT_EQ(board.facts->uart->shift, 2U);
    EXPECT_EQ(status_of("initrd-backwards"), Status::bad_range);
}

TEST(Facts, HartsThatCannotRunAKernel) {
    EXPECT_EQ(status_of("mmu-none"), Status::no_harts);
}

TEST(Facts, AddressesThroughBuses) {
    const Board board{"bus-ranges"};
    ASSERT_EQ(board.status, Status::ok);
    // The third lies half outside the bus's window, the fourth on a bus without one.
    ASSERT_EQ(board.facts->virtio.size(), 2U);
    EXPECT_EQ(board.facts->virtio[0], (Device{{0x40001000, 0x1000}, 1}));
    EXPECT_EQ(board.facts->virtio[1], (Device{{0x100001000, 0x1000}, 2}));
}

TEST(Facts, DisabledDevicesAreAbsent) {
    const Board board{"disabled-devices"};
    ASSERT_EQ(board.status, Status::ok);
    EXPECT_FALSE(board.facts->uart);
    EXPECT_EQ(board.facts->virtio.size(), 0U);
}

TEST(Facts, OwnTimerCompareRegister) {
    EXPECT_TRUE(Board{"isa-extensions"}.facts->harts[0].sstc);
    EXPECT_FALSE(Board{"isa-not-sstc"}.facts->harts[0].sstc);
}

}  // namespace

}  // namespace ravelin::fdt::test
