// Deadlines: a budget ends at its deadline, not before and within a millisecond and what its destruction costs; a
// child's later one does not keep it; one that is past ends its budget at the next entry; one that never comes
// does not. The launcher receives the notices of those that end, and reads its clock.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::Micros;
using rt::u32;
using rt::u64;
using workload::Launcher;

constexpr u32 kBudgets = 12;
constexpr u64 kApart = 3'700;
constexpr Micros kLate{1'000};

// A destruction of this size, checked: its audits are in the launcher's clock too.
constexpr Micros kCost{2'000};

void live(rt::Env&) {
    rt::sleep(rt::kForever);
}

void on_time(Launcher& launcher) {
    rt::Records& records = launcher.env().records();
    const rt::Endpoint exits = launcher.must(rt::endpoint_create());
    const Micros first = rt::time_now() + rt::milliseconds(120);
    rt::Budget inner;
    for (u32 i = 0; i < kBudgets; ++i) {
        // From the last to the first: no order of creation helps.
        const Micros deadline{first.value + (kBudgets - 1 - i) * kApart};
        rt::Budget budget = launcher.must(rt::budget_create(records, launcher.users(),
                                                            {.pages = 2 * rt::copy_pages(),
                                                             .processes = 2,
                                                             .weight = 100,
                                                             .account = i + 1,
                                                             .deadline = deadline}));
        // The process runs in a child whose own deadline is later than its parent's, or never.
        inner = launcher.must(rt::budget_create(
            records, budget,
            {.pages = rt::copy_pages() + 8,
             .processes = 1,
             .weight = 50,
             .deadline = i % 2 == 0 ? rt::kForever : Micros{deadline.value + 50'000}}));
        launcher.must(rt::start_copy<live>(records, inner, 0, {}, &exits)).forget();
        inner.forget();
        budget.forget();
    }
    launcher.expect(rt::time_now() < first);
    for (u32 i = 0; i < kBudgets; ++i) {
        const Micros deadline{first.value + i * kApart};
        const rt::Message notice = launcher.must(rt::receive(exits, rt::milliseconds(200)));
        const Micros now = rt::time_now();
        launcher.expect(notice.words.at[1] == static_cast<u64>(abi::ExitCause::killed));
        launcher.expect(now >= deadline && now <= deadline + kLate + kCost);
    }
    rt::sleep(rt::milliseconds(60));
    launcher.expect(rt::receive(exits, {0}).status() == abi::Status::timeout);
}

void past_and_never(Launcher& launcher) {
    rt::Records& records = launcher.env().records();
    const u64 before = launcher.usage(launcher.users()).pages_used;
    for (u64 deadline : {u64{0}, u64{1}, rt::time_now().value}) {
        rt::Result<rt::Budget> past =
            rt::budget_create(records, launcher.users(), {.pages = 3, .deadline = {deadline}});
        launcher.expect(past.ok());
        launcher.expect(rt::budget_usage(records, past.value()).status() ==
                        abi::Status::bad_handle);
        past.value().forget();
    }
    launcher.expect(launcher.usage(launcher.users()).pages_used == before);
    rt::Budget never = launcher.must(rt::budget_create(
        records, launcher.users(), {.pages = 3, .deadline = {rt::kForever.value - 1}}));
    rt::sleep(rt::milliseconds(20));
    launcher.expect(launcher.usage(never).page_limit == 3);
    launcher.destroy(never);
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const abi::BudgetUsage before = launcher.usage(launcher.users());
    on_time(launcher);
    past_and_never(launcher);
    const abi::BudgetUsage after = launcher.usage(launcher.users());
    launcher.expect(after.pages_used == before.pages_used &&
                    after.processes_used == before.processes_used &&
                    after.weight_carved == before.weight_carved);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
