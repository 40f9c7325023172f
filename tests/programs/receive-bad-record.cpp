// Receives with records that cannot be written: beside a page, unaligned, read-only, lent away, and one
// whose page goes while the receive waits. Each is refused, the message or notice stays, and a good
// receive gets it.

#include "user/rt/program.h"
#include "user/rt/trap.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Child;
using workload::Launcher;

constexpr u32 kMessages = 3;

// Sends its own endpoint's handle through role handle 0, several times.
//   0 microseconds that it sleeps first
void sender(Child& child) {
    const rt::Endpoint server = child.handle<rt::Endpoint>(0);
    const rt::Endpoint gift = child.must(rt::endpoint_create());
    const u32 handles[] = {gift.index()};
    rt::sleep({child.parameter(0)});
    for (u32 i = 0; i < kMessages; ++i) {
        child.must(rt::send(child.env().records(), server, {{i + 1}}, {.handles = handles}));
    }
    child.report(1);
}

// Receives into the record at this address; the status it got.
abi::Status receive_at(const rt::Endpoint& endpoint, Word record, u64 timeout) {
    rt::Registers registers;
    registers.at[0] = abi::kCallBase + static_cast<Word>(abi::Call::receive);
    registers.at[1] = endpoint.index();
    registers.put64(2, timeout);
    registers.at[4] = record;
    rt::trap(registers);
    return static_cast<abi::Status>(registers.at[0]);
}

// Unmaps a page a little later.
void unmap_soon(rt::Env& env) {
    rt::sleep(rt::milliseconds(5));
    static_cast<void>(rt::unmap(env.argument(), rt::kPageSize));
}

void takes(Launcher& launcher, const rt::Endpoint& endpoint, u64 word) {
    const rt::Delivery taken =
        launcher.must(rt::receive(launcher.env().records(), endpoint, 0, rt::milliseconds(500)));
    launcher.expect(taken.message.words.at[0] == word && taken.handles.count == 1 &&
                    taken.handles.at[0]);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint endpoint = launcher.must(rt::endpoint_create());
    const rt::Endpoint server = launcher.must(rt::mint(endpoint, 1));
    const Word page = launcher.page();
    const Word fixed = launcher.page();
    launcher.must(rt::set_flags(fixed, rt::kPageSize, abi::kRead));
    const rt::Budget budget = launcher.budget(launcher.users(), 100, 1, 1, 16);
    launcher.start<sender>(budget, {}, {server.index()});
    rt::sleep(rt::milliseconds(5));
    const Word bad[] = {page + 4, page + rt::kPageSize - 64, fixed, 0x1000 - 8,
                        static_cast<Word>(~Word{0} - 7)};
    for (Word record : bad) {
        launcher.expect(receive_at(endpoint, record, 0) == abi::Status::invalid_argument);
    }
    takes(launcher, endpoint, 1);
    // The page goes while the receive waits; then the message comes.
    const rt::Endpoint quiet = launcher.must(rt::endpoint_create());
    const rt::Endpoint to_quiet = launcher.must(rt::mint(quiet, 1));
    const rt::Budget second = launcher.budget(launcher.users(), 100, 2, 1, 16);
    launcher.start<sender>(second, {30'000}, {to_quiet.index()});
    rt::Stack stack = launcher.must(rt::Stack::make());
    static_cast<void>(launcher.must(rt::start_thread<unmap_soon>(stack, page)));
    launcher.expect(receive_at(quiet, page, 500'000) == abi::Status::invalid_argument);
    takes(launcher, quiet, 1);
    takes(launcher, quiet, 2);
    takes(launcher, quiet, 3);
    takes(launcher, endpoint, 2);
    takes(launcher, endpoint, 3);
    launcher.collect();
    stack.forget();
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
