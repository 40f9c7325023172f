// U128 against the compiler's own 128-bit type: at every edge and over random numbers of all
// lengths.
#include <gtest/gtest.h>

#include <array>

#include "tests/unit/stride/support.h"

namespace ravelin::stride {
namespace {

constexpr Wide kMost = ~Wide{0};

std::vector<Wide> edges() {
    std::vector<Wide> found;
    for (unsigned bit : {0U, 1U, 31U, 32U, 33U, 63U, 64U, 65U, 95U, 96U, 97U, 126U, 127U}) {
        const Wide power = Wide{1} << bit;
        for (Wide near : {power - 1, power, power + 1}) {
            found.push_back(near);
            found.push_back(kMost - near);
        }
    }
    return found;
}

constexpr std::array<u32, 9> kFactors = {0,          1,          2,          3,         0xffff,
                                         0x80000000, 0xfffffffe, 0xffffffff, 0x12345678};

void check_pair(Wide a, Wide b) {
    const U128 x = narrow(a);
    const U128 y = narrow(b);
    ASSERT_EQ(wide(x), a);
    ASSERT_EQ(wide(x.plus(y)), kMost - a < b ? kMost : a + b);
    ASSERT_EQ(wide(x.plus(y.low)), kMost - a < y.low ? kMost : a + y.low);
    ASSERT_EQ(wide(x.minus(y)), a < b ? 0 : a - b);
    ASSERT_EQ(x < y, a < b);
    ASSERT_EQ(x <= y, a <= b);
    ASSERT_EQ(x == y, a == b);
}

void check_factor(Wide a, u32 factor) {
    const U128 x = narrow(a);
    ASSERT_EQ(wide(x.times(factor)), factor != 0 && a > kMost / factor ? kMost : a * factor);
    if (factor == 0) return;
    const U128::Divided share = x.divided(factor);
    ASSERT_EQ(wide(share.quotient), a / factor);
    ASSERT_EQ(share.remainder, a % factor);
}

TEST(U128, AgreesAtTheEdges) {
    const std::vector<Wide> all = edges();
    for (Wide a : all) {
        for (Wide b : all)
            check_pair(a, b);
        for (u32 factor : kFactors)
            check_factor(a, factor);
    }
}

TEST(U128, AgreesAtRandom) {
    Random random(128);
    for (int round = 0; round < 200'000; ++round) {
        const Wide a = any_wide(random);
        check_pair(a, any_wide(random));
        check_factor(a, any_weight(random));
    }
}

TEST(U128, SaturatesInsteadOfWrapping) {
    EXPECT_EQ(U128::max().plus(u64{1}), U128::max());
    EXPECT_EQ(U128::max().plus(U128::max()), U128::max());
    EXPECT_EQ((U128{~u64{0}, 1}.plus(~u64{0})), U128::max());
    EXPECT_EQ(U128::max().times(2), U128::max());
    EXPECT_EQ(U128{3}.minus(U128{4}), U128{});
}

}  // namespace
}  // namespace ravelin::stride
