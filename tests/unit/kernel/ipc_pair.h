// A server and clients with records and pages to lend: what tests of messages start from.
#pragma once

#include "tests/unit/kernel/actors.h"

namespace ravelin::test {

inline u64 code(auto value) {
    return static_cast<u64>(value);
}

/// A server and a client, each in a budget of its own; the client's handle 1 is minted with badge 77.
/// Both have a page for records and the client two that it may lend.
class Pair : public Actors {
  public:
    explicit Pair(abi::BudgetSpec for_server = spec(5), abi::BudgetSpec for_client = spec(6)) {
        server_budget = budget(abi::kBootUsers, for_server);
        client_budget = budget(abi::kBootUsers, for_client);
        server = &process(server_budget);
        endpoint = run(*server, abi::Call::endpoint_create).at[1];
        client = &process(client_budget, {give(*server, endpoint, 77)});
        server_page = map(*server);
        client_page = map(*client);
        lend = map(*client, 2);
        put(*client, lend, u64{0x1111});
        put(*client, lend + kPageSize, u64{0x2222});
    }

    /// A handle of the first program to an endpoint of a thread's process, minted with a badge.
    u64 give(Thread& owner, u64 own_handle, u64 badge, Budget* stamp = nullptr) {
        HandleSlot* slot = find_handle(*owner.process, static_cast<Word>(own_handle));
        u32 handle = 0;
        EXPECT_EQ(install_handle(kernel, *first().process, *slot->object,
                                 stamp == nullptr ? *slot->stamp : *stamp, badge, handle),
                  abi::Status::ok);
        return handle;
    }

    /// An empty budget below users: a stamp.
    u64 scope() {
        abi::BudgetSpec empty{};
        empty.deadline = abi::kForever;
        return budget(abi::kBootUsers, empty);
    }

    Budget& budget_at(u64 handle) { return *reinterpret_cast<Budget*>(names(first(), handle)); }

    /// The server waits to receive with its record, or takes what is there.
    void receive(Thread& thread, u64 timeout = abi::kForever, u64 most = 1024) {
        make(thread, abi::Call::receive, {endpoint, timeout, 0, server_page, most});
    }

    void call(Thread& thread, u64 timeout = abi::kForever, u64 record = 0, u64 address = 0,
              u64 pages = 0, std::array<u64, 4> words = {1, 2, 3, 4}) {
        make(thread, abi::Call::call, {1, timeout, 0, record, address, pages}, words);
    }

    void send(Thread& thread, u64 timeout = abi::kForever, u64 record = 0, u64 address = 0,
              u64 pages = 0, std::array<u64, 4> words = {1, 2, 3, 4}) {
        make(thread, abi::Call::send, {1, timeout, 0, record, address, pages}, words);
    }

    /// A call of the client that lends both pages, taken by the server.
    Given lent_and_taken(u64 timeout = abi::kForever) {
        receive(*server);
        call(*client, timeout, client_page, lend, 2);
        Given given = this->given(*server);
        EXPECT_EQ(given.at[1], code(abi::Received::call));
        EXPECT_EQ(given.at[2], abi::kHasPages);
        EXPECT_FALSE(reaches(*client, lend));
        return given;
    }

    abi::Arrival arrival() { return get<abi::Arrival>(*server, server_page); }

    void expect_end(abi::Status status, abi::Lend lend_end, bool replied, Thread* who = nullptr) {
        Given given = this->given(who == nullptr ? *client : *who);
        EXPECT_EQ(given.status, status);
        EXPECT_EQ(given.at[1], code(lend_end));
        EXPECT_EQ(given.at[2], replied ? 1u : 0u);
    }

    u64 server_budget = 0;
    u64 client_budget = 0;
    Thread* server = nullptr;
    Thread* client = nullptr;
    u64 endpoint = 0;
    u64 server_page = 0;
    u64 client_page = 0;
    u64 lend = 0;
};

}  // namespace ravelin::test
