// No page is ever writable and executable, by any call; what was data is not executed, and what is
// read-only is not written (I9). The launcher asks for such mappings itself, of its own pages and of a child's;
// then it starts processes that try to use a page against its rights, and receives how each ended.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Launcher;

constexpr u32 kData = abi::kRead | abi::kWrite;
constexpr u32 kBoth[] = {abi::kWrite | abi::kExecute, abi::kRead | abi::kWrite | abi::kExecute};
constexpr Word kPlace = 0x3000'0000;
constexpr u64 kPages = 32;

Word own_page(u32 rights) {
    rt::Result<Word> page = rt::map_anon(rt::kPageSize, kData);
    if (!page.ok() || !rt::set_flags(page.value(), rt::kPageSize, rights).ok()) {
        rt::process_exit(1);
    }
    return page.value();
}

// Starts a thread in a page with these rights, which is no code that this process can run.
[[noreturn]] void execute(Word page) {
    rt::Result<rt::Stack> stack = rt::Stack::make();
    if (!stack.ok() || !rt::thread_create(page, stack.value().top(), 0).ok()) {
        rt::process_exit(2);
    }
    rt::sleep(rt::milliseconds(20));
    rt::process_exit(3);
}

void execute_data(rt::Env&) {
    execute(own_page(kData));
}

void execute_constant(rt::Env&) {
    execute(own_page(abi::kRead));
}

[[noreturn]] void write(Word page) {
    *rt::user_object<volatile u32>(page) = 1;
    rt::process_exit(3);
}

void write_constant(rt::Env&) {
    write(own_page(abi::kRead));
}

void write_code(rt::Env&) {
    write(own_page(abi::kRead | abi::kExecute));
}

// A page that was code is data again: it can be written, and executed no more.
void execute_again(rt::Env&) {
    const Word page = own_page(abi::kRead | abi::kExecute);
    if (!rt::set_flags(page, rt::kPageSize, kData).ok()) {
        rt::process_exit(1);
    }
    *rt::user_object<volatile u32>(page) = 1;
    execute(page);
}

void refusals(Launcher& launcher, const rt::Budget& budget) {
    const Word page = launcher.page();
    const rt::Process child = launcher.must(rt::process_create(budget));
    const auto refused = [&](abi::Status status) {
        launcher.expect(status == abi::Status::invalid_argument);
    };
    for (u32 rights : kBoth) {
        refused(rt::map_anon(rt::kPageSize, rights).status());
        refused(rt::map_fixed(kPlace, rt::kPageSize, rights).status());
        refused(rt::set_flags(page, rt::kPageSize, rights).status());
        refused(rt::process_map(child, page, kPlace, rt::kPageSize, rights).status());
    }
    // Nothing of it happened: the page is still there, and the places are free.
    *rt::user_object<volatile u32>(page) = 1;
    launcher.must(rt::map_fixed(kPlace, rt::kPageSize, kData));
    launcher.must(rt::process_map(child, page, kPlace, rt::kPageSize, abi::kRead | abi::kExecute));
    refused(rt::set_flags(page, rt::kPageSize, abi::kRead).status());
}

template <void (*Main)(rt::Env&)>
void ends_by(Launcher& launcher, const rt::Budget& budget, const rt::Endpoint& exits,
             abi::FaultCode code) {
    rt::Process process =
        launcher.must(rt::start_copy<Main>(launcher.env().records(), budget, 0, {}, &exits));
    const rt::Message end = launcher.must(rt::receive(exits, rt::milliseconds(500)));
    launcher.expect(end.kind == abi::Received::exit);
    launcher.expect(end.words.at[1] == static_cast<u64>(abi::ExitCause::faulted));
    launcher.expect(end.words.at[2] == static_cast<u64>(code));
    process.forget();
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint exits = launcher.must(rt::endpoint_create());
    const rt::Budget budget = launcher.budget(launcher.users(), 100, 1, 2, kPages);
    refusals(launcher, budget);
    ends_by<execute_data>(launcher, budget, exits, abi::FaultCode::fetch);
    ends_by<execute_constant>(launcher, budget, exits, abi::FaultCode::fetch);
    ends_by<write_constant>(launcher, budget, exits, abi::FaultCode::store);
    ends_by<write_code>(launcher, budget, exits, abi::FaultCode::store);
    ends_by<execute_again>(launcher, budget, exits, abi::FaultCode::fetch);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
