// Calls that make processes, with what no honest program gives them: pages that are not there, lent, or the wrong rights,
// places that are taken, the kernel's addresses, starts without a program, twice, of oneself, with handles that are
// none. All are refused as the rules say and change nothing in the books; then the same process starts and runs.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using rt::Word;
using workload::Launcher;

constexpr u32 kRights = abi::kRead | abi::kWrite;
constexpr Word kTo = 0x3000'0000;
constexpr Word kTop = Word{1} << (sizeof(Word) * 8 - 1);
constexpr Word kBadAddresses[] = {0,        1,           rt::kPageSize + 8, kTop, kTop - 0x1000 + 1,
                                  ~Word{0}, ~Word{4'095}};
constexpr Word kBadLengths[] = {0, 1, rt::kPageSize - 1, kTop, ~Word{0}, ~Word{4'095}};
constexpr u32 kBadRights[] = {0, 6, 7, 8, 0x8000'0000, ~u32{0}};

void live(rt::Env& env) {
    rt::process_exit(env.argument());
}

void refused_maps(Launcher& launcher, const rt::Process& process, Word page) {
    const auto refused = [&](Word from, Word to, Word length, u32 rights) {
        launcher.expect(rt::process_map(process, from, to, length, rights).status() ==
                        abi::Status::invalid_argument);
    };
    for (Word address : kBadAddresses) {
        refused(address, kTo, rt::kPageSize, kRights);
        refused(page, address, rt::kPageSize, kRights);
    }
    for (Word length : kBadLengths) {
        refused(page, kTo, length, kRights);
    }
    for (u32 rights : kBadRights) {
        refused(page, kTo, rt::kPageSize, rights);
    }
    // The second of two pages is not there, here and then there.
    refused(page, kTo, 2 * rt::kPageSize, kRights);
    const Word more = launcher.page();
    launcher.must(rt::process_map(process, more, kTo + rt::kPageSize, rt::kPageSize, kRights));
    refused(more, kTo, rt::kPageSize, kRights);
    const Word two = launcher.must(rt::map_anon(2 * rt::kPageSize, kRights));
    refused(two, kTo, 2 * rt::kPageSize, kRights);
    refused(page, kTo + rt::kPageSize, rt::kPageSize, kRights);
    launcher.must(rt::unmap(two, 2 * rt::kPageSize));
    // None of it moved the page.
    launcher.expect(*rt::user_object<volatile u64>(page) == 77);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    rt::Records& records = env.records();
    const rt::Endpoint exits = launcher.must(rt::endpoint_create());
    const rt::Budget budget = launcher.budget(launcher.users(), 100, 1, 1, 8);
    const abi::BudgetUsage empty = launcher.usage(budget);
    const Word page = launcher.page();
    *rt::user_object<volatile u64>(page) = 77;
    const rt::Process process = launcher.must(rt::process_create(budget, &exits));
    refused_maps(launcher, process, page);
    // Handles that are none.
    const u32 none[] = {4'000};
    const auto start = [&](std::span<const u32> handles) {
        return rt::process_start(records, process, rt::entry<live>(), 0, 0, handles).status();
    };
    launcher.expect(start(none) == abi::Status::bad_handle);
    const abi::BudgetUsage before = launcher.usage(budget);
    launcher.expect(before.processes_used == 1);
    const Word stack = launcher.must(rt::load_copy(process));
    launcher.must(rt::process_start(records, process, rt::entry<live>(), stack, 5, {}));
    // Once started it is out of its maker's reach.
    launcher.expect(start({}) != abi::Status::ok);
    launcher.expect(!rt::process_map(process, page, kTo + 0x10'0000, rt::kPageSize, kRights).ok());
    const rt::Message end = launcher.must(rt::receive(exits, rt::milliseconds(200)));
    launcher.expect(end.words.at[1] == static_cast<u64>(abi::ExitCause::exited) &&
                    end.words.at[2] == 5);
    launcher.expect(start({}) != abi::Status::ok);
    launcher.expect(*rt::user_object<volatile u64>(page) == 77);
    const abi::BudgetUsage after = launcher.usage(budget);
    launcher.expect(after.pages_used == empty.pages_used && after.processes_used == 0);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
