// Fair groups (R2): budgets of one account with unlike labels, one with another account, two without any,
// of which some queue many messages and some few. The launcher, their server, takes them one by one: no
// group waits longer than one round of the others, and a group's own messages come in order.

#include "user/rt/program.h"
#include "user/workload/launcher.h"

namespace {

using namespace ravelin;
using rt::u32;
using rt::u64;
using workload::Child;
using workload::Launcher;

constexpr u32 kGroups = 6;
constexpr u64 kSecret = 17;
constexpr u64 kOther = 23;

struct Group {
    u64 account;
    u64 label;  // 0: none
    u32 threads;
};

// The first two budgets differ in labels alone; the last is of the first one's group.
constexpr Group kGroup[kGroups] = {{1, 0, 12}, {1, kSecret, 8}, {2, kOther, 1},
                                   {0, 0, 5},  {0, 0, 3},       {1, 0, 4}};

// One message of the sender's own number.
void send_one(rt::Env& env) {
    const u64 packed = env.argument();
    rt::Endpoint server{workload::kFirstRoleHandle};
    static_cast<void>(rt::send(server, {{packed}}));
    server.forget();
}

//   0 threads
void senders(Child& child) {
    child.begin();
    for (u64 i = 0; i < child.parameter(0); ++i) {
        rt::Stack stack = child.must(rt::Stack::make());
        static_cast<void>(
            child.must(rt::start_thread<send_one>(stack, static_cast<rt::Word>(i + 1))));
        stack.forget();
        rt::sleep(rt::milliseconds(2));
    }
    rt::sleep(rt::kForever);
}

// Which group a budget's messages are in.
u32 group_of(u32 budget) {
    return budget == kGroups - 1 ? 0 : budget;
}

void main(rt::Env& env) {
    Launcher launcher{env};
    const rt::Endpoint server = launcher.must(rt::endpoint_create());
    rt::Budget budgets[kGroups];
    u32 waiting[kGroups] = {};
    u32 total = 0;
    for (u32 i = 0; i < kGroups; ++i) {
        const Group& group = kGroup[i];
        const u64 labels[] = {group.label};
        const rt::Endpoint handle = launcher.must(rt::mint(server, i + 1));
        budgets[i] = launcher.must(rt::budget_create(
            env.records(), launcher.users(),
            {.pages = rt::copy_pages() + 16 * u64{group.threads},
             .processes = 1,
             .weight = 100,
             .account = group.account,
             .labels = {labels, group.label == 0 ? std::size_t{0} : std::size_t{1}}}));
        launcher.start<senders>(budgets[i], {group.threads}, {handle.index()});
        waiting[group_of(i)] += group.threads;
        total += group.threads;
    }
    static_cast<void>(launcher.open({.warm_up = {0}, .judged = rt::milliseconds(60)}));
    rt::sleep(rt::milliseconds(80));
    u32 since[kGroups] = {};  // receives since a group was served, and how many waited then
    u32 waited[kGroups] = {};
    u64 last[kGroups] = {};
    for (u32 taken = 0; taken < total; ++taken) {
        u32 groups = 0;
        for (u32 i = 0; i < kGroups; ++i) {
            groups += waiting[i] != 0 ? 1 : 0;
        }
        const rt::Delivery message =
            launcher.must(rt::receive(env.records(), server, 0, rt::milliseconds(100)));
        const u32 budget = static_cast<u32>(message.message.badge - 1);
        launcher.expect(budget < kGroups);
        launcher.expect(message.message.account == kGroup[budget].account);
        launcher.expect(message.label_count == (kGroup[budget].label == 0 ? 0u : 1u));
        launcher.expect(kGroup[budget].label == 0 || message.labels[0] == kGroup[budget].label);
        const u32 group = group_of(budget);
        launcher.expect(waiting[group] != 0);
        waiting[group] -= 1;
        since[group] = 0;
        waited[group] = groups;
        for (u32 i = 0; i < kGroups; ++i) {
            if (i != group && waiting[i] != 0) {
                since[i] += 1;
                launcher.expect(since[i] < (waited[i] == 0 ? kGroups - 1 : waited[i]));
            }
        }
        launcher.expect(message.message.words.at[0] == last[budget] + 1);
        last[budget] = message.message.words.at[0];
    }
    launcher.expect(rt::receive(server, {0}).status() == abi::Status::timeout);
    launcher.end();
}

}  // namespace

RAVELIN_PROGRAM(main)
