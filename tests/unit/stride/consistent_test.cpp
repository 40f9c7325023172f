// consistent() is what audits ask: it must see every kind of damage that a lost rekey, a lost move
// or a lost weight leaves.
#include <gtest/gtest.h>

#include "tests/unit/stride/support.h"

namespace ravelin::stride {
namespace {

/// Nine budgets, one of them on a hart and one dormant.
class Consistent : public testing::Test {
  protected:
    Consistent() {
        for (u32 place = 0; place < 9; ++place)
            wake_with(queue, crowd.add(place + 1, 10 * (place + 1)));
        runner = pick_and_run(queue);
        dormant = &crowd[8];
        queue.drop_waiting(*dormant);
        queue.raise();
    }

    /// True if `damage` to a budget is seen and its repair too.
    template <class Field, class Value>
    void expect_seen(Field& field, Value damage) {
        const Field before = field;
        ASSERT_TRUE(queue.consistent());
        field = static_cast<Field>(damage);
        EXPECT_FALSE(queue.consistent());
        field = before;
        EXPECT_TRUE(queue.consistent());
    }

    Queue queue;
    Crowd crowd;
    Entity* runner = nullptr;
    Entity* dormant = nullptr;
};

TEST_F(Consistent, SeesAPassThatItsKeyDoesNotShow) {
    for (std::size_t place = 1; place < 8; ++place) {
        expect_seen(crowd[place].pass, U128{10 * (place + 1) + 1});
        expect_seen(crowd[place].pass, U128{1});
    }
}

TEST_F(Consistent, SeesATieThatTheTreeDoesNotShow) {
    Queue equals;
    Entity& first = crowd.add();
    Entity& second = crowd.add();
    wake_with(equals, first);
    wake_with(equals, second);
    const i64 before = second.tie;
    ASSERT_LT(before, first.tie);
    ASSERT_TRUE(equals.consistent());
    second.tie = first.tie + 1;
    EXPECT_FALSE(equals.consistent());
    second.tie = before;
    EXPECT_TRUE(equals.consistent());
}

TEST_F(Consistent, SeesAWeightThatTheSumDoesNotShow) {
    expect_seen(crowd[4].weight, 99);
    expect_seen(runner->weight, 99);
}

TEST_F(Consistent, SeesCountsThatBelongElsewhere) {
    expect_seen(crowd[4].waiting, 0);
    expect_seen(runner->waiting, 1);
    expect_seen(dormant->waiting, 1);
    expect_seen(runner->running, 0);
}

TEST_F(Consistent, SeesAPlaceOrAMarkThatIsNotTheQueues) {
    expect_seen(crowd[4].place, Place::dormant);
    expect_seen(runner->place, Place::out);
    expect_seen(dormant->place, Place::queued);
    expect_seen(crowd[4].capped, true);
    expect_seen(crowd[4].seat, crowd[3].seat);
    expect_seen(runner->seat, crowd[3].seat);
}

TEST_F(Consistent, SeesAWeightChangedBehindTheQueue) {
    reweigh(crowd[5], 2, queue.floor());
    EXPECT_FALSE(queue.consistent());
}

TEST_F(Consistent, SeesAFoldBehindTheQueue) {
    fold(crowd[5], Ticks{3});
    EXPECT_FALSE(queue.consistent());
}

}  // namespace
}  // namespace ravelin::stride
