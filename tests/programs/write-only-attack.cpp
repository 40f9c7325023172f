// Rights of writing alone do not exist: they read too, by every call that sets rights, so no page can hold what its
// process cannot read, and records may lie in it. Rights of execution alone are not read by the kernel either.
// The launcher makes the calls; how children end tells what their pages allow.

#include "user/rt/program.h"
#include "user/rt/trap.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Launcher;

constexpr u32 kData = abi::kRead | abi::kWrite;
constexpr Word kPlace = 0x3000'0000;
constexpr Word kMoved = 0x3100'0000;
constexpr Word kValue = 41;

[[noreturn]] void read_back(Word page) {
    volatile u32* place = rt::user_object<volatile u32>(page);
    *place = static_cast<u32>(kValue);
    rt::process_exit(*place + 1);
}

void from_anon(rt::Env&) {
    read_back(rt::map_anon(rt::kPageSize, abi::kWrite).value());
}

void from_fixed(rt::Env&) {
    static_cast<void>(rt::map_fixed(kPlace, rt::kPageSize, abi::kWrite));
    read_back(kPlace);
}

void from_flags(rt::Env&) {
    const Word page = rt::map_anon(rt::kPageSize, abi::kRead).value();
    static_cast<void>(rt::set_flags(page, rt::kPageSize, abi::kWrite));
    read_back(page);
}

// The launcher moved this page in.
void from_parent(rt::Env&) {
    read_back(kMoved);
}

// Which a page that is only read does not do.
void from_constant(rt::Env&) {
    read_back(rt::map_anon(rt::kPageSize, abi::kRead).value());
}

template <void (*Main)(rt::Env&)>
rt::Message end_of(Launcher& launcher, const rt::Budget& budget, const rt::Endpoint& exits) {
    rt::Records& records = launcher.env().records();
    const rt::Process process = launcher.must(rt::process_create(budget, &exits));
    const Word stack = launcher.must(rt::load_copy(process));
    launcher.must(rt::process_map(process, launcher.page(), kMoved, rt::kPageSize, abi::kWrite));
    launcher.must(rt::process_start(records, process, rt::entry<Main>(), stack, 0, {}));
    const rt::Message end = launcher.must(rt::receive(exits, rt::milliseconds(200)));
    launcher.expect(end.kind == abi::Received::exit);
    return end;
}

bool read_what_it_wrote(const rt::Message& end) {
    return end.words.at[1] == static_cast<u64>(abi::ExitCause::exited) &&
           end.words.at[2] == kValue + 1;
}

// Reads a budget's use into a record in a page with these rights.
abi::Status use_into(Launcher& launcher, u32 rights) {
    const Word page = launcher.page();
    launcher.must(rt::set_flags(page, rt::kPageSize, rights));
    rt::Registers registers;
    registers.at[0] = abi::kCallBase + static_cast<Word>(abi::Call::budget_usage);
    registers.at[1] = launcher.users().index();
    registers.at[2] = page;
    rt::trap(registers);
    launcher.must(rt::unmap(page, rt::kPageSize));
    return static_cast<abi::Status>(registers.at[0]);
}

// Makes a budget from a record in a page with these rights.
abi::Status make_from(Launcher& launcher, u32 rights) {
    const Word page = launcher.page();
    rt::user_object<abi::BudgetSpec>(page)->deadline = abi::kForever;
    launcher.must(rt::set_flags(page, rt::kPageSize, rights));
    rt::Registers registers;
    registers.at[0] = abi::kCallBase + static_cast<Word>(abi::Call::budget_create);
    registers.at[1] = launcher.users().index();
    registers.at[2] = page;
    rt::trap(registers);
    const auto status = static_cast<abi::Status>(registers.at[0]);
    if (status == abi::Status::ok) {
        rt::Budget made{static_cast<u32>(registers.at[1])};
        launcher.destroy(made);
    }
    launcher.must(rt::unmap(page, rt::kPageSize));
    return status;
}

void main(rt::Env& env) {
    Launcher launcher{env};
    launcher.expect(use_into(launcher, abi::kWrite) == abi::Status::ok);
    launcher.expect(use_into(launcher, kData) == abi::Status::ok);
    launcher.expect(use_into(launcher, abi::kRead) == abi::Status::invalid_argument);
    launcher.expect(use_into(launcher, abi::kRead | abi::kExecute) ==
                    abi::Status::invalid_argument);
    launcher.expect(use_into(launcher, abi::kExecute) == abi::Status::invalid_argument);
    launcher.expect(make_from(launcher, abi::kWrite) == abi::Status::ok);
    launcher.expect(make_from(launcher, abi::kRead) == abi::Status::ok);
    launcher.expect(make_from(launcher, abi::kExecute) == abi::Status::invalid_argument);
    const rt::Endpoint exits = launcher.must(rt::endpoint_create());
    const rt::Budget budget = launcher.budget(launcher.users(), 100, 1, 1, 8);
    launcher.expect(read_what_it_wrote(end_of<from_anon>(launcher, budget, exits)));
    launcher.expect(read_what_it_wrote(end_of<from_fixed>(launcher, budget, exits)));
    launcher.expect(read_what_it_wrote(end_of<from_flags>(launcher, budget, exits)));
    launcher.expect(read_what_it_wrote(end_of<from_parent>(launcher, budget, exits)));
    const rt::Message constant = end_of<from_constant>(launcher, budget, exits);
    launcher.expect(constant.words.at[1] == static_cast<u64>(abi::ExitCause::faulted) &&
                    constant.words.at[2] == static_cast<u64>(abi::FaultCode::store));
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
