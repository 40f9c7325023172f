// Messages between threads: every row of the completion table (R13), what messages carry, what is
// charged for it, fair groups (R2), labels (R1) and the checks of arguments.
#include <algorithm>
#include <set>

#include "core/memory/space.h"
#include "tests/unit/kernel/ipc_pair.h"

namespace ravelin::test {
namespace {

using abi::Call;
using abi::Lend;
using abi::Received;
using abi::Reply;
using abi::Status;

constexpr u64 kForever = abi::kForever;
constexpr u64 kUsers = abi::kBootUsers;
constexpr u64 kMost = 1024;

// --- the completion table ---------------------------------------------------------------------------

TEST(Outcome, ReplyGivesWordsAndTheLendBack) {
    Pair pair;
    u64 used = pair.budget_at(pair.server_budget).pages_used;
    u64 client_used = pair.budget_at(pair.client_budget).pages_used;
    Given taken = pair.lent_and_taken();
    EXPECT_EQ(taken.word(0), 1u);
    EXPECT_EQ(taken.word(3), 4u);
    EXPECT_EQ(taken.badge(), 77u);
    EXPECT_EQ(taken.account(), 6u);
    abi::Arrival arrival = pair.arrival();
    EXPECT_EQ(arrival.pages, 2u);
    EXPECT_EQ(arrival.handle_count, 0u);
    EXPECT_EQ(pair.get<u64>(*pair.client, pair.client_page), 0u);
    EXPECT_TRUE(pair.reaches(*pair.server, arrival.address + kPageSize));
    // Both pay for the pages, the server for the open call and the tables too.
    EXPECT_GE(pair.budget_at(pair.server_budget).pages_used, used + 3);
    EXPECT_EQ(pair.budget_at(pair.client_budget).pages_used, client_used);
    Given reply = pair.run(*pair.server, Call::reply, {}, {9, 8, 7, 6}, taken.message());
    EXPECT_EQ(reply.status, Status::ok);
    EXPECT_EQ(reply.at[1], code(Reply::delivered));
    EXPECT_EQ(reply.at[2], 0u);
    pair.expect_end(Status::ok, Lend::returned, true);
    EXPECT_EQ(pair.given(*pair.client).word(1), 8u);
    EXPECT_TRUE(pair.reaches(*pair.client, pair.lend + kPageSize));
    EXPECT_FALSE(pair.reaches(*pair.server, arrival.address, abi::kRead));
    EXPECT_EQ(pair.get<u64>(*pair.client, pair.lend + kPageSize), 0x2222u);
    EXPECT_EQ(pair.budget_at(pair.server_budget).pages_used, used);
}

TEST(Outcome, RefusedWhileQueuedGivesTheLendBack) {
    Pair pair;
    pair.call(*pair.client, kForever, pair.client_page, pair.lend, 2);
    EXPECT_TRUE(pair.waits(*pair.client));
    EXPECT_FALSE(pair.reaches(*pair.client, pair.lend));
    // A receiver that names no record takes no pages.
    pair.make(*pair.server, Call::receive, {pair.endpoint, 0, 0, 0, kMost});
    EXPECT_EQ(pair.given(*pair.server).status, Status::timeout);
    pair.expect_end(Status::refused, Lend::returned, false);
    EXPECT_TRUE(pair.reaches(*pair.client, pair.lend));
}

TEST(Outcome, TimedOutWhileQueuedGivesTheLendBack) {
    Pair pair;
    pair.call(*pair.client, 1000, pair.client_page, pair.lend, 2);
    pair.pass(2000);
    pair.expect_end(Status::timeout, Lend::returned, false);
    EXPECT_TRUE(pair.reaches(*pair.client, pair.lend));
}

TEST(Outcome, RevokedWhileQueuedGivesTheLendBack) {
    Pair pair;
    u64 scope = pair.scope();
    u64 handle = pair.give(*pair.server, pair.endpoint, 5, &pair.budget_at(scope));
    Thread& other = pair.process(pair.client_budget, {handle});
    u64 page = pair.map(other);
    pair.call(other, kForever, 0, page, 1);
    EXPECT_TRUE(pair.waits(other));
    EXPECT_EQ(pair.run(pair.first(), Call::budget_destroy, {scope}).status, Status::ok);
    pair.expect_end(Status::dead, Lend::returned, false, &other);
    EXPECT_TRUE(pair.reaches(other, page));
}

TEST(Outcome, EndpointDestroyedWhileQueued) {
    Pair pair;
    pair.call(*pair.client, kForever, 0, pair.lend, 2);
    EXPECT_EQ(pair.run(pair.first(), Call::budget_destroy, {pair.server_budget}).status,
              Status::ok);
    pair.expect_end(Status::dead, Lend::returned, false);
    EXPECT_TRUE(pair.reaches(*pair.client, pair.lend));
}

TEST(Outcome, TakenThenTimedOutLeavesTheLendToTheServer) {
    Pair pair;
    u64 used = pair.budget_at(pair.server_budget).pages_used;
    u64 client_used = pair.budget_at(pair.client_budget).pages_used;
    Given taken = pair.lent_and_taken(1000);
    u64 address = pair.arrival().address;
    pair.pass(2000);
    pair.expect_end(Status::timeout, Lend::consumed, false);
    EXPECT_FALSE(pair.reaches(*pair.client, pair.lend, abi::kRead));
    EXPECT_EQ(pair.budget_at(pair.client_budget).pages_used, client_used - 2);
    EXPECT_TRUE(pair.reaches(*pair.server, address));
    // Told once.
    pair.receive(*pair.server);
    Given told = pair.given(*pair.server);
    EXPECT_EQ(told.at[1], code(Received::abandoned));
    EXPECT_EQ(told.message(), taken.message());
    pair.receive(*pair.server, 0);
    EXPECT_EQ(pair.given(*pair.server).status, Status::timeout);
    // The reply frees the lend.
    Given reply = pair.run(*pair.server, Call::reply, {}, {}, taken.message());
    EXPECT_EQ(reply.at[1], code(Reply::discarded));
    EXPECT_FALSE(pair.reaches(*pair.server, address, abi::kRead));
    EXPECT_EQ(pair.budget_at(pair.server_budget).pages_used, used);
    EXPECT_EQ(pair.run(*pair.server, Call::reply, {}, {}, taken.message()).status,
              Status::invalid_argument);
}

TEST(Outcome, TakenThenRevokedIsDeadAndConsumed) {
    Pair pair;
    u64 scope = pair.scope();
    u64 handle = pair.give(*pair.server, pair.endpoint, 5, &pair.budget_at(scope));
    Thread& other = pair.process(pair.client_budget, {handle});
    u64 page = pair.map(other);
    pair.receive(*pair.server);
    pair.call(other, kForever, 0, page, 1);
    Given taken = pair.given(*pair.server);
    EXPECT_EQ(pair.run(pair.first(), Call::budget_destroy, {scope}).status, Status::ok);
    pair.expect_end(Status::dead, Lend::consumed, false, &other);
    EXPECT_FALSE(pair.reaches(other, page, abi::kRead));
    Given reply = pair.run(*pair.server, Call::reply, {}, {}, taken.message());
    EXPECT_EQ(reply.at[1], code(Reply::discarded));
}

TEST(Outcome, ServerDiesHoldingIt) {
    Pair pair;
    Thread& second = pair.beside(*pair.server);
    EXPECT_FALSE(pair.waits(second));
    pair.lent_and_taken();
    pair.make(*pair.server, Call::thread_exit);
    pair.expect_end(Status::dead, Lend::returned, false);
    EXPECT_TRUE(pair.reaches(*pair.client, pair.lend));
    EXPECT_EQ(pair.get<u64>(*pair.client, pair.lend), 0x1111u);
    EXPECT_EQ(second.process->open_count, 0u);
}

TEST(Outcome, ServerProcessDiesAndQueuedSendersWaitOn) {
    Pair pair;
    u64 keeper = pair.give(*pair.server, pair.endpoint, 0);
    Thread& other = pair.process(pair.client_budget, {pair.give(*pair.server, pair.endpoint, 3)});
    pair.lent_and_taken();
    pair.make(other, Call::call, {1, kForever});
    pair.make(*pair.server, Call::process_exit, {7});
    pair.expect_end(Status::dead, Lend::returned, false);
    EXPECT_TRUE(pair.waits(other));
    Given taken = pair.run(pair.first(), Call::receive, {keeper, 0});
    EXPECT_EQ(taken.badge(), 3u);
}

TEST(Outcome, ReplyHandlesThatDoNotAllFit) {
    Pair pair;
    u64 own = pair.run(*pair.server, Call::endpoint_create).at[1];
    pair.put_body(*pair.server, pair.server_page + 512, {own, own});
    pair.put_body(*pair.client, pair.client_page, {});
    pair.receive(*pair.server);
    pair.call(*pair.client, kForever, pair.client_page);
    Given taken = pair.given(*pair.server);
    // One place is left in the client's only table page, and it can pay for no other.
    Process& process = *pair.client->process;
    Budget& budget = *process.budget;
    while (process.handles_used[0] != ~(u64{1} << 63)) {
        u32 handle = 0;
        HandleSlot* slot = find_handle(process, 1);
        ASSERT_EQ(install_handle(pair.kernel, process, *slot->object, *slot->stamp, 1, handle),
                  Status::ok);
        if (handle == 62) break;
    }
    u32 spare = budget.free_pages();
    ASSERT_TRUE(charge(budget, spare));
    Given reply =
        pair.run(*pair.server, Call::reply, {pair.server_page + 512}, {}, taken.message());
    EXPECT_EQ(reply.status, Status::ok);
    EXPECT_EQ(reply.at[1], code(Reply::delivered));
    EXPECT_EQ(reply.at[2], 1u);
    pair.expect_end(Status::out_of_memory, Lend::none, true);
    EXPECT_EQ(pair.given(*pair.client).at[3], 2u);
    abi::Body body = pair.get<abi::Body>(*pair.client, pair.client_page);
    EXPECT_EQ(body.handle_count, 2u);
    EXPECT_EQ(body.handles[0], 63u);
    EXPECT_EQ(body.handles[1], 0u);
    uncharge(budget, spare);
}

TEST(Outcome, CallersRecordIsNoLongerWritable) {
    Pair pair;
    Thread& second = pair.beside(*pair.client);
    u64 own = pair.run(*pair.server, Call::endpoint_create).at[1];
    pair.put_body(*pair.server, pair.server_page + 512, {own});
    Given taken = pair.lent_and_taken();
    EXPECT_EQ(pair.run(second, Call::set_flags, {pair.client_page, kPageSize, abi::kRead}).status,
              Status::ok);
    Given reply =
        pair.run(*pair.server, Call::reply, {pair.server_page + 512}, {}, taken.message());
    EXPECT_EQ(reply.at[1], code(Reply::discarded));
    EXPECT_EQ(reply.at[2], 0u);
    pair.expect_end(Status::invalid_argument, Lend::returned, false);
    EXPECT_EQ(pair.names(*pair.client, 2), nullptr);
    EXPECT_TRUE(pair.reaches(*pair.client, pair.lend));
}

TEST(Outcome, CallerDiesAfterItWasTaken) {
    Pair pair;
    u64 used = pair.budget_at(pair.server_budget).pages_used;
    Given taken = pair.lent_and_taken();
    u64 address = pair.arrival().address;
    EXPECT_EQ(pair.run(pair.first(), Call::budget_destroy, {pair.client_budget}).status,
              Status::ok);
    EXPECT_EQ(pair.seen(*pair.server, address + kPageSize), 0x2222u);
    Given reply = pair.run(*pair.server, Call::reply, {}, {}, taken.message());
    EXPECT_EQ(reply.at[1], code(Reply::discarded));
    EXPECT_EQ(reply.at[2], 0u);
    // The reply said so: there is no notice.
    pair.receive(*pair.server, 0);
    EXPECT_EQ(pair.given(*pair.server).status, Status::timeout);
    EXPECT_EQ(pair.budget_at(pair.server_budget).pages_used, used);
}

TEST(Outcome, BothEndWhileALendIsAbandoned) {
    Pair pair;
    pair.lent_and_taken(1000);
    pair.pass(2000);
    EXPECT_EQ(pair.run(pair.first(), Call::budget_destroy, {pair.server_budget}).status,
              Status::ok);
    EXPECT_EQ(pair.run(pair.first(), Call::budget_destroy, {pair.client_budget}).status,
              Status::ok);
    EXPECT_EQ(pair.kernel.users->pages_used, 0u);
}

// Both are found due in one entry: the earlier goes first, and of two at one instant the timeout, which
// ends the call before the deadline ends its server.
TEST(Outcome, ATimeoutComesBeforeADeadlineOfTheSameInstant) {
    for (u64 timeout : {u64{1'000}, u64{2'000}, u64{3'000}}) {
        SCOPED_TRACE(timeout);
        abi::BudgetSpec doomed = Actors::spec(5);
        doomed.deadline = 2'000;
        Pair pair(doomed);
        pair.lent_and_taken(timeout);
        ASSERT_EQ(pair.port.clock, pair.kernel.booted);
        pair.pass(10'000);
        bool first = timeout <= 2'000;
        pair.expect_end(first ? Status::timeout : Status::dead,
                        first ? Lend::consumed : Lend::returned, false);
        EXPECT_EQ(pair.names(pair.first(), pair.server_budget), nullptr);
    }
}

TEST(Outcome, AProcessThatCallsItself) {
    Pair pair;
    Thread& second = pair.beside(*pair.server);
    u64 own =
        pair.run(*pair.server, Call::mint, {code(abi::MintSource::handle), pair.endpoint, 0, 9})
            .at[1];
    u64 page = pair.map(*pair.server);
    pair.put(*pair.server, page, u64{42});
    pair.receive(*pair.server);
    pair.make(second, Call::call, {own, kForever, 0, 0, page, 1});
    Given taken = pair.given(*pair.server);
    u64 address = pair.arrival().address;
    EXPECT_FALSE(pair.reaches(*pair.server, page, abi::kRead));
    EXPECT_EQ(pair.get<u64>(*pair.server, pair.server_page + 8 * 22), address);
    EXPECT_TRUE(pair.reaches(*pair.server, address));
    pair.run(*pair.server, Call::reply, {}, {}, taken.message());
    pair.expect_end(Status::ok, Lend::returned, true, &second);
    EXPECT_EQ(pair.get<u64>(second, page), 42u);
    pair.receive(*pair.server);
    pair.make(second, Call::call, {own, kForever, 0, 0, page, 1});
    EXPECT_EQ(pair.run(pair.first(), Call::budget_destroy, {pair.server_budget}).status,
              Status::ok);
}

// --- what messages carry ----------------------------------------------------------------------------

TEST(Cargo, SendMovesPages) {
    Pair pair;
    u64 used = pair.budget_at(pair.server_budget).pages_used;
    u64 client_used = pair.budget_at(pair.client_budget).pages_used;
    pair.send(*pair.client, kForever, 0, pair.lend, 2);
    EXPECT_FALSE(pair.reaches(*pair.client, pair.lend));
    pair.receive(*pair.server);
    Given taken = pair.given(*pair.server);
    EXPECT_EQ(taken.at[1], code(Received::send));
    abi::Arrival arrival = pair.arrival();
    EXPECT_EQ(pair.get<u64>(*pair.server, arrival.address + kPageSize), 0x2222u);
    EXPECT_EQ(pair.given(*pair.client).status, Status::ok);
    EXPECT_EQ(pair.budget_at(pair.client_budget).pages_used, client_used - 2);
    EXPECT_GE(pair.budget_at(pair.server_budget).pages_used, used + 2);
    // They are the receiver's own: it unmaps them, and the sender may map there again.
    EXPECT_EQ(pair.run(*pair.server, Call::unmap, {arrival.address, 2 * kPageSize}).status,
              Status::ok);
    EXPECT_EQ(pair.budget_at(pair.server_budget).pages_used, used);
    EXPECT_EQ(pair.run(*pair.client, Call::map_fixed,
                       {pair.lend, 2 * kPageSize, abi::kRead | abi::kWrite})
                  .status,
              Status::ok);
}

TEST(Cargo, ATransferLargerThanTheReceiverTakes) {
    Pair pair;
    pair.receive(*pair.server, kForever, 1);
    pair.send(*pair.client, kForever, 0, pair.lend, 2);
    EXPECT_EQ(pair.given(*pair.client).status, Status::refused);
    EXPECT_TRUE(pair.reaches(*pair.client, pair.lend));
    EXPECT_TRUE(pair.waits(*pair.server));
}

TEST(Cargo, AReceiverThatCannotPay) {
    Pair pair(Actors::spec(5, {}, 16));
    Budget& budget = pair.budget_at(pair.server_budget);
    pair.receive(*pair.server);
    u32 spare = budget.free_pages();
    ASSERT_TRUE(charge(budget, spare));
    pair.call(*pair.client);
    pair.expect_end(Status::refused, Lend::none, false);
    uncharge(budget, spare);
    ASSERT_TRUE(charge(budget, budget.free_pages() - 2));
    pair.call(*pair.client, kForever, 0, pair.lend, 2);
    pair.expect_end(Status::refused, Lend::returned, false);
    EXPECT_EQ(budget.free_pages(), 2u);
    pair.call(*pair.client);
    EXPECT_TRUE(pair.waits(*pair.client));
    EXPECT_EQ(pair.given(*pair.server).at[1], code(Received::call));
}

TEST(Cargo, HandlesKeepTheirStampAndBadge) {
    Pair pair;
    u64 scope = pair.scope();
    u64 stamped = pair.give(*pair.server, pair.endpoint, 5, &pair.budget_at(scope));
    Thread& other =
        pair.process(pair.client_budget, {pair.give(*pair.server, pair.endpoint, 6), stamped});
    u64 page = pair.map(other);
    pair.put_body(other, page, {1, 2});
    pair.receive(*pair.server);
    pair.send(other, kForever, page);
    EXPECT_EQ(pair.given(*pair.server).at[2], abi::kHasHandles);
    abi::Arrival arrival = pair.arrival();
    ASSERT_EQ(arrival.handle_count, 2u);
    HandleSlot* slot = find_handle(*pair.server->process, static_cast<Word>(arrival.handles[1]));
    ASSERT_NE(slot, nullptr);
    EXPECT_EQ(slot->badge, 5u);
    EXPECT_EQ(slot->stamp, &pair.budget_at(scope));
    EXPECT_NE(pair.names(other, 2), nullptr) << "it was copied";
    pair.run(pair.first(), Call::budget_destroy, {scope});
    EXPECT_EQ(pair.names(*pair.server, arrival.handles[1]), nullptr);
    EXPECT_NE(pair.names(*pair.server, arrival.handles[0]), nullptr);
}

TEST(Cargo, ARevokedHandleArrivesAsZero) {
    Pair pair;
    u64 scope = pair.scope();
    u64 doomed = pair.budget(kUsers, Actors::spec());
    u64 stamped = pair.give(*pair.server, pair.endpoint, 5, &pair.budget_at(scope));
    Thread& other = pair.process(pair.client_budget,
                                 {pair.give(*pair.server, pair.endpoint, 6), stamped, doomed});
    u64 page = pair.map(other);
    pair.put_body(other, page, {2, 1, 3});
    pair.send(other, kForever, page);
    EXPECT_TRUE(pair.waits(other));
    pair.run(pair.first(), Call::budget_destroy, {scope});   // its stamp
    pair.run(pair.first(), Call::budget_destroy, {doomed});  // its object
    pair.receive(*pair.server);
    abi::Arrival arrival = pair.arrival();
    EXPECT_EQ(arrival.handle_count, 3u);
    EXPECT_EQ(arrival.handles[0], 0u);
    EXPECT_NE(arrival.handles[1], 0u);
    EXPECT_EQ(arrival.handles[2], 0u);
}

TEST(Cargo, TheSenderMayCloseWhatItSent) {
    Pair pair;
    u64 own = pair.run(*pair.client, Call::endpoint_create).at[1];
    pair.put_body(*pair.client, pair.client_page, {own});
    Thread& second = pair.beside(*pair.client);
    pair.send(*pair.client, kForever, pair.client_page);
    EXPECT_EQ(pair.run(second, Call::handle_close, {own}).status, Status::ok);
    pair.receive(*pair.server);
    abi::Arrival arrival = pair.arrival();
    ASSERT_NE(arrival.handles[0], 0u);
    EXPECT_EQ(pair.names(*pair.server, arrival.handles[0])->kind, ObjectKind::endpoint);
}

TEST(Cargo, AWordsOnlyMessageTouchesNoRecord) {
    Pair pair;
    pair.put(*pair.server, pair.server_page, u64{0xdead});
    pair.receive(*pair.server);
    pair.send(*pair.client);
    EXPECT_EQ(pair.given(*pair.server).at[2], 0u);
    EXPECT_EQ(pair.get<u64>(*pair.server, pair.server_page), 0xdeadu);
}

TEST(Cargo, AReceiversRecordThatWentBad) {
    Pair pair;
    Thread& second = pair.beside(*pair.server);
    pair.receive(*pair.server);
    EXPECT_EQ(pair.run(second, Call::unmap, {pair.server_page, kPageSize}).status, Status::ok);
    pair.call(*pair.client, kForever, 0, pair.lend, 2);
    EXPECT_EQ(pair.given(*pair.server).status, Status::invalid_argument);
    EXPECT_TRUE(pair.waits(*pair.client)) << "the message stays pending";
    pair.server_page = pair.map(second);
    pair.receive(second);
    EXPECT_EQ(pair.given(second).at[1], code(Received::call));
    EXPECT_EQ(pair.arrival().pages, 2u);
}

TEST(Cargo, LentAndBorrowedPagesAreOccupied) {
    Pair pair;
    Thread& second = pair.beside(*pair.client);
    pair.lent_and_taken();
    u64 borrowed = pair.arrival().address;
    u64 rw = abi::kRead | abi::kWrite;
    struct Attempt {
        Thread* who;
        u64 address;
    };
    for (Attempt attempt : {Attempt{&second, pair.lend}, Attempt{pair.server, borrowed}}) {
        Thread& who = *attempt.who;
        EXPECT_EQ(pair.run(who, Call::unmap, {attempt.address, kPageSize}).status,
                  Status::invalid_argument);
        EXPECT_EQ(pair.run(who, Call::set_flags, {attempt.address, kPageSize, rw}).status,
                  Status::invalid_argument);
        EXPECT_EQ(pair.run(who, Call::map_fixed, {attempt.address, kPageSize, rw}).status,
                  Status::invalid_argument);
        u64 own = pair.run(who, Call::endpoint_create).at[1];
        for (Call call : {Call::call, Call::send}) {
            EXPECT_EQ(pair.run(who, call, {own, 0, 0, 0, attempt.address, 1}).status,
                      Status::invalid_argument);
        }
        EXPECT_EQ(pair.run(who, Call::call, {own, 0, 0, attempt.address, 0, 0}).status,
                  Status::invalid_argument)
            << "no record lies there";
    }
}

TEST(Cargo, SixteenPagesAreTheMost) {
    Pair pair;
    u64 run = pair.map(*pair.client, 17);
    pair.receive(*pair.server);
    pair.call(*pair.client, kForever, 0, run, 17);
    pair.expect_end(Status::too_large, Lend::none, false);
    pair.call(*pair.client, kForever, 0, run, 16);
    EXPECT_TRUE(pair.waits(*pair.client));
    EXPECT_EQ(pair.arrival().pages, 16u);
}

TEST(Cargo, AFullMessageAreaRefuses) {
    Pair pair;
    EXPECT_EQ(pair.run(*pair.server, Call::map_fixed, {kMessageBase, kPageSize, abi::kRead}).status,
              Status::ok);
    for (u32 place = 1; place < kMessagePages; place += 2)
        pair.kernel.processes[pair.server->process->pid]->space.message_map[place / kRunBits] |=
            Word{1} << place % kRunBits;
    pair.receive(*pair.server);
    pair.call(*pair.client, kForever, 0, pair.lend, 2);
    pair.expect_end(Status::refused, Lend::returned, false);
}

// --- arguments ---------------------------------------------------------------------------------------

TEST(Arguments, AreCheckedInOrderAndARefusedCallDoesNothing) {
    Pair pair;
    Thread& client = *pair.client;
    u64 bad = pair.client_page + 4;
    u64 used = pair.budget_at(pair.client_budget).pages_used;
    for (Call call : {Call::call, Call::send}) {
        auto status = [&](std::vector<u64> arguments) {
            return pair.run(client, call, arguments).status;
        };
        EXPECT_EQ(status({99, 0, 0, bad, 1, 0}), Status::bad_handle);
        EXPECT_EQ(status({1, 0, 0, bad, pair.lend, 2000}), Status::too_large);
        EXPECT_EQ(status({1, 0, 0, 0, pair.lend, 0}), Status::invalid_argument);
        EXPECT_EQ(status({1, 0, 0, 0, 0, 1}), Status::invalid_argument);
        EXPECT_EQ(status({1, 0, 0, bad, 0, 0}), Status::invalid_argument);
        EXPECT_EQ(status({1, 0, 0, 0x7000'0000, 0, 0}), Status::invalid_argument);
        pair.put_body(client, pair.client_page, {1, 1, 1, 1, 1});
        EXPECT_EQ(status({1, 0, 0, pair.client_page, 0, 0}), Status::too_large);
        pair.put_body(client, pair.client_page, {1, 0});
        EXPECT_EQ(status({1, 0, 0, pair.client_page, pair.lend + 8, 1}), Status::bad_handle);
        pair.put_body(client, pair.client_page, {u64{1} << 32 | 1});
        EXPECT_EQ(status({1, 0, 0, pair.client_page, 0, 0}), Status::bad_handle);
        pair.put_body(client, pair.client_page, {1});
        EXPECT_EQ(status({1, 0, 0, pair.client_page, pair.lend + 8, 1}), Status::invalid_argument);
        EXPECT_EQ(status({1, 0, 0, pair.client_page, pair.lend, 2}), Status::timeout);
    }
    EXPECT_TRUE(pair.reaches(client, pair.lend));
    EXPECT_EQ(pair.budget_at(pair.client_budget).pages_used, used);
    EXPECT_EQ(pair.run(client, Call::receive, {1, 0}).status, Status::not_permitted);
    EXPECT_EQ(pair.run(*pair.server, Call::receive, {pair.endpoint, 0, 0, bad}).status,
              Status::invalid_argument);
    EXPECT_EQ(pair.run(*pair.server, Call::reply, {}, {}, 1).status, Status::invalid_argument);
    EXPECT_EQ(pair.run(*pair.server, Call::serve, {}, {}, 1).status, Status::invalid_argument);
}

TEST(Arguments, UnknownNumbersDoNothing) {
    Pair pair;
    for (u64 number : {u64{0}, u64{1}, u64{abi::kCallBase},
                       u64{abi::kCallBase} + abi::kCallCount + 1, u64{1} << 31, ~u64{0}}) {
        pair.make_raw(*pair.client, number, {1, 2, 3, 4, 5, 6, 7});
        Given given = pair.given(*pair.client);
        EXPECT_EQ(given.status, Status::invalid_argument) << number;
        for (unsigned place = 1; place < 8; ++place)
            EXPECT_EQ(given.at[place], 0u);
    }
}

// --- mint from a message -------------------------------------------------------------------------------

TEST(Mint, FromAMessageHasTheStampItCameThrough) {
    Pair pair;
    u64 scope = pair.scope();
    u64 handle = pair.give(*pair.server, pair.endpoint, 5, &pair.budget_at(scope));
    Thread& other = pair.process(pair.client_budget, {handle});
    pair.receive(*pair.server);
    pair.call(other);
    u64 id = pair.given(*pair.server).message();
    auto mint = [&](u64 message, u64 badge) {
        return pair.run(*pair.server, Call::mint,
                        {code(abi::MintSource::message), message, 0, badge});
    };
    EXPECT_EQ(mint(id + 1, 8).status, Status::invalid_argument);
    EXPECT_EQ(mint(id, 0).status, Status::invalid_argument);
    Given made = mint(id, 8);
    ASSERT_EQ(made.status, Status::ok);
    HandleSlot* slot = find_handle(*pair.server->process, static_cast<Word>(made.at[1]));
    EXPECT_EQ(slot->stamp, &pair.budget_at(scope));
    EXPECT_EQ(slot->badge, 8u);
    pair.run(pair.first(), Call::budget_destroy, {scope});
    EXPECT_EQ(pair.names(*pair.server, made.at[1]), nullptr);
    EXPECT_EQ(mint(id, 8).status, Status::dead) << "the caller is gone";
}

// --- fair groups ------------------------------------------------------------------------------------

/// A server's endpoint and processes that queue at it.
class Queue : public Pair {
  public:
    /// A thread of a process in a new budget, with a handle of this badge.
    Thread& sender(abi::BudgetSpec made, u64 badge) {
        return process(budget(kUsers, made), {give(*server, endpoint, badge)});
    }

    /// The badges of all that waits, in the order they are taken.
    std::vector<u64> taken(u64 count) {
        std::vector<u64> badges;
        for (u64 i = 0; i < count; ++i) {
            receive(*server, 0);
            Given given = this->given(*server);
            EXPECT_EQ(given.status, Status::ok);
            badges.push_back(given.badge());
        }
        return badges;
    }
};

TEST(Groups, TakeTurns) {
    Queue queue;
    Thread& a = queue.sender(Actors::spec(11, {}, 300), 1);
    Thread& b = queue.sender(Actors::spec(12), 2);
    Thread& c = queue.sender(Actors::spec(0), 3);
    Thread& d = queue.sender(Actors::spec(0), 4);
    Thread& a2 = queue.sender(Actors::spec(11), 5);  // another budget, the same account
    std::vector<Thread*> more;
    for (u32 i = 0; i < 3; ++i)
        more.push_back(&queue.beside(a));
    queue.send(a);
    for (Thread* thread : more)
        queue.send(*thread);
    queue.send(a2);
    queue.send(b);
    queue.send(c);
    queue.send(d);
    EXPECT_EQ(queue.taken(8), (std::vector<u64>{1, 2, 3, 4, 1, 1, 1, 5}));
}

TEST(Groups, LastServedGoesBehind) {
    Queue queue;
    Thread& a = queue.sender(Actors::spec(11, {}, 300), 1);
    Thread& b = queue.sender(Actors::spec(12, {}, 300), 2);
    Thread& a2 = queue.beside(a);
    Thread& b2 = queue.beside(b);
    queue.send(a);
    queue.send(a2);
    queue.send(b);
    EXPECT_EQ(queue.taken(1), (std::vector<u64>{1}));
    queue.send(b2);
    queue.send(a);
    EXPECT_EQ(queue.taken(4), (std::vector<u64>{2, 1, 2, 1}));
}

TEST(Groups, BusyAtTheCap) {
    Queue queue;
    Thread& a = queue.sender(Actors::spec(11, {}, 300), 1);
    Thread& other = queue.sender(Actors::spec(11), 2);
    Thread& b = queue.sender(Actors::spec(12), 3);
    for (u32 count = 1; count < abi::kWaitCap; ++count)
        queue.call(queue.beside(a));
    queue.call(a);
    u64 page = queue.map(other);
    queue.call(other, kForever, 0, page, 1);
    queue.expect_end(Status::busy, Lend::returned, false, &other);
    EXPECT_TRUE(queue.reaches(other, page));
    queue.call(b);
    EXPECT_TRUE(queue.waits(b));
    EXPECT_EQ(queue.taken(2), (std::vector<u64>{1, 3}));
    queue.call(other);
    EXPECT_TRUE(queue.waits(other));
}

TEST(Groups, TheLeaderMayGoAtAnyTime) {
    Queue queue;
    Thread& a = queue.sender(Actors::spec(11, {}, 300), 1);
    Thread& b = queue.sender(Actors::spec(12), 2);
    std::vector<Thread*> threads{&a};
    for (u32 i = 0; i < 4; ++i)
        threads.push_back(&queue.beside(a));
    for (u32 i = 0; i < 5; ++i)
        queue.send(*threads[i], i == 0 || i == 4 ? u64{1000} : kForever);
    queue.send(b);
    queue.pass(2000);
    EXPECT_EQ(queue.given(a).status, Status::timeout);
    EXPECT_EQ(queue.given(*threads[4]).status, Status::timeout);
    EXPECT_EQ(queue.taken(4), (std::vector<u64>{1, 2, 1, 1}));
    EXPECT_TRUE(queue.names(*queue.server, queue.endpoint) != nullptr);
}

TEST(Groups, ManyGroupsAreFoundAgain) {
    Queue queue;
    for (u64 account = 100; account < 140; ++account)
        queue.send(queue.sender(Actors::spec(account, {}, 16), account));
    std::vector<u64> badges = queue.taken(40);
    std::set<u64> all(badges.begin(), badges.end());
    EXPECT_EQ(all.size(), 40u);
    EXPECT_TRUE(std::is_sorted(badges.begin(), badges.end()));
    EXPECT_TRUE(
        reinterpret_cast<Endpoint*>(queue.names(*queue.server, queue.endpoint))->leaders.empty());
}

TEST(Groups, AFullReceiverTakesSendsAndIsPumped) {
    Queue queue;
    Thread& a = queue.sender(Actors::spec(11, {}, 300), 1);
    Thread& b = queue.sender(Actors::spec(12), 2);
    Thread& c = queue.sender(Actors::spec(13), 3);
    queue.receive(*queue.server);
    queue.call(a);
    u64 id = queue.given(*queue.server).message();
    queue.server->process->open_count = abi::kMaxOpenCalls;
    queue.call(b);
    queue.send(c);
    Thread& second = queue.beside(*queue.server);
    queue.receive(second);
    EXPECT_EQ(queue.given(second).badge(), 3u) << "the send is not behind the calls";
    queue.receive(second);
    EXPECT_TRUE(queue.waits(second));
    // The count that the test set counts down with the reply.
    EXPECT_EQ(queue.run(*queue.server, Call::reply, {}, {}, id).status, Status::ok);
    EXPECT_EQ(queue.given(second).badge(), 2u);
    EXPECT_EQ(queue.given(second).at[1], code(Received::call));
    queue.server->process->open_count = 1;
}

// --- labels --------------------------------------------------------------------------------------------

TEST(Labels, OnlyGrowDownAndOnlyBySystem) {
    Actors actors;
    u64 page = actors.map(actors.first());
    auto create = [&](Thread& who, u64 parent, std::vector<u64> labels, u64 record) {
        abi::BudgetSpec made{};
        made.deadline = kForever;
        made.label_count = labels.size();
        for (std::size_t i = 0; i < labels.size() && i < abi::kMaxLabels; ++i)
            made.labels[i] = labels[i];
        actors.put(who, record, made);
        return actors.run(who, Call::budget_create, {parent, record});
    };
    u64 secret = actors.budget(kUsers, Actors::spec(0, {7, 3, 7}));
    auto& budget = *reinterpret_cast<Budget*>(actors.names(actors.first(), secret));
    EXPECT_EQ(budget.labels.count, 2u);
    EXPECT_EQ(budget.labels.at[0], 3u);
    EXPECT_EQ(create(actors.first(), secret, {3}, page).status, Status::label_denied);
    EXPECT_EQ(create(actors.first(), secret, {}, page).status, Status::label_denied);
    EXPECT_EQ(create(actors.first(), secret, {9, 7, 3}, page).status, Status::ok);
    EXPECT_EQ(create(actors.first(), secret, std::vector<u64>(17, 3), page).status,
              Status::too_large);
    Thread& user = actors.process(secret, {secret});
    u64 record = actors.map(user);
    EXPECT_EQ(create(user, 1, {3, 7, 9}, record).status, Status::class_denied);
    EXPECT_EQ(create(user, 1, {3, 7}, record).status, Status::ok);
}

TEST(Labels, MessagesFlowUpOnly) {
    Pair pair(Actors::spec(5, {1, 2}), Actors::spec(6, {1}));
    pair.receive(*pair.server);
    pair.send(*pair.client);
    Given taken = pair.given(*pair.server);
    EXPECT_EQ(taken.at[2], abi::kHasLabels);
    EXPECT_EQ(pair.arrival().label_count, 1u);
    EXPECT_EQ(pair.arrival().labels[0], 1u);
    pair.call(*pair.client);
    pair.expect_end(Status::label_denied, Lend::none, false);
    // Downwards nothing goes.
    u64 own = pair.run(*pair.client, Call::endpoint_create).at[1];
    Thread& high = pair.process(pair.server_budget, {pair.give(*pair.client, own, 4)});
    u64 page = pair.map(high);
    EXPECT_EQ(pair.run(high, Call::send, {1, kForever, 0, 0, page, 1}).status,
              Status::label_denied);
    EXPECT_TRUE(pair.reaches(high, page));
}

TEST(Labels, AMovedReceiveRightDoesNotLeak) {
    Pair pair(Actors::spec(5, {1}), Actors::spec(6, {1}));
    Thread& low = pair.process(pair.budget(kUsers, Actors::spec(9)),
                               {pair.give(*pair.server, pair.endpoint, 0)});
    pair.send(*pair.client);
    EXPECT_TRUE(pair.waits(*pair.client));
    EXPECT_EQ(pair.run(low, Call::receive, {1, 0}).status, Status::timeout);
    EXPECT_EQ(pair.given(*pair.client).status, Status::label_denied);
}

TEST(Labels, UsageIsReadUpOnly) {
    Pair pair(Actors::spec(5), Actors::spec(6, {1}));
    Thread& low = pair.process(pair.server_budget, {pair.client_budget, pair.server_budget});
    u64 page = pair.map(low);
    EXPECT_EQ(pair.run(low, Call::budget_usage, {1, page}).status, Status::label_denied);
    EXPECT_EQ(pair.run(low, Call::budget_usage, {2, page}).status, Status::ok);
    u64 first_page = pair.map(pair.first());
    EXPECT_EQ(pair.run(pair.first(), Call::budget_usage, {pair.client_budget, first_page}).status,
              Status::ok);
}

TEST(Labels, ANoticeTellsNobodyBelow) {
    Pair pair(Actors::spec(5), Actors::spec(6, {1}));
    u64 exits = pair.give(*pair.server, pair.endpoint, 0);
    u64 count = pair.kernel.process_count;
    Thread& high = pair.process(pair.client_budget, {}, exits);
    pair.receive(*pair.server);
    pair.make(high, Call::process_exit, {3});
    EXPECT_TRUE(pair.waits(*pair.server));
    EXPECT_EQ(pair.kernel.process_count, count) << "it was dropped";
    Thread& again = pair.process(pair.client_budget, {}, exits);
    pair.pass(1);
    pair.run(pair.first(), Call::time_now);
    pair.make(again, Call::process_exit, {3});
    EXPECT_EQ(pair.kernel.process_count, count);
}

TEST(Labels, BlameHasTheLabelsOfTheCaller) {
    Pair pair(Actors::spec(5, {1, 2}), Actors::spec(6, {1, 2}));
    u64 exits = pair.run(pair.first(), Call::endpoint_create).at[1];
    Thread& server =
        pair.process(pair.server_budget, {pair.give(*pair.server, pair.endpoint, 0)}, exits);
    pair.make(server, Call::receive, {1, kForever});
    pair.call(*pair.client, 1000);
    pair.pass(2000);  // the caller is gone by the time it is blamed
    pair.make(server, Call::process_exit, {9});
    u64 page = pair.map(pair.first());
    Given notice = pair.run(pair.first(), Call::receive, {exits, 0, 0, page});
    EXPECT_EQ(notice.at[1], code(Received::exit));
    EXPECT_EQ(notice.word(2), 9u);
    EXPECT_EQ(notice.account(), 6u);
    EXPECT_EQ(notice.at[2], abi::kHasLabels);
    abi::Arrival arrival = pair.get<abi::Arrival>(pair.first(), page);
    EXPECT_EQ(arrival.label_count, 2u);
    EXPECT_EQ(arrival.labels[1], 2u);
}

TEST(Labels, AnEndingWithoutACallBlamesNobody) {
    Pair pair;
    u64 exits = pair.run(pair.first(), Call::endpoint_create).at[1];
    Thread& server =
        pair.process(pair.server_budget, {pair.give(*pair.server, pair.endpoint, 0)}, exits);
    pair.make(server, Call::receive, {1, kForever});
    pair.call(*pair.client);
    u64 id = pair.given(server).message();
    EXPECT_EQ(pair.run(server, Call::receive, {1, 0}).status, Status::timeout);
    pair.make(server, Call::process_exit, {9});
    EXPECT_NE(id, 0u);
    Given notice = pair.run(pair.first(), Call::receive, {exits, 0});
    EXPECT_EQ(notice.account(), 0u);
}

TEST(Notices, ABadRecordKeepsTheNotice) {
    Pair pair(Actors::spec(5, {1}), Actors::spec(6, {1}));
    u64 exits = pair.run(pair.first(), Call::endpoint_create).at[1];
    Thread& server =
        pair.process(pair.server_budget, {pair.give(*pair.server, pair.endpoint, 0)}, exits);
    Thread& beside = pair.beside(pair.first());
    u64 page = pair.map(pair.first());
    pair.make(beside, Call::receive, {exits, kForever, 0, page});
    EXPECT_EQ(pair.run(pair.first(), Call::unmap, {page, kPageSize}).status, Status::ok);
    pair.make(server, Call::receive, {1, kForever});
    pair.call(*pair.client);
    pair.make(server, Call::process_exit, {9});
    EXPECT_EQ(pair.given(beside).status, Status::invalid_argument);
    Given notice = pair.run(pair.first(), Call::receive, {exits, 0});
    EXPECT_EQ(notice.at[1], code(Received::exit));
    EXPECT_EQ(notice.at[2], abi::kHasLabels);
}

TEST(Notices, AProcessChargedToADyingBudgetMakesNone) {
    Pair pair;
    abi::BudgetSpec spec = Actors::spec(6);
    spec.processes = 3;
    u64 dying = pair.budget(abi::kBootUsers, spec);
    u64 exits = pair.run(pair.first(), Call::endpoint_create).at[1];
    Thread& waiter = pair.beside(pair.first());
    pair.make(waiter, Call::receive, {exits, kForever});
    Thread& maker = pair.process(dying, {exits, dying});
    u64 count = pair.kernel.process_count;
    EXPECT_EQ(pair.run(maker, Call::process_create, {2, 1}).status, Status::ok);
    EXPECT_EQ(pair.run(pair.first(), Call::budget_destroy, {dying}).status, Status::ok);
    EXPECT_TRUE(pair.waits(waiter));
    EXPECT_EQ(pair.kernel.process_count, count - 1);
}

TEST(Notices, ACallThatAnotherThreadAnsweredBlamesNobody) {
    Pair pair;
    u64 exits = pair.run(pair.first(), Call::endpoint_create).at[1];
    Thread& taker =
        pair.process(pair.server_budget, {pair.give(*pair.server, pair.endpoint, 0)}, exits);
    Thread& worker = pair.beside(taker);
    pair.make(taker, Call::receive, {1, kForever});
    pair.call(*pair.client);
    u64 id = pair.given(taker).message();
    EXPECT_EQ(pair.run(worker, Call::serve, {}, {}, id).status, Status::ok);
    EXPECT_EQ(pair.run(taker, Call::reply, {}, {}, id).status, Status::ok);
    // The caller and all that it left are gone when its server crashes.
    EXPECT_EQ(pair.run(pair.first(), Call::budget_destroy, {pair.client_budget}).status,
              Status::ok);
    pair.make(worker, Call::process_exit, {9});
    Given notice = pair.run(pair.first(), Call::receive, {exits, 0});
    EXPECT_EQ(notice.at[1], code(Received::exit));
    EXPECT_EQ(notice.account(), 0u);
}

TEST(Notices, ACallThatAnotherThreadServesIsBlamed) {
    Pair pair;
    u64 exits = pair.run(pair.first(), Call::endpoint_create).at[1];
    Thread& taker =
        pair.process(pair.server_budget, {pair.give(*pair.server, pair.endpoint, 0)}, exits);
    Thread& worker = pair.beside(taker);
    pair.make(taker, Call::receive, {1, kForever});
    pair.call(*pair.client, 1000);
    u64 id = pair.given(taker).message();
    EXPECT_EQ(pair.run(worker, Call::serve, {}, {}, id).status, Status::ok);
    pair.pass(2000);  // abandoned, and open still
    pair.make(worker, Call::process_exit, {9});
    EXPECT_EQ(pair.run(pair.first(), Call::receive, {exits, 0}).account(), 6u);
}

// --- reply_receive ----------------------------------------------------------------------------------

TEST(ReplyReceive, TellsOfTheReplyWhateverTheReceiveGives) {
    Pair pair;
    auto ended = [](Reply outcome, u64 mask) {
        return code(outcome) | mask << abi::kReplyMaskShift;
    };
    pair.receive(*pair.server);
    pair.call(*pair.client);
    u64 id = pair.given(*pair.server).message();
    Given given = pair.run(*pair.server, Call::reply_receive, {99, 0}, {}, id);
    EXPECT_EQ(given.status, Status::bad_handle);
    EXPECT_EQ(given.at[3], ended(Reply::delivered, 0));
    pair.expect_end(Status::ok, Lend::none, true);
    given = pair.run(*pair.server, Call::reply_receive, {pair.endpoint, 0}, {}, id);
    EXPECT_EQ(given.status, Status::invalid_argument);
    EXPECT_EQ(given.at[3], 0u);
    pair.receive(*pair.server);
    pair.call(*pair.client, 1000);
    id = pair.given(*pair.server).message();
    pair.pass(2000);
    pair.make(*pair.server, Call::reply_receive, {pair.endpoint, 1000}, {}, id);
    EXPECT_TRUE(pair.waits(*pair.server));
    pair.pass(2000);
    given = pair.given(*pair.server);
    EXPECT_EQ(given.status, Status::timeout);
    EXPECT_EQ(given.at[3], ended(Reply::discarded, 0));
}

}  // namespace
}  // namespace ravelin::test
