// A server that one user floods with calls from many threads, beside two users who spin, all of one weight:
// the server works with its own weight, so a flood takes that and no more.

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
constexpr rt::Micros kWait = rt::milliseconds(5);

/// Answers every call behind some work. Role handle 0: its endpoint. Parameter 0: the work.
void serve(Child& child) {
    const rt::Endpoint endpoint = child.handle<rt::Endpoint>(0);
    child.begin();
    u64 count = 0;
    rt::Result<rt::Message> message = rt::receive(endpoint, kWait);
    while (child.in_window()) {
        if (!message.ok() || message.value().kind != abi::Received::call) {
            message = rt::receive(endpoint, kWait);
            continue;
        }
        rt::work({child.parameter(0)});
        ++count;
        message = rt::reply_receive(message.value().id, {}, endpoint, kWait);
    }
    child.report(count);
}

struct Calls {
    rt::Ticks end;
    u32 endpoint = 0;
};

void call_thread(Calls& calls, u32) {
    rt::Endpoint endpoint{calls.endpoint};
    while (rt::clock() < calls.end) {
        static_cast<void>(rt::call(endpoint, {}, kWait));
    }
    // All threads use one handle; the process's end closes it.
    endpoint.forget();
}

/// Role handle 0: what it calls.
void flood(Child& child) {
    const rt::Endpoint endpoint = child.handle<rt::Endpoint>(0);
    child.begin();
    workload::Team<Calls, call_thread> team{
        child, {.end = child.window().end, .endpoint = endpoint.index()}, kThreads};
    team.join();
    child.report(kThreads);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint endpoint = launcher.must(rt::endpoint_create());
    const rt::Endpoint request = launcher.must(rt::mint(endpoint, 1));
    rt::Budget first = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget second = launcher.budget(launcher.users(), kWeight, 2);
    rt::Budget flooder = launcher.budget(launcher.users(), kWeight, 3, 1, 64);
    rt::Budget server = launcher.budget(launcher.system(), kWeight, 4, 1, 64);
    launcher.start<workload::spin>(first, {launcher.piece()});
    launcher.start<workload::spin>(second, {launcher.piece()});
    launcher.start<flood>(flooder, {}, {request.index()});
    launcher.start<serve>(server, {launcher.ticks({100}).value}, {endpoint.index()});
    launcher.run({});
    launcher.collect();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
