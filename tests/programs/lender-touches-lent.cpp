// A lender that touches a page while it is lent faults and ends, whatever it tries: a read, a write,
// while the message waits and once it is taken. The launcher is the server and sees the kernel's notices:
// the page is nobody else's, and what was lent stays the server's until its reply.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Launcher;

constexpr u64 kMark = 0x1234'5678;
constexpr u64 kChanged = 0x666;

struct Shared {
    Word lent;
    u64 writes;
};

// Touches the lent page of its process a little later.
void touch(rt::Env& env) {
    const Shared& shared = *rt::user_object<Shared>(env.argument());
    rt::sleep(rt::milliseconds(5));
    volatile u64* page = rt::user_object<u64>(shared.lent);
    if (shared.writes != 0) {
        *page = kChanged;
    } else if (*page == kMark) {
        rt::process_exit(77);
    }
    rt::process_exit(78);
}

// Argument: whether it writes. Start handle 1 is the server's endpoint.
void lender(rt::Env& env) {
    const rt::Endpoint server = env.start_handle<rt::Endpoint>(1);
    rt::Result<Word> lent = rt::map_anon(rt::kPageSize, abi::kRead | abi::kWrite);
    rt::Result<Word> own = rt::map_anon(rt::kPageSize, abi::kRead | abi::kWrite);
    rt::Result<rt::Stack> stack = rt::Stack::make();
    if (!lent.ok() || !own.ok() || !stack.ok()) {
        rt::process_exit(1);
    }
    *rt::user_object<u64>(lent.value()) = kMark;
    *rt::user_object<Shared>(own.value()) = {lent.value(), env.argument()};
    if (!rt::start_thread<touch>(stack.value(), own.value()).ok()) {
        rt::process_exit(2);
    }
    static_cast<void>(rt::call(env.records(), server, {}, {.address = lent.value(), .pages = 1}));
    rt::process_exit(3);
}

void attempt(Launcher& launcher, bool taken, bool writes) {
    rt::Records& records = launcher.env().records();
    const rt::Endpoint endpoint = launcher.must(rt::endpoint_create());
    const rt::Endpoint client = launcher.must(rt::mint(endpoint, 1));
    const rt::Endpoint exits = launcher.must(rt::endpoint_create());
    rt::Budget budget = launcher.budget(launcher.users(), 100, 1, 1, 64);
    const u32 handles[] = {client.index()};
    const rt::Process process =
        launcher.must(rt::start_copy<lender>(records, budget, writes ? 1 : 0, handles, &exits));
    rt::Delivery call;
    if (taken) {
        call = launcher.must(rt::receive(records, endpoint, 0, rt::milliseconds(1'000)));
        launcher.expect(call.pages == 1);
    }
    const rt::Message ended = launcher.must(rt::receive(exits, rt::milliseconds(1'000)));
    launcher.expect(ended.kind == abi::Received::exit);
    launcher.expect(ended.words.at[1] == static_cast<u64>(abi::ExitCause::faulted));
    const abi::FaultCode code = writes ? abi::FaultCode::store : abi::FaultCode::load;
    launcher.expect(ended.words.at[2] == static_cast<u64>(code));
    if (taken) {
        launcher.expect(*rt::user_object<u64>(call.address) == kMark);
        const rt::ReplyEnd end = launcher.must(rt::reply(records, call.message.id, {}, {}));
        launcher.expect(end.outcome == abi::Reply::discarded);
    } else {
        launcher.expect(rt::receive(records, endpoint, 0, {0}).status() == abi::Status::timeout);
    }
    launcher.destroy(budget);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    for (bool taken : {false, true}) {
        attempt(launcher, taken, false);
        attempt(launcher, taken, true);
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
