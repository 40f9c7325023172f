// I2: an answer that names a peer by what it was before it ended. Here message ids and object ids are never
// used again, and a place in a handle table that was emptied by its object's end names nothing until the
// process itself fills it.
#include <set>

#include "tests/unit/kernel/ipc_pair.h"

namespace ravelin::test {
namespace {

TEST(OldNames, MessageIdsAreNotUsedAgain) {
    Pair pair;
    std::set<u64> ids;
    for (u32 i = 0; i < 50; ++i) {
        pair.receive(*pair.server);
        pair.call(*pair.client, i % 3 == 0 ? u64{100} : abi::kForever);
        u64 id = pair.given(*pair.server).message();
        EXPECT_TRUE(ids.insert(id).second);
        for (u64 old : ids) {
            if (old == id) continue;
            EXPECT_EQ(pair.run(*pair.server, abi::Call::reply, {}, {}, old).status,
                      abi::Status::invalid_argument);
            EXPECT_EQ(pair.run(*pair.server, abi::Call::serve, {}, {}, old).status,
                      abi::Status::invalid_argument);
        }
        if (i % 3 == 0) pair.pass(200);
        EXPECT_EQ(pair.run(*pair.server, abi::Call::reply, {}, {}, id).status, abi::Status::ok);
        EXPECT_FALSE(pair.waits(*pair.client));
    }
}

TEST(OldNames, AnotherProcessCannotAnswer) {
    Pair pair;
    Thread& other = pair.process(pair.server_budget);
    pair.receive(*pair.server);
    pair.call(*pair.client);
    u64 id = pair.given(*pair.server).message();
    for (u64 guess = 0; guess < 20; ++guess)
        EXPECT_EQ(pair.run(other, abi::Call::reply, {}, {}, guess).status,
                  abi::Status::invalid_argument);
    EXPECT_TRUE(pair.waits(*pair.client));
    EXPECT_EQ(pair.run(*pair.server, abi::Call::reply, {}, {}, id).status, abi::Status::ok);
}

TEST(OldNames, ObjectsInTheSameFrameAreOthers) {
    Pair pair;
    std::set<u64> ids;
    std::set<ObjectHead*> frames;
    bool again = false;
    for (u32 i = 0; i < 20; ++i) {
        u64 scope = pair.scope();
        ObjectHead* head = pair.names(pair.first(), scope);
        EXPECT_TRUE(ids.insert(head->id).second);
        again = !frames.insert(head).second || again;
        EXPECT_EQ(pair.run(pair.first(), abi::Call::budget_destroy, {scope}).status,
                  abi::Status::ok);
        EXPECT_EQ(pair.names(pair.first(), scope), nullptr);
    }
    EXPECT_TRUE(again) << "no frame was used twice: the test shows nothing";
}

}  // namespace
}  // namespace ravelin::test
