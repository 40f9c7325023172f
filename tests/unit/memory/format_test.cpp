// The page-table formats: bits as the privileged architecture lays them out, and each field on its
// own.
#include <gtest/gtest.h>

#include "core/port.h"
#include "port-riscv/format.h"

namespace ravelin {
namespace {

static_assert(PageFormat<riscv::Sv39> && PageFormat<riscv::Sv32>);

template <class F>
void check_format(u32 highest_frame) {
    using Entry = typename F::Entry;
    EXPECT_FALSE(F::is_valid(Entry{0}));
    EXPECT_FALSE(F::is_lent(Entry{0}));
    for (const u32 number : {u32{0}, u32{1}, u32{0x80000}, highest_frame}) {
        const FrameNumber frame{number};
        EXPECT_TRUE(F::is_valid(F::table(frame)));
        EXPECT_FALSE(F::is_leaf(F::table(frame)));
        EXPECT_EQ(F::frame(F::table(frame)), frame);
        for (const u32 rights : {1u, 3u, 4u, 5u}) {
            const Entry leaf = F::leaf(frame, rights);
            EXPECT_TRUE(F::is_valid(leaf));
            EXPECT_TRUE(F::is_leaf(leaf));
            EXPECT_EQ(F::frame(leaf), frame);
            EXPECT_EQ(F::rights(leaf), rights);
            EXPECT_FALSE(F::is_lent(leaf));
            const Entry lent = F::with_valid(F::with_lent(leaf, true), false);
            EXPECT_FALSE(F::is_valid(lent));
            EXPECT_TRUE(F::is_lent(lent));
            EXPECT_EQ(F::frame(lent), frame);
            EXPECT_EQ(F::rights(lent), rights);
            EXPECT_EQ(F::with_lent(F::with_valid(lent, true), false), leaf);
        }
    }
}

TEST(Format, FieldsKeepApart) {
    check_format<riscv::Sv39>(~u32{0});
    check_format<riscv::Sv32>((u32{1} << 22) - 1);
}

TEST(Format, BitsAsTheArchitectureHasThem) {
    // Frame number from bit 10; D A G U X W R V from bit 7 down.
    EXPECT_EQ(riscv::Sv39::leaf(FrameNumber{0x80123}, 3), (u64{0x80123} << 10) | 0b1101'0111u);
    EXPECT_EQ(riscv::Sv39::leaf(FrameNumber{0x80123}, 5), (u64{0x80123} << 10) | 0b1101'1011u);
    EXPECT_EQ(riscv::Sv32::leaf(FrameNumber{0x80123}, 1), (u32{0x80123} << 10) | 0b1101'0011u);
    EXPECT_EQ(riscv::Sv32::table(FrameNumber{0x80123}), (u32{0x80123} << 10) | 1u);
    EXPECT_EQ(riscv::Sv39::with_lent(0, true), 1u << 8) << "a bit that hardware leaves to software";
}

}  // namespace
}  // namespace ravelin
