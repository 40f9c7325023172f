// I4: input of a client stops the kernel. Here a client makes calls at random, one argument in three of them
// hostile, with records that it rewrites; the checked kernel's assertions and audits hold throughout, and the
// server beside it is served.
#include <random>

#include "tests/unit/kernel/ipc_pair.h"

namespace ravelin::test {
namespace {

TEST(HostileCalls, StopNothing) {
    constexpr u64 kEdges[] = {0,
                              1,
                              2,
                              4,
                              7,
                              255,
                              4095,
                              4096,
                              4097,
                              1u << 20,
                              ~u32{0},
                              u64{1} << 32,
                              1023,
                              u64{1} << 38,
                              u64{1} << 63,
                              ~u64{0} - 7,
                              ~u64{0}};
    for (u32 seed = 1; seed <= 10; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        auto below = [&](u64 bound) { return random() % bound; };
        Pair pair(Actors::spec(5), Actors::spec(6, {}, 120));
        Thread* client = pair.client;
        for (u32 i = 0; i < 600; ++i) {
            if (pair.waits(*client)) pair.pass(1'000);
            if (pair.waits(*client)) break;  // it sleeps for good
            abi::Body body{.handle_count = below(6),
                           .handles = {below(4), below(4), below(5000), 1}};
            if (pair.reaches(*client, pair.client_page)) pair.put(*client, pair.client_page, body);
            u64 number = 1 + below(abi::kCallCount);
            auto call = static_cast<abi::Call>(number);
            if (call == abi::Call::thread_exit || call == abi::Call::process_exit ||
                call == abi::Call::thread_create) {
                continue;  // its one thread goes on alone
            }
            std::vector<u64> arguments;
            for (u32 place = 0; place < 7; ++place) {
                const u64 likely[] = {1, 2, pair.client_page, pair.lend, kPageSize, 3, 100};
                arguments.push_back(below(3) == 0 ? kEdges[below(std::size(kEdges))]
                                                  : likely[below(std::size(likely))]);
            }
            // Waits are short, so that the client goes on.
            if (call == abi::Call::call || call == abi::Call::send || call == abi::Call::receive ||
                call == abi::Call::reply_receive) {
                arguments[1] = below(500);
                arguments[2] = 0;
            }
            pair.make(*client, call, arguments, {}, below(4));
            if (below(4) == 0 && !pair.waits(*pair.server)) pair.receive(*pair.server, 0);
            if (pair.kernel.processes[client->process->pid] == nullptr) break;
        }
        Thread& honest = pair.process(pair.budget(abi::kBootUsers, Actors::spec(7)),
                                      {pair.give(*pair.server, pair.endpoint, 9)});
        pair.send(honest);
        bool served = false;
        for (u32 i = 0; i < 100 && !served; ++i) {
            if (pair.waits(*pair.server)) break;
            pair.receive(*pair.server, 0);
            served = pair.given(*pair.server).badge() == 9;
        }
        EXPECT_TRUE(served || !pair.waits(honest));
        EXPECT_EQ(pair.run(pair.first(), abi::Call::budget_destroy, {pair.client_budget}).status,
                  abi::Status::ok);
    }
}

}  // namespace
}  // namespace ravelin::test
