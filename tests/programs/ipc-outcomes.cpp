// Every row of the completion table (R13): a client lends two pages in a call, the launcher is the server
// and brings each ending about. What the client was told, and that its pages hold what they should, it
// reports; what the server was told, the launcher sees.

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

constexpr u64 kMark = 0x6d61'726b;
constexpr u32 kPages = 2;
constexpr u64 kServerMark = 0x7365'7276;

enum class Record : u64 { own, none, unmapped };

// Takes its process's record page away while the call is on its way.
void unmap_soon(rt::Env& env) {
    rt::sleep(rt::milliseconds(4));
    static_cast<void>(rt::unmap(env.argument(), rt::kPageSize));
}

u64* pages(Word address) {
    return rt::user_object<u64>(address);
}

u64 packed(abi::Status status, abi::Lend lend, bool replied) {
    return static_cast<u64>(status) | static_cast<u64>(lend) << 8 | u64{replied} << 16;
}

// Calls through role handle 0 with two pages lent, and reports how that ended, whether the pages are its
// own again and what the server left in them.
//   0 timeout in microseconds (0: none)   1 where its body record lies
void client(Child& child) {
    const rt::Endpoint server = child.handle<rt::Endpoint>(0);
    const auto record = static_cast<Record>(child.parameter(1));
    const Word lent = child.must(rt::map_anon(kPages * rt::kPageSize, abi::kRead | abi::kWrite));
    const Word own = child.must(rt::map_anon(rt::kPageSize, abi::kRead | abi::kWrite));
    pages(lent)[8] = kMark;
    pages(own)[0] = 0;
    if (record == Record::unmapped) {
        rt::Stack stack = child.must(rt::Stack::make());
        static_cast<void>(child.must(rt::start_thread<unmap_soon>(stack, own)));
        stack.forget();
    }
    rt::Registers registers;
    registers.at[0] = abi::kCallBase + static_cast<Word>(abi::Call::call);
    registers.at[1] = server.index();
    registers.put64(2, child.parameter(0) == 0 ? abi::kForever : child.parameter(0));
    registers.at[4] = record == Record::none ? Word{0} : own;
    registers.at[5] = lent;
    registers.at[6] = kPages;
    rt::trap(registers);
    const auto lend = static_cast<abi::Lend>(registers.at[1]);
    // Own pages can be unmapped; consumed ones are not there.
    const u64 left = lend == abi::Lend::returned ? pages(lent)[8] : 0;
    const bool mine = rt::unmap(lent, kPages * rt::kPageSize).ok();
    child.report(packed(static_cast<abi::Status>(registers.at[0]), lend, registers.at[2] != 0),
                 mine ? 1 : 0, left);
}

class Outcomes {
  public:
    explicit Outcomes(Launcher& launcher)
        : launcher_(launcher), endpoint_(launcher.must(rt::endpoint_create())) {}

    void answered() {
        start();
        const rt::Delivery call = take();
        pages(call.address)[8] = kServerMark;
        replies(call, {}, abi::Reply::delivered, 0);
        ends(abi::Status::ok, abi::Lend::returned, true, kServerMark);
    }

    void refused() {
        start();
        rt::sleep(rt::milliseconds(5));
        launcher_.expect(rt::receive(endpoint_, {0}).status() == abi::Status::timeout);
        ends(abi::Status::refused, abi::Lend::returned, false, kMark);
    }

