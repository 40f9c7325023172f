// See filler.h.

#include "user/workload/filler.h"

#include "user/rt/launch.h"

namespace ravelin::workload {

namespace {

// Of the threads behind those that call the server; the rest sleeps.
constexpr u32 kCallOwn = 110;
constexpr u32 kCallsAnEndpoint = 22;

// A group's calls beyond those that an endpoint lets wait are tried again.
void call_on(rt::Env& env) {
    rt::Endpoint server{static_cast<u32>(env.argument())};
    while (rt::call(server, {}).status() == abi::Status::busy) {
        rt::sleep(rt::milliseconds(1));
    }
    server.forget();
    rt::sleep(rt::kForever);
}

void sleep_long(rt::Env& env) {
    rt::sleep(rt::milliseconds(100'000 + env.argument()));
}

template <void (*Main)(rt::Env&)>
void start(Child& child, Word argument) {
    rt::Stack stack = child.must(rt::Stack::make());
    static_cast<void>(child.must(rt::start_thread<Main>(stack, argument)));
    stack.forget();
}

}  // namespace

u64 filler_pages() {
    constexpr u64 kHandlesAPage = 64;
    constexpr u64 kPagesAThread = 6;
    constexpr u64 kTables = 16;
    return kFillEndpoints + abi::kMaxHandles / kHandlesAPage + kFillThreads * kPagesAThread +
           kTables;
}

void fill(Child& child) {
    child.begin();
    const u32 server = kFirstRoleHandle;
    u32 first = 0;
    u32 last = 0;
    u64 endpoints = 0;
    for (; endpoints < kFillEndpoints; ++endpoints) {
        last = child.must(rt::endpoint_create()).forget();
        first = first == 0 ? last : first;
    }
    u64 threads = 1;
    for (u32 i = 0; i < kFillTaken + kFillQueued; ++i, ++threads) {
        start<call_on>(child, server);
    }
    for (u32 i = 0; i < kCallOwn; ++i, ++threads) {
        start<call_on>(child, first + i / kCallsAnEndpoint);
    }
    for (; threads < kFillThreads; ++threads) {
        start<sleep_long>(child, static_cast<Word>(threads));
    }
    rt::Endpoint source{last};
    u64 handles = last;
    for (;;) {
        rt::Result<rt::Endpoint> sender = rt::mint(source, 1 + handles);
        if (!sender.ok()) {
            break;
        }
        sender.value().forget();
        ++handles;
    }
    source.forget();
    child.report(endpoints, handles, threads);
    rt::sleep(rt::kForever);
}

Micros destroy_full_lease(Launcher& launcher) {
    const rt::Endpoint server = launcher.must(rt::endpoint_create());
    const rt::Endpoint sends = launcher.must(rt::mint(server, 1));
    const abi::BudgetUsage before = launcher.usage(launcher.users());
    rt::Budget lease = launcher.budget(launcher.users(), 100, 1, 1, filler_pages());
    launcher.start<fill>(lease, {}, {sends.index()});
    static_cast<void>(launcher.open({.warm_up = {0}, .judged = {0}}));
    for (u32 i = 0; i < kFillTaken; ++i) {
        launcher.expect(launcher.must(rt::receive(server, rt::milliseconds(5'000))).kind ==
                        abi::Received::call);
    }
    const ChildReport full = launcher.next_report();
    launcher.expect(full.values[0] == kFillEndpoints && full.values[1] >= kFillHandles &&
                    full.values[2] == kFillThreads);
    rt::sleep(rt::milliseconds(50));
    const rt::Ticks begin = rt::clock();
    launcher.destroy(lease);
    const Micros took = launcher.rate().micros_of(rt::clock() - begin);
    const abi::BudgetUsage after = launcher.usage(launcher.users());
    launcher.expect(after.pages_used == before.pages_used &&
                    after.processes_used == before.processes_used &&
                    after.weight_carved == before.weight_carved);
    for (u32 i = 0; i < kFillTaken; ++i) {
        launcher.expect(launcher.must(rt::receive(server, {0})).kind == abi::Received::abandoned);
    }
    launcher.expect(rt::receive(server, {0}).status() == abi::Status::timeout);
    return took;
}

}  // namespace ravelin::workload
