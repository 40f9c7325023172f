// F4: each charge is rounded down (or up to a least unit), and short runs come out too cheap (or
// too dear). Here the remainder is kept: a million runs of a tick cost as one run of a million.
#include <gtest/gtest.h>

#include "core/stride/entity.h"

namespace ravelin::stride {
namespace {

TEST(RemainderLoss, AMillionRunsOfATickCostAsOneOfAMillion) {
    for (const u32 weight : {1'000'000U, 999'983U, (1U << 20) + 1, 0xffffffffU, 1U}) {
        Entity pieces;
        pieces.weight = weight;
        Entity whole = pieces;
        for (int run = 0; run < 1'000'000; ++run)
            fold(pieces, Ticks{1});
        fold(whole, Ticks{1'000'000});
        EXPECT_EQ(pieces.pass, whole.pass) << weight;
        EXPECT_EQ(pieces.remainder, whole.remainder) << weight;
    }
}

}  // namespace
}  // namespace ravelin::stride
