// I5, I7: a dead thread is made ready; a wait that ended by its timeout is still linked. Here a wait is out
// of every list when it ends, by whatever ends it, and what comes later finds the others.
#include "tests/unit/kernel/ipc_pair.h"

namespace ravelin::test {
namespace {

TEST(DeadThread, TimersAndSendersOfTheDeadWakeNobody) {
    Pair pair;
    Thread& second = pair.beside(*pair.server);
    pair.receive(*pair.server, 1'000);
    pair.receive(second, 1'000);
    pair.call(*pair.client, 500);
    EXPECT_FALSE(pair.waits(*pair.server));
    EXPECT_EQ(pair.run(pair.first(), abi::Call::budget_destroy, {pair.server_budget}).status,
              abi::Status::ok);
    pair.expect_end(abi::Status::dead, abi::Lend::none, false);
    u32 processes = pair.kernel.process_count;
    pair.pass(3'000);
    for (u32 hart = 1; hart < kMaxHarts; ++hart) {
        Port::Context* runs = pair.running[hart];
        if (runs == nullptr) continue;
        Thread& thread = thread_of(*runs);
        EXPECT_TRUE(thread.process == pair.client->process ||
                    thread.process == pair.first().process);
    }
    EXPECT_EQ(pair.kernel.process_count, processes);
    pair.call(*pair.client, 0);
    pair.expect_end(abi::Status::bad_handle, abi::Lend::none, false);
}

TEST(TimedWait, IsUnlinkedWhenItEnds) {
    Pair pair;
    auto& endpoint = *reinterpret_cast<Endpoint*>(pair.names(*pair.server, pair.endpoint));
    for (u32 round = 0; round < 5; ++round) {
        pair.receive(*pair.server, 100);
        EXPECT_FALSE(endpoint.receivers.empty());
        pair.pass(200);
        EXPECT_TRUE(endpoint.receivers.empty());
        EXPECT_EQ(pair.given(*pair.server).status, abi::Status::timeout);
        pair.call(*pair.client, 100, 0, pair.lend, 1);
        EXPECT_FALSE(endpoint.groups.empty());
        pair.pass(200);
        EXPECT_TRUE(endpoint.groups.empty() && endpoint.send_groups.empty());
        EXPECT_TRUE(endpoint.leaders.empty());
        EXPECT_TRUE(pair.client->wait.stamp->queued_under.empty());
        pair.send(*pair.client, 100);
        EXPECT_FALSE(endpoint.send_groups.empty());
        pair.pass(200);
        EXPECT_TRUE(endpoint.send_groups.empty());
    }
    // Whoever comes next meets the other and not what was.
    pair.receive(*pair.server);
    pair.send(*pair.client);
    EXPECT_EQ(pair.given(*pair.server).at[1], code(abi::Received::send));
    EXPECT_EQ(pair.given(*pair.client).status, abi::Status::ok);
}

}  // namespace
}  // namespace ravelin::test