    void timed_out_waiting() {
        start(3'000);
        ends(abi::Status::timeout, abi::Lend::returned, false, kMark);
    }

    void timed_out_taken() {
        start(30'000);
        const rt::Delivery call = take();
        ends(abi::Status::timeout, abi::Lend::consumed, false, 0);
        launcher_.expect(pages(call.address)[8] == kMark);
        const rt::Delivery told = take();
        launcher_.expect(told.message.kind == abi::Received::abandoned &&
                         told.message.id == call.message.id);
        nothing_waits();
        replies(call, {}, abi::Reply::discarded, 0);
        launcher_.expect(rt::reply(call.message.id, {}).status() == abi::Status::invalid_argument);
    }

    void revoked(bool taken) {
        rt::Budget scope = launcher_.scope(launcher_.root());
        start(0, Record::own, &scope);
        rt::Delivery call;
        if (taken) {
            call = take();
        } else {
            rt::sleep(rt::milliseconds(5));
        }
        launcher_.destroy(scope);
        if (taken) {
            ends(abi::Status::dead, abi::Lend::consumed, false, 0);
            replies(call, {}, abi::Reply::discarded, 0);
        } else {
            ends(abi::Status::dead, abi::Lend::returned, false, kMark);
        }
        nothing_waits();
    }

    // A thread of the server takes it and ends; the process goes on.
    void server_thread_ends() {
        rt::Stack stack = launcher_.must(rt::Stack::make());
        static_cast<void>(launcher_.must(rt::start_thread<take_and_end>(stack, endpoint_.index())));
        rt::sleep(rt::milliseconds(2));
        start();
        ends(abi::Status::dead, abi::Lend::returned, false, kServerMark);
        stack.forget();
    }

    void handles_do_not_fit() {
        start(0, Record::none);
        const rt::Delivery call = take();
        replies(call, {endpoint_.index()}, abi::Reply::delivered, 0);
        ends(abi::Status::out_of_memory, abi::Lend::returned, true, kMark);
    }

    void record_is_gone() {
        start(0, Record::unmapped);
        const rt::Delivery call = take();
        rt::sleep(rt::milliseconds(20));
        replies(call, {endpoint_.index()}, abi::Reply::discarded, 0);
        ends(abi::Status::invalid_argument, abi::Lend::returned, false, kMark);
    }

    void caller_ends() {
        start();
        const rt::Delivery call = take();
        launcher_.destroy(budget_);
        launcher_.expect(pages(call.address)[8] == kMark);
        replies(call, {}, abi::Reply::discarded, 0);
        nothing_waits();
    }

  private:
    static void take_and_end(rt::Env& env) {
        rt::Endpoint endpoint{static_cast<u32>(env.argument())};
        rt::Result<rt::Delivery> call = rt::receive(env.records(), endpoint, 0);
        if (call.ok()) {
            pages(call.value().address)[8] = kServerMark;
        }
        endpoint.forget();
    }

    void start(u64 timeout = 0, Record record = Record::own, rt::Budget* stamp = nullptr) {
        if (budget_) {
            launcher_.destroy(budget_);
        }
        launcher_.reset_children();
        budget_ = launcher_.budget(launcher_.users(), 100, 1, 1, 64);
        const rt::Endpoint server = launcher_.must(rt::mint(endpoint_, 9, stamp));
        launcher_.start<client>(budget_, {timeout, static_cast<u64>(record)}, {server.index()});
    }

    rt::Delivery take(u32 line = __builtin_LINE()) {
        return launcher_.must(
            rt::receive(launcher_.env().records(), endpoint_, 0, rt::milliseconds(1'000)), line);
    }

    void nothing_waits(u32 line = __builtin_LINE()) {
        launcher_.expect(rt::receive(launcher_.env().records(), endpoint_, 0, {0}).status() ==
                             abi::Status::timeout,
                         line);
    }

    void replies(const rt::Delivery& call, std::initializer_list<u32> handles, abi::Reply outcome,
                 u32 mask, u32 line = __builtin_LINE()) {
        const rt::ReplyEnd end =
            launcher_.must(rt::reply(launcher_.env().records(), call.message.id, {},
                                     {handles.begin(), handles.size()}),
                           line);
        launcher_.expect(end.outcome == outcome && end.mask == mask, line);
    }

    void ends(abi::Status status, abi::Lend lend, bool replied, u64 left,
              u32 line = __builtin_LINE()) {
        const workload::ChildReport report = launcher_.next_report();
        launcher_.expect(report.values[0] == packed(status, lend, replied), line);
        launcher_.expect(report.values[1] == (lend == abi::Lend::returned ? 1 : 0), line);
        launcher_.expect(report.values[2] == left, line);
    }

    Launcher& launcher_;
    rt::Endpoint endpoint_;
    rt::Budget budget_;
};

void main(rt::Env& env) {
    Launcher launcher{env};
    Outcomes outcomes{launcher};
    const u64 before = launcher.usage(launcher.root()).pages_used;
    outcomes.answered();
    outcomes.refused();
    outcomes.timed_out_waiting();
    outcomes.timed_out_taken();
    outcomes.revoked(false);
    outcomes.revoked(true);
    outcomes.server_thread_ends();
    outcomes.handles_do_not_fit();
    outcomes.record_is_gone();
    outcomes.caller_ends();
    // Whatever was lent has gone back or is free: what stays is the stack of the thread that ended.
    launcher.expect(launcher.usage(launcher.root()).pages_used <= before + 64);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
