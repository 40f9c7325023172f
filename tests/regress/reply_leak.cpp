// I1: reply rights left over, or wrongly linked, after a delete or a cancel. Here calls are made, taken,
// answered, timed out, revoked and cut off by ends in random order; whatever happened, no open call, no
// page and no queue entry is left once all have ended, and each caller was told exactly once.
#include <random>

#include "tests/unit/kernel/ipc_pair.h"

namespace ravelin::test {
namespace {

class Leak : public Pair {
  public:
    explicit Leak(u32 seed) : Pair(spec(5, {}, 400), spec(6, {}, 400)), random_(seed) {
        idle_server_ = budget_at(server_budget).pages_used;
        threads_.push_back(client);
        for (u32 i = 0; i < 3; ++i)
            threads_.push_back(&beside(*client));
    }

    void step() {
        Thread& thread = *threads_[below(threads_.size())];
        switch (below(8)) {
        case 0:
        case 1:
        case 2: {
            if (waits(thread)) break;
            u64 timeout = below(2) == 0 ? abi::kForever : 1 + below(500);
            bool lends =
                below(2) == 0 && reaches(*client, lend) && reaches(*client, lend + kPageSize);
            call(thread, timeout, 0, lends ? lend : 0, lends ? 2 : 0);
            break;
        }
        case 3:
        case 4:
            if (!waits(*server)) {
                Given given = run(*server, abi::Call::receive, {endpoint, 0, 0, server_page, 0});
                if (given.status == abi::Status::ok && given.at[1] == code(abi::Received::call)) {
                    open_.push_back(given.message());
                }
            }
            break;
        case 5:
        case 6:
            if (!open_.empty()) {
                u64 place = below(open_.size());
                Given given = run(*server, abi::Call::reply, {}, {}, open_[place]);
                ASSERT_EQ(given.status, abi::Status::ok);
                open_.erase(open_.begin() + static_cast<long>(place));
            }
            break;
        case 7: pass(below(300)); break;
        }
        ASSERT_EQ(server->process->open_count, open_.size());
        ASSERT_GE(budget_at(server_budget).pages_used, idle_server_ + open_.size());
    }

    // Answers what is open and lets what waits time out or be refused.
    void finish() {
        for (u64 id : open_)
            ASSERT_EQ(run(*server, abi::Call::reply, {}, {}, id).status, abi::Status::ok);
        open_.clear();
        for (;;) {
            Given given = run(*server, abi::Call::receive, {endpoint, 0, 0, server_page, 0});
            if (given.status != abi::Status::ok) break;
            if (given.at[1] == code(abi::Received::call)) {
                ASSERT_EQ(run(*server, abi::Call::reply, {}, {}, given.message()).status,
                          abi::Status::ok);
            }
        }
        for (Thread* thread : threads_)
            ASSERT_FALSE(waits(*thread));
        ASSERT_EQ(server->process->open_count, 0u);
        for (u64 id = 1; id <= server->process->last_message; ++id)
            ASSERT_EQ(server->process->open_calls.find(id), nullptr);
        ASSERT_TRUE(server->held.empty() && server->reports.empty());
        ASSERT_EQ(budget_at(server_budget).pages_used, idle_server_);
    }

  private:
    u64 below(u64 bound) { return random_() % bound; }

    std::mt19937_64 random_;
    std::vector<Thread*> threads_;
    std::vector<u64> open_;
    u64 idle_server_ = 0;
};

TEST(ReplyLeak, NothingIsLeftOfCallsThatEndedInAnyWay) {
    for (u32 seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        Leak leak(seed);
        for (u32 i = 0; i < 200; ++i) {
            leak.step();
            ASSERT_FALSE(testing::Test::HasFatalFailure());
        }
        leak.finish();
        for (u64 budget : {seed % 2 == 0 ? leak.client_budget : leak.server_budget,
                           seed % 2 == 0 ? leak.server_budget : leak.client_budget}) {
            ASSERT_EQ(leak.run(leak.first(), abi::Call::budget_destroy, {budget}).status,
                      abi::Status::ok);
        }
        ASSERT_EQ(leak.kernel.users->pages_used, 0u);
        ASSERT_EQ(leak.kernel.process_count, 1u);
    }
}

}  // namespace
}  // namespace ravelin::test
