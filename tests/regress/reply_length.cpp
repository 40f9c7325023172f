// I3: a reply larger than what the caller gave room for is cut silently. Here words have one length, a count
// over the most is refused with nothing done, and handles that do not fit are told to both sides.
#include "tests/unit/kernel/ipc_pair.h"

namespace ravelin::test {
namespace {

TEST(ReplyLength, ACountOverTheMostIsRefusedAndTheCallStaysOpen) {
    Pair pair;
    u64 own = pair.run(*pair.server, abi::Call::endpoint_create).at[1];
    pair.receive(*pair.server);
    pair.call(*pair.client, abi::kForever, pair.client_page);
    u64 id = pair.given(*pair.server).message();
    u64 body = pair.server_page + 512;
    for (u64 count : {u64{5}, u64{1} << 32, ~u64{0}}) {
        abi::Body record{.handle_count = count, .handles = {own, own, own, own}};
        pair.put(*pair.server, body, record);
        EXPECT_EQ(pair.run(*pair.server, abi::Call::reply, {body}, {}, id).status,
                  abi::Status::too_large);
        EXPECT_TRUE(pair.waits(*pair.client));
    }
    pair.put_body(*pair.server, body, {own, own, own, own});
    Given reply = pair.run(*pair.server, abi::Call::reply, {body}, {}, id);
    EXPECT_EQ(reply.at[2], 15u);
    EXPECT_EQ(pair.given(*pair.client).at[3], 4u);
    EXPECT_EQ(pair.get<abi::Body>(*pair.client, pair.client_page).handle_count, 4u);
}

TEST(ReplyLength, WhoGaveNoRecordIsToldThatHandlesWereLost) {
    Pair pair;
    u64 own = pair.run(*pair.server, abi::Call::endpoint_create).at[1];
    u64 body = pair.server_page + 512;
    pair.put_body(*pair.server, body, {own});
    pair.receive(*pair.server);
    pair.call(*pair.client);
    u64 id = pair.given(*pair.server).message();
    Given reply = pair.run(*pair.server, abi::Call::reply, {body}, {5, 6, 7, 8}, id);
    EXPECT_EQ(reply.at[1], code(abi::Reply::delivered));
    EXPECT_EQ(reply.at[2], 0u);
    pair.expect_end(abi::Status::out_of_memory, abi::Lend::none, true);
    EXPECT_EQ(pair.given(*pair.client).word(3), 8u);
    EXPECT_EQ(pair.given(*pair.client).at[3], 0u);
}

}  // namespace
}  // namespace ravelin::test
