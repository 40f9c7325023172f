// What the launcher's own calls cost it before and after everybody else has filled what can be filled: two leases
// with full handle tables, thousands of endpoints and hundreds of threads, whose calls wait at the launcher's
// endpoint or are open there, and a hundred more senders of other groups. The longest of several runs of each call
// grows by a fifth at most, or by ten ticks.

#include "user/rt/program.h"
#include "user/workload/filler.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr u32 kRuns = 16;
constexpr u32 kFillers = 2;
constexpr u32 kSenders = 8;
constexpr u32 kRights = abi::kRead | abi::kWrite;

enum Measured : u32 {
    kTime,
    kRandom,
    kMap,
    kUnmap,
    kEndpointCreate,
    kMint,
    kClose,
    kBudgetCreate,
    kBudgetUsage,
    kBudgetDestroy,
    kProcessCreate,
    kProcessClose,
    kThreadCreate,
    kCall,
    kPoll,
    kMeasured
};

struct Longest {
    u64 ticks[kMeasured] = {};

    // Behind a nap, so that no end of a slice falls into it.
    template <class Call>
    auto take(Measured which, const Call& call) {
        rt::sleep({100});
        const rt::Ticks begin = rt::clock();
        auto result = call();
        const u64 took = (rt::clock() - begin).value;
        ticks[which] = took > ticks[which] ? took : ticks[which];
        return result;
    }
};

// Answers what comes to role handle 0 without end.
void answerer(Child& child) {
    const rt::Endpoint box = child.handle<rt::Endpoint>(0);
    rt::Message message = child.must(rt::receive(box));
    for (;;) {
        message = child.must(rt::reply_receive(message.id, {}, box));
    }
}

// Sends through role handle 0, where it waits for good.
void sender(Child& child) {
    const rt::Endpoint server = child.handle<rt::Endpoint>(0);
    child.report(0);
    static_cast<void>(rt::send(server, {}));
}

void thread_end(rt::Env&) {}

void measure(Launcher& launcher, const rt::Budget& own, const rt::Endpoint& server,
             const rt::Endpoint& answers, const rt::Stack& stack, Longest& longest) {
    rt::Records& records = launcher.env().records();
    for (u32 i = 0; i < kRuns; ++i) {
        static_cast<void>(longest.take(kTime, [] { return rt::time_now(); }));
        launcher.must(longest.take(kRandom, [] { return rt::random(); }));
        const Word page =
            launcher.must(longest.take(kMap, [] { return rt::map_anon(rt::kPageSize, kRights); }));
        launcher.must(longest.take(kUnmap, [&] { return rt::unmap(page, rt::kPageSize); }));
        rt::Endpoint made =
            launcher.must(longest.take(kEndpointCreate, [] { return rt::endpoint_create(); }));
        rt::Endpoint sends =
            launcher.must(longest.take(kMint, [&] { return rt::mint(server, 5); }));
        longest.take(kClose, [&] {
            sends.close();
            return 0;
        });
        rt::Budget empty = launcher.must(
            longest.take(kBudgetCreate, [&] { return rt::budget_create(records, own, {}); }));
        static_cast<void>(launcher.must(
            longest.take(kBudgetUsage, [&] { return rt::budget_usage(records, empty); })));
        launcher.must(longest.take(kBudgetDestroy, [&] { return rt::budget_destroy(empty); }));
        rt::Process process =
            launcher.must(longest.take(kProcessCreate, [&] { return rt::process_create(own); }));
        longest.take(kProcessClose, [&] {
            process.close();
            return 0;
        });
        static_cast<void>(launcher.must(
            longest.take(kThreadCreate, [&] { return rt::start_thread<thread_end>(stack, 0); })));
        static_cast<void>(
            launcher.must(longest.take(kCall, [&] { return rt::call(answers, {}); })));
        launcher.expect(longest.take(kPoll, [&] { return rt::receive(made, {0}).status(); }) ==
                        abi::Status::timeout);
    }
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint server = launcher.must(rt::endpoint_create());
    const rt::Endpoint sends = launcher.must(rt::mint(server, 1));
    const rt::Endpoint box = launcher.must(rt::endpoint_create());
    const rt::Endpoint answers = launcher.must(rt::mint(box, 1));
    const rt::Budget helper = launcher.budget(launcher.users(), 100, 100);
    const rt::Budget own = launcher.budget(launcher.users(), 100, 101, 4 * kRuns, 11 * kRuns);
    launcher.start<answerer>(helper, {}, {box.index()});
    const rt::Stack stack = launcher.must(rt::Stack::make());
    Longest unused;
    Longest before;
    measure(launcher, own, server, answers, stack, unused);
    measure(launcher, own, server, answers, stack, before);
    launcher.reset_children();

    rt::Budget leases[kFillers + kSenders];
    for (u32 i = 0; i < kFillers; ++i) {
        leases[i] = launcher.budget(launcher.users(), 100, i + 1, 1, workload::filler_pages());
        launcher.start<workload::fill>(leases[i], {}, {sends.index()});
    }
    static_cast<void>(launcher.open({.warm_up = {0}, .judged = {0}}));
    for (u32 i = 0; i < kFillers * workload::kFillTaken; ++i) {
        launcher.expect(launcher.must(rt::receive(server, rt::milliseconds(5'000))).kind ==
                        abi::Received::call);
    }
    launcher.collect();
    for (u32 i = kFillers; i < kFillers + kSenders; ++i) {
        leases[i] = launcher.budget(launcher.users(), 100, i + 1);
        launcher.start<sender>(leases[i], {}, {sends.index()});
        static_cast<void>(launcher.next_report());
    }
    rt::sleep(rt::milliseconds(100));
    // The fillers took what idle time had zeroed: as before, the first round's frames are zeroed in its naps for the next.
    measure(launcher, own, server, answers, stack, unused);
    Longest after;
    measure(launcher, own, server, answers, stack, after);
    for (u32 i = 0; i < kMeasured; ++i) {
        const u64 most = before.ticks[i] + before.ticks[i] / 5;
        const u64 more = before.ticks[i] + 10;
        launcher.expect(after.ticks[i] <= (most > more ? most : more));
    }
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
