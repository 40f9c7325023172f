// A lent page that the borrower never touches comes back as it was, and what lies around it stays its
// owner's meanwhile. The launcher lends and looks; the server is a child.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr u32 kPages = 18;
constexpr u32 kLent = 16;
constexpr u32 kWords = rt::kPageSize / sizeof(u64);

// Answers calls after a while without looking at what they lend.
void server(Child& child) {
    const rt::Endpoint endpoint = child.handle<rt::Endpoint>(0);
    for (;;) {
        const rt::Delivery call = child.must(rt::receive(child.env().records(), endpoint, 0));
        rt::sleep(rt::milliseconds(3));
        static_cast<void>(child.must(rt::reply(call.message.id, {{call.pages}})));
    }
}

u64 mark(u32 page, u32 word) {
    return u64{page} << 32 | (word + 1);
}

// The first and the last page stay here while those between are lent: they are read and written.
void keep_looking(rt::Env& env) {
    u64* first = rt::user_object<u64>(env.argument());
    u64* last = first + (kPages - 1) * kWords;
    for (u32 i = 0; i < 20; ++i) {
        first[0] += 1;
        last[kWords - 1] += 1;
        rt::sleep({200});
    }
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint endpoint = launcher.must(rt::endpoint_create());
    const rt::Budget budget = launcher.budget(launcher.users(), 100, 1, 1, 64);
    launcher.start<server>(budget, {}, {endpoint.index()});
    const Word address =
        launcher.must(rt::map_anon(kPages * rt::kPageSize, abi::kRead | abi::kWrite));
    u64* words = rt::user_object<u64>(address);
    for (u32 i = 0; i < kPages * kWords; ++i) {
        words[i] = mark(i / kWords, i % kWords);
    }
    rt::Stack stack = launcher.must(rt::Stack::make());
    static_cast<void>(launcher.must(rt::start_thread<keep_looking>(stack, address)));
    const u64 used = launcher.usage(launcher.root()).pages_used;
    for (u32 round = 0; round < 3; ++round) {
        const rt::CallEnd end = rt::call(env.records(), endpoint, {},
                                         {.address = address + rt::kPageSize, .pages = kLent});
        launcher.expect(end.ok() && end.replied && end.lend == abi::Lend::returned &&
                        end.words.at[0] == kLent);
        for (u32 page = 1; page <= kLent; ++page) {
            for (u32 word = 0; word < kWords; ++word) {
                launcher.expect(words[page * kWords + word] == mark(page, word));
            }
        }
    }
    rt::sleep(rt::milliseconds(10));
    launcher.expect(words[0] == mark(0, 0) + 20 &&
                    words[kPages * kWords - 1] == mark(kPages - 1, kWords - 1) + 20);
    launcher.expect(launcher.usage(launcher.root()).pages_used <= used);
    stack.forget();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
