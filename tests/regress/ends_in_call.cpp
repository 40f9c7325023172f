// I9, I11: destroying an endpoint, a lender or a borrower with traffic in flight crashes, or shared memory
// outlives one of them. Here each party is destroyed at each step of a call that lends, on eight harts, and
// afterwards no page is mapped that should not be, each removal was flushed on every hart that ran the
// space, and no page is owed.
#include "tests/unit/kernel/ipc_pair.h"

namespace ravelin::test {
namespace {

enum class Step { queued, taken, served, abandoned, replied };
enum class Victim { server, client, stamp };

class Ending : public Pair {
  public:
    Ending() {
        stamp = scope();
        caller = &process(client_budget, {give(*server, endpoint, 5, &budget_at(stamp))});
        page = map(*caller, 2);
        put(*caller, page, u64{0x5555});
    }

    void reach(Step step) {
        u64 timeout = step == Step::abandoned ? u64{500} : abi::kForever;
        if (step != Step::queued) receive(*server);
        call(*caller, timeout, 0, page, 2);
        if (step == Step::queued) return;
        id = given(*server).message();
        borrowed = arrival().address;
        if (step == Step::served) {
            EXPECT_EQ(run(*server, abi::Call::serve, {}, {}, id).status, abi::Status::ok);
        }
        if (step == Step::abandoned) pass(1'000);
        if (step == Step::replied) {
            EXPECT_EQ(run(*server, abi::Call::reply, {}, {}, id).status, abi::Status::ok);
        }
    }

    u64 stamp = 0;
    Thread* caller = nullptr;
    u64 page = 0;
    u64 id = 0;
    u64 borrowed = 0;
};

TEST(EndsInCall, AnyPartyAtAnyStep) {
    for (Step step : {Step::queued, Step::taken, Step::served, Step::abandoned, Step::replied}) {
        for (Victim victim : {Victim::server, Victim::client, Victim::stamp}) {
            SCOPED_TRACE(testing::Message() << "step " << static_cast<int>(step) << ", victim "
                                            << static_cast<int>(victim));
            Ending ending;
            ending.reach(step);
            u64 flushes = 0;
            for (const Port::Hart& hart : ending.port.harts)
                flushes += hart.flushes;
            u64 budget = victim == Victim::server   ? ending.server_budget
                         : victim == Victim::client ? ending.client_budget
                                                    : ending.stamp;
            ASSERT_EQ(ending.run(ending.first(), abi::Call::budget_destroy, {budget}).status,
                      abi::Status::ok);
            bool lent = step == Step::taken || step == Step::served;
            u64 after = 0;
            for (const Port::Hart& hart : ending.port.harts)
                after += hart.flushes;
            if (victim != Victim::stamp || lent) {
                EXPECT_GT(after, flushes);
            }
            if (victim != Victim::client) {
                // The lender has its page, or it was consumed.
                bool consumed = step == Step::abandoned || (lent && victim == Victim::stamp);
                EXPECT_EQ(ending.reaches(*ending.caller, ending.page), !consumed);
                EXPECT_FALSE(ending.waits(*ending.caller));
                if (!consumed) {
                    EXPECT_EQ(ending.seen(*ending.caller, ending.page), 0x5555u);
                }
            }
            if (victim != Victim::server && step != Step::queued) {
                bool left = step != Step::replied;
                EXPECT_EQ(ending.reaches(*ending.server, ending.borrowed), left);
                Given reply = ending.run(*ending.server, abi::Call::reply, {}, {}, ending.id);
                EXPECT_EQ(reply.status, left ? abi::Status::ok : abi::Status::invalid_argument);
                EXPECT_FALSE(ending.reaches(*ending.server, ending.borrowed, abi::kRead));
            }
            for (u64 rest : {ending.server_budget, ending.client_budget, ending.stamp}) {
                if (rest == budget) continue;
                ASSERT_EQ(ending.run(ending.first(), abi::Call::budget_destroy, {rest}).status,
                          abi::Status::ok);
            }
            EXPECT_EQ(ending.kernel.users->pages_used, 0u);
        }
    }
}

}  // namespace
}  // namespace ravelin::test
