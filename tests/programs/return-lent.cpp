// A borrower that ends in every way there is: its thread, its process, by a fault, by its budget's
// destruction and deadline. The lender gets Dead and its pages back, as the borrower left them.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Launcher;

constexpr u64 kMark = 0x7265'7475;
constexpr u64 kBorrowed = 0x626f'7272;

enum class End : u64 { thread, process, fault, destroyed, deadline };

// Argument: how it ends, once it has a call. Start handle 1 is its endpoint.
void borrower(rt::Env& env) {
    rt::Endpoint endpoint = env.start_handle<rt::Endpoint>(1);
    rt::Result<rt::Delivery> call = rt::receive(env.records(), endpoint, 0);
    endpoint.forget();
    if (!call.ok()) {
        rt::process_exit(1);
    }
    u64* page = rt::user_object<u64>(call.value().address);
    page[0] = kBorrowed;
    switch (static_cast<End>(env.argument())) {
    case End::thread: return;
    case End::process: rt::process_exit(0);
    case End::fault: *rt::user_object<volatile u64>(8) = 0; return;
    case End::destroyed:
    case End::deadline: rt::sleep(rt::kForever); return;
    }
}

// Destroys the budget whose handle the argument is, a little later.
void destroy_soon(rt::Env& env) {
    rt::Budget budget{static_cast<u32>(env.argument())};
    rt::sleep(rt::milliseconds(8));
    static_cast<void>(rt::budget_destroy(budget));
    budget.forget();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const Word page = launcher.must(rt::map_anon(3 * rt::kPageSize, abi::kRead | abi::kWrite));
    for (End how : {End::thread, End::process, End::fault, End::destroyed, End::deadline}) {
        u64* words = rt::user_object<u64>(page);
        words[0] = kMark;
        words[2 * rt::kPageSize / sizeof(u64)] = kMark;
        const rt::Endpoint endpoint = launcher.must(rt::endpoint_create());
        rt::Budget budget = launcher.must(rt::budget_create(
            env.records(), launcher.users(),
            {.pages = rt::copy_pages() + 32,
             .processes = 1,
             .weight = 100,
             .account = 1,
             .deadline =
                 how == End::deadline ? rt::time_now() + rt::milliseconds(20) : rt::kForever}));
        const u32 handles[] = {endpoint.index()};
        const rt::Process process = launcher.must(
            rt::start_copy<borrower>(env.records(), budget, static_cast<Word>(how), handles));
        rt::Stack stack;
        if (how == End::destroyed) {
            stack = launcher.must(rt::Stack::make());
            static_cast<void>(launcher.must(rt::start_thread<destroy_soon>(stack, budget.index())));
            stack.forget();
        }
        const rt::CallEnd end = rt::call(env.records(), endpoint, {}, {.address = page, .pages = 3},
                                         rt::milliseconds(500));
        launcher.expect(end.status == abi::Status::dead && end.lend == abi::Lend::returned &&
                        !end.replied);
        launcher.expect(words[0] == kBorrowed);
        launcher.expect(words[2 * rt::kPageSize / sizeof(u64)] == kMark);
        words[1] = kMark;
        if (how == End::destroyed || how == End::deadline) {
            budget.forget();
        } else {
            launcher.destroy(budget);
        }
    }
    launcher.must(rt::unmap(page, 3 * rt::kPageSize));
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
