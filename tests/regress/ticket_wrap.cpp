// L7: a ticket lock's counters wrap, and an order or a distance between tickets is told wrong. Here tickets
// are compared for equality, and how many are ahead is a difference modulo 2^32.
#include <gtest/gtest.h>

#include "core/entry/lock.h"

namespace ravelin::test {
namespace {

constexpr u32 kRounds = 10;
constexpr HartIndex kFirst{0};

TEST(TicketWrap, FreeLock) {
    Port port(1, 0);
    Lock lock{~u32{0} - 3};
    for (u32 round = 0; round < kRounds; ++round) {
        EXPECT_EQ(lock.acquire(port, kFirst, [] { FAIL() << "waits for a free lock"; }), 0U);
        lock.release(port, kFirst);
    }
}

// Each hart in turn finds the other holding it, which lets go while the first waits.
TEST(TicketWrap, HeldLock) {
    Port port(2, 0);
    Lock lock{~u32{0} - 3};
    ASSERT_EQ(lock.acquire(port, kFirst, [] {}), 0U);
    for (u32 round = 0; round < kRounds; ++round) {
        const HartIndex holder{round % 2};
        bool released = false;
        const u32 ahead = lock.acquire(port, HartIndex{1 - round % 2}, [&] {
            if (!released) lock.release(port, holder);
            released = true;
        });
        EXPECT_EQ(ahead, 1U) << "round " << round;
        EXPECT_TRUE(released) << "round " << round << ": the lock was taken while it was held";
    }
}

}  // namespace
}  // namespace ravelin::test
