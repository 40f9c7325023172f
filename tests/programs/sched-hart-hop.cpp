// A budget whose threads hand work to one another through an endpoint, each blocking as it wakes the next,
// so that what runs hops from hart to hart, beside a spinner of equal weight with a thread for every hart.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"
#include "user/workload/team.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u64 kWeight = 100;
constexpr u32 kThreads = 6;

// A wait that nobody answers ends by itself, for the window ends for all at once.
constexpr rt::Micros kWait = rt::milliseconds(2);

struct Ring {
    rt::Ticks end;
    rt::Ticks burst;
    u32 endpoint = 0;
};

// Odd threads call and even ones answer: each answer wakes a caller and blocks the server, and the other
// way round.
void hop(Ring& ring, u32 index) {
    rt::Endpoint endpoint{ring.endpoint};
    while (rt::clock() < ring.end) {
        rt::work(ring.burst);
        if (index % 2 == 0) {
            static_cast<void>(rt::call(endpoint, {}, kWait));
            continue;
        }
        rt::Result<rt::Message> message = rt::receive(endpoint, kWait);
        if (message.ok() && message.value().kind == abi::Received::call) {
            rt::work(ring.burst);
            static_cast<void>(rt::reply(message.value().id, {}));
        }
    }
    // All threads use one handle; the process's end closes it.
    endpoint.forget();
}

/// Parameter 0: a burst.
void hop_harts(Child& child) {
    const rt::Endpoint endpoint = child.must(rt::endpoint_create());
    child.begin();
    workload::Team<Ring, hop> team{
        child,
        {.end = child.window().end, .burst = {child.parameter(0)}, .endpoint = endpoint.index()},
        kThreads};
    team.join();
    child.report(kThreads);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1, 1, 16);
    rt::Budget hopper = launcher.budget(launcher.users(), kWeight, 2, 1, 64);
    launcher.start<workload::spin>(victim, {launcher.piece(), 4});
    launcher.start<hop_harts>(hopper, {launcher.piece()});
    launcher.run({});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
