// reply_receive is the exact composition of reply and receive: two machines go through the same random
// sequence of calls, and where one makes the one call the other makes the two; after every step all threads,
// budgets, spaces and queues of both are equal.
#include <random>

#include "tests/unit/kernel/ipc_pair.h"

namespace ravelin::test {
namespace {

class Twin : public Pair {
  public:
    Twin() : Pair(spec(5, {}, 200), spec(6, {}, 200)) {
        threads = {server, &beside(*server), client, &beside(*client), &beside(*client)};
        own = run(*server, abi::Call::endpoint_create).at[1];
    }

    std::vector<Thread*> threads;
    u64 own = 0;
};

// What a program could see of a thread, and what the kernel keeps of its wait.
void expect_equal(Twin& one, Twin& two) {
    for (std::size_t i = 0; i < one.threads.size(); ++i) {
        SCOPED_TRACE(testing::Message() << "thread " << i);
        const Thread& a = *one.threads[i];
        const Thread& b = *two.threads[i];
        ASSERT_EQ(one.waits(a), two.waits(b));
        ASSERT_EQ(a.wait.kind, b.wait.kind);
        ASSERT_EQ(a.current, b.current);
        for (unsigned place = 0; place < abi::kCallRegisters; ++place) {
            // A waiting thread's argument registers are the kernel's; register 3 tells of the reply.
            if (one.waits(a) && place < abi::kWordRegister) continue;
            if (place == 3) continue;
            ASSERT_EQ(a.context.reg(place), b.context.reg(place)) << "register " << place;
        }
    }
    for (auto budget : {&Pair::server_budget, &Pair::client_budget})
        ASSERT_EQ(one.budget_at(one.*budget).pages_used, two.budget_at(two.*budget).pages_used);
    const Process& a = *one.server->process;
    const Process& b = *two.server->process;
    ASSERT_EQ(a.open_count, b.open_count);
    ASSERT_EQ(a.last_message, b.last_message);
    for (auto process : {&Pair::server, &Pair::client}) {
        const Process& of_one = *(one.*process)->process;
        const Process& of_two = *(two.*process)->process;
        for (u32 page = 0; page < kHandlePages; ++page)
            ASSERT_EQ(of_one.handles_used[page], of_two.handles_used[page]);
        ASSERT_EQ(of_one.space.pages, of_two.space.pages);
        ASSERT_EQ(of_one.space.tables, of_two.space.tables);
        for (u32 word = 0; word < kMessageWords; ++word)
            ASSERT_EQ(of_one.space.message_map[word], of_two.space.message_map[word]);
    }
}

TEST(ReplyReceive, IsTheTwoCallsInOne) {
    u32 exchanges = 0;
    u32 waited = 0;
    for (u32 seed = 1; seed <= 30; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        auto below = [&](u64 bound) { return random() % bound; };
        Twin one;
        Twin two;
        std::vector<u64> open;
        for (u32 step = 0; step < 80; ++step) {
            SCOPED_TRACE(step);
            u64 who = below(one.threads.size());
            if (one.waits(*one.threads[who])) {
                u64 micros = below(400);
                one.pass(micros);
                two.pass(micros);
            } else if (who >= 2) {
                // A client calls or sends, with and without a lend and a handle.
                u64 timeout = below(3) == 0 ? below(300) : abi::kForever;
                bool pages = below(2) == 0 && one.reaches(*one.client, one.lend);
                bool call = below(4) != 0;
                u64 record = below(2) == 0 ? one.client_page : 0;
                u64 handles = below(3);
                for (Twin* twin : {&one, &two}) {
                    twin->put_body(*twin->client, twin->client_page,
                                   std::vector<u64>(handles, u64{1}));
                    twin->make(*twin->threads[who], call ? abi::Call::call : abi::Call::send,
                               {1, timeout, 0, record, pages && call ? twin->lend : 0,
                                pages && call ? u64{1} : u64{0}},
                               {step, 2, 3, 4});
                }
            } else {
                u64 id = open.empty() || below(8) == 0 ? below(5) : open[below(open.size())];
                u64 handle = below(10) == 0 ? u64{77} : one.endpoint;
                u64 timeout = below(2) == 0 ? 0 : below(300);
                u64 record = below(4) == 0 ? 0 : one.server_page + 256 * who;
                u64 body = below(2) == 0 ? 0 : one.server_page + 1'024 + 64 * who;
                std::vector<u64> handles(below(4), one.own);
                for (Twin* twin : {&one, &two})
                    twin->put_body(*twin->server, twin->server_page + 1'024 + 64 * who, handles);
                std::array<u64, 4> words{step, 7, 8, 9};
                one.make(*one.threads[who], abi::Call::reply_receive,
                         {handle, timeout, 0, record, 4, body}, words, id);
                Thread& server = *two.threads[who];
                Given reply = two.run(server, abi::Call::reply, {body}, words, id);
                if (reply.status == abi::Status::ok) {
                    two.make(server, abi::Call::receive, {handle, timeout, 0, record, 4}, words,
                             id);
                    ++exchanges;
                    if (one.waits(*one.threads[who])) {
                        ++waited;
                    } else {
                        u64 told = one.given(*one.threads[who]).at[3];
                        ASSERT_EQ(told & 0xff, reply.at[1]);
                        ASSERT_EQ(told >> abi::kReplyMaskShift, reply.at[2]);
                    }
                }
                std::erase(open, id);
            }
            ASSERT_NO_FATAL_FAILURE(expect_equal(one, two));
            open.clear();
            for (u64 id = 1; id <= one.server->process->last_message; ++id) {
                if (one.server->process->open_calls.find(id) != nullptr) open.push_back(id);
            }
            if (open.empty() && !one.waits(*one.server)) {
                for (Twin* twin : {&one, &two})
                    twin->make(*twin->server, abi::Call::receive,
                               {twin->endpoint, 0, 0, twin->server_page, 4});
                ASSERT_NO_FATAL_FAILURE(expect_equal(one, two));
            }
        }
    }
    EXPECT_GT(exchanges, 100u);
    EXPECT_GT(waited, 10u);
}

}  // namespace
}  // namespace ravelin::test
