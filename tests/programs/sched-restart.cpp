// A server that runs nine tenths of a slice and ends, and is started again at once, beside a spinner of
// equal weight: first in a fresh budget each time, then in the same one. Neither way does a restart
// leave a debt behind or bring a credit along.

#include "user/rt/program.h"
#include "user/workload/launcher.h"
#include "user/workload/roles.h"

namespace {

using namespace ravelin;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr u64 kWeight = 100;

void serve_and_end(rt::Env& env) {
    rt::work({env.argument()});
    rt::process_exit(0);
}

/// Restarts the server when it has ended, in its own budget, the role handle 0, or, if parameter 1 is not
/// 0, in a fresh budget below that with nearly all of its weight.
///   0 a server's work   1 fresh
void supervise(Child& child) {
    const rt::Budget home = child.handle<rt::Budget>(0);
    rt::Records& records = child.env().records();
    const rt::Endpoint exits = child.must(rt::endpoint_create());
    const bool fresh = child.parameter(1) != 0;
    child.begin();
    u64 count = 0;
    for (; child.in_window(); ++count) {
        rt::Budget own;
        if (fresh) {
            own = child.must(rt::budget_create(
                records, home, {.pages = rt::copy_pages(), .processes = 1, .weight = kWeight - 1}));
        }
        rt::Process server = child.must(rt::start_copy<serve_and_end>(
            records, fresh ? own : home, static_cast<Word>(child.parameter(0)), {}, &exits));
        const rt::Message message = child.must(rt::receive(exits));
        if (message.kind != abi::Received::exit) {
            child.fail(__builtin_LINE());
        }
        server.forget();
        if (fresh) {
            child.must(rt::budget_destroy(own));
            own.forget();
        }
    }
    child.report(count);
}

void play(Launcher& launcher, bool fresh) {
    rt::Budget victim = launcher.budget(launcher.users(), kWeight, 1);
    rt::Budget home = launcher.budget(launcher.users(), kWeight, 2, 2, 8);
    launcher.start<workload::spin>(victim, {launcher.piece()});
    launcher.start<supervise>(
        home, {launcher.ticks(workload::kSlice).value * 9 / 10, fresh ? 1u : 0u}, {home.index()});
    launcher.run({});
    launcher.collect();
    launcher.destroy(victim);
    launcher.destroy(home);
    launcher.reset_children();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    play(launcher, true);
    play(launcher, false);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
