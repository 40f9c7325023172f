// A kernel inside this program: two budgets of weight 100 and 300 share one hart for a second of its own
// time, and what each did is printed per 1000. Guest code lives in this process, so it can count here.
#include <cstdio>

#include "core/kernel.h"
#include "ravelin_hosted.h"
#include "user/rt/launch.h"

using namespace ravelin;

namespace {

constexpr u64 kWeights[] = {100, 300};

// The whole life of a thread in each budget: a tenth of a millisecond of work, and one more is done.
void spin(rt::Env& env) {
    for (;;) {
        rt::work({hosted::kTimebase / 10'000});
        ++*reinterpret_cast<u64*>(env.argument());
    }
}

// The first program: makes the budgets, starts a process in each, and sleeps until the machine ends.
void launch(rt::Env& env) {
    u64* done = reinterpret_cast<u64*>(env.argument());
    const rt::Budget users = env.start_handle<rt::Budget>(abi::kBootUsers);
    for (u64 weight : kWeights) {
        rt::Result<rt::Budget> budget = rt::budget_create(
            env.records(), users, {.pages = rt::copy_pages(), .processes = 1, .weight = weight});
        static_cast<void>(rt::start_copy<spin>(env.records(), budget.value(),
                                               reinterpret_cast<Word>(done++), {}));
    }
    rt::sleep(rt::kForever);
}

}  // namespace

int main() {
    hosted::HostedOptions options;
    options.limit = Ticks{hosted::kTimebase};  // one second
    hosted::HostedMachine machine(options);
    Kernel kernel(machine.port());
    u64 done[2] = {};
    machine.run(kernel,
                machine.boot_program(&rt::thread_main<launch>, reinterpret_cast<Word>(done)));
    for (u64 budget = 0; budget < 2; ++budget) {
        std::printf("weight %3llu: %3llu of 1000\n",
                    static_cast<unsigned long long>(kWeights[budget]),
                    static_cast<unsigned long long>(done[budget] * 1000 / (done[0] + done[1])));
    }
}
