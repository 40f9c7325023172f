// An endpoint that dies with its owner while calls through it are open elsewhere: the owner had passed the right to
// receive to another server, which took calls and holds them. Every caller gets Dead, taken or not, the holder is told
// nothing of an endpoint that is gone but finds its replies discarded, and what was lent is back or freed in the books.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr u32 kTaken = 6;
constexpr u32 kCallers = 10;
constexpr u32 kRights = abi::kRead | abi::kWrite;

// Makes an endpoint, gives its right to receive through role handle 0, and stays.
void owner(Child& child) {
    const rt::Endpoint launcher = child.handle<rt::Endpoint>(0);
    const rt::Endpoint mine = child.must(rt::endpoint_create());
    const u32 handles[] = {mine.index()};
    child.must(rt::send(child.env().records(), launcher, {}, {.handles = handles}));
    child.report(1);
    rt::sleep(rt::kForever);
}

// Calls through role handle 0 with a page, and reports how that ended and whether the page is its own.
void caller(Child& child) {
    const rt::Endpoint server = child.handle<rt::Endpoint>(0);
    const Word page = child.must(rt::map_anon(rt::kPageSize, kRights));
    const rt::CallEnd end =
        rt::call(child.env().records(), server, {}, {.address = page, .pages = 1});
    child.report(static_cast<u64>(end.status), static_cast<u64>(end.lend),
                 rt::unmap(page, rt::kPageSize).ok() ? 1 : 0);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Records& records = env.records();
    const rt::Endpoint box = launcher.must(rt::endpoint_create());
    const rt::Endpoint to_box = launcher.must(rt::mint(box, 1));
    rt::Budget home = launcher.budget(launcher.users(), 100, 1);
    launcher.start<owner>(home, {}, {to_box.index()});
    rt::Delivery gift = launcher.must(rt::receive(records, box, 0, rt::milliseconds(100)));
    launcher.collect();
    launcher.reset_children();
    rt::Endpoint server{gift.handles.at[0].forget()};
    rt::Endpoint sends = launcher.must(rt::mint(server, 3));
    rt::Budget callers[kCallers];
    for (u32 i = 0; i < kCallers; ++i) {
        callers[i] = launcher.budget(launcher.users(), 100, 10 + i);
        launcher.start<caller>(callers[i], {}, {sends.index()});
    }
    rt::sleep(rt::milliseconds(5));
    const u64 root = launcher.usage(launcher.root()).pages_used;
    u64 calls[kTaken];
    for (u64& call : calls) {
        const rt::Delivery taken =
            launcher.must(rt::receive(records, server, 16, rt::milliseconds(100)));
        launcher.expect(taken.message.kind == abi::Received::call && taken.pages == 1);
        call = taken.message.id;
    }
    launcher.destroy(home);
    // The handles to it are empty, and every caller has its answer.
    launcher.expect(rt::receive(server, {0}).status() == abi::Status::bad_handle);
    launcher.expect(rt::send(sends, {}, {0}).status() == abi::Status::bad_handle);
    server.forget();
    sends.forget();
    u32 consumed = 0;
    for (u32 i = 0; i < kCallers; ++i) {
        const workload::ChildReport report = launcher.next_report();
        launcher.expect(report.values[0] == static_cast<u64>(abi::Status::dead));
        const bool gone = report.values[1] == static_cast<u64>(abi::Lend::consumed);
        launcher.expect(report.values[2] == (gone ? 0 : 1));
        consumed += gone ? 1 : 0;
    }
    launcher.expect(consumed == kTaken);
    for (u64 call : calls) {
        launcher.expect(launcher.must(rt::reply(call, {})) == abi::Reply::discarded);
        launcher.expect(!rt::reply(call, {}).ok());
    }
    // What it borrowed is gone with the replies: the launcher has what it had before it took the calls.
    launcher.expect(launcher.usage(launcher.root()).pages_used <= root);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
