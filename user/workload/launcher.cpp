// See launcher.h.

#include "user/workload/launcher.h"

#include "user/rt/trap.h"

namespace ravelin::workload {

namespace {

// How long the clock is watched to learn its rate: a microsecond of the kernel's rounding in it is 1 of
// 50,000.
constexpr Micros kRateLength = rt::milliseconds(50);

// From the first message that opens a window to its start: time for every child to have had its own.
constexpr Micros kLead = rt::milliseconds(20);

constexpr Micros kReportTimeout = rt::milliseconds(10'000);

// Handles that a child starts with beside its role's.
constexpr u32 kOwnHandles = kFirstRoleHandle - kMailboxHandle;
constexpr u32 kMaxRoleHandles = 8;

}  // namespace

Launcher::Launcher(rt::Env& env)
    : env_(env),
      root_(env.start_handle<rt::Budget>(abi::kBootRoot)),
      system_(env.start_handle<rt::Budget>(abi::kBootSystem)),
      users_(env.start_handle<rt::Budget>(abi::kBootUsers)),
      reset_(env.start_handle<rt::ResetDevice>(abi::kBootReset)) {
    reports_ = must(rt::endpoint_create());
    measure_rate();
}

void Launcher::measure_rate() {
    const Micros start = rt::time_now();
    const Ticks start_ticks = rt::clock();
    rt::sleep(kRateLength);
    const Micros end = rt::time_now();
    const Ticks end_ticks = rt::clock();
    rate_ = {.ticks = (end_ticks - start_ticks).value, .micros = (end - start).value};
    if (rate_.ticks == 0 || rate_.micros == 0) {
        fail();
    }
}

rt::Budget Launcher::budget(const rt::Budget& parent, u64 weight, u64 account, u64 processes,
                            u64 more_pages) {
    const u64 pages = processes * rt::copy_pages() + more_pages;
    return must(rt::budget_create(
        env_.records(), parent,
        {.pages = pages, .processes = processes, .weight = weight, .account = account}));
}

rt::Budget Launcher::scope(const rt::Budget& parent) {
    return must(rt::budget_create(env_.records(), parent, {}));
}

u32 Launcher::device(abi::DeviceKind kind, abi::DeviceModel model) {
    for (u32 index = abi::kBootDevices;; ++index) {
        const rt::DeviceInfo info = must(rt::device_info(index));
        if (info.kind == kind && info.model == model) {
            return index;
        }
    }
}

u32 Launcher::start_at(Word entry, const rt::Budget& budget, std::initializer_list<u64> parameters,
                       std::initializer_list<u32> role_handles) {
    if (children_ == kMaxChildren || parameters.size() > kParameters ||
        role_handles.size() > kMaxRoleHandles) {
        fail();
    }
    const u32 child = children_++;
    rt::Endpoint& mailbox = mailboxes_[child];
    mailbox = must(rt::endpoint_create());
    const rt::Endpoint report = must(rt::mint(reports_, u64{child} + 1));
    u32 handles[kOwnHandles + kMaxRoleHandles] = {mailbox.index(), report.index()};
    u32 count = kOwnHandles;
    for (u32 handle : role_handles) {
        handles[count++] = handle;
    }
    const rt::Process process = must(rt::process_create(budget));
    const Word stack = must(rt::load_copy(process));
    must(rt::process_start(env_.records(), process, entry, stack, 0, {handles, count}));

    u64 words[kParameters] = {};
    u32 place = 0;
    for (u64 parameter : parameters) {
        words[place++] = parameter;
    }
    for (u32 sent = 0; sent < kParameters; sent += abi::kMessageWords) {
        const rt::Words message{{words[sent], words[sent + 1], words[sent + 2], words[sent + 3]}};
        must(rt::send(mailbox, message, kReportTimeout));
    }
    return child;
}

Window Launcher::open(const Times& times) {
    const Ticks start = rt::clock() + ticks(kLead);
    const Window window{.start = start, .end = start + ticks(times.total())};
    const rt::Words message{{window.start.value, window.end.value, rate_.ticks, rate_.micros}};
    for (u32 child = 0; child < children_; ++child) {
        must(rt::send(mailboxes_[child], message, kReportTimeout));
    }
    return window;
}

void Launcher::judge(const Window& window, const Times& times) {
    const Ticks start = window.start + ticks(times.warm_up);
    sleep_until(start);
    mark(kWindowStart);
    sleep_until(start + ticks(times.judged));
    mark(kWindowEnd);
}

Window Launcher::run(const Times& times) {
    const Window window = open(times);
    judge(window, times);
    return window;
}

void Launcher::sleep_until(Ticks point) const {
    const Ticks now = rt::clock();
    if (now < point) {
        rt::sleep(rate_.micros_of(point - now));
    }
}

void Launcher::mark(u64 account) {
    rt::Budget empty = must(rt::budget_create(env_.records(), users_, {.account = account}));
    destroy(empty);
}

ChildReport Launcher::next_report() {
    const rt::Message message = must(rt::receive(reports_, kReportTimeout));
    if (message.words.at[0] != static_cast<u64>(Report::value)) {
        fail(static_cast<u32>(message.words.at[1]));
    }
    return {.child = static_cast<u32>(message.badge - 1),
            .values = {message.words.at[1], message.words.at[2], message.words.at[3]}};
}

void Launcher::collect() {
    for (u32 left = children_; left > 0; --left) {
        static_cast<void>(next_report());
    }
}

void Launcher::reset_children() {
    for (u32 child = 0; child < children_; ++child) {
        mailboxes_[child].close();
    }
    children_ = 0;
}

void Launcher::reset(abi::Reset kind) {
    for (;;) {
        static_cast<void>(rt::system_reset(reset_, kind));
    }
}

void Launcher::end() {
    reset(abi::Reset::off);
}

void Launcher::fail(u32 line) {
    rt::Result<rt::Budget> empty =
        rt::budget_create(env_.records(), users_, {.account = kFailure + line});
    if (empty.ok()) {
        static_cast<void>(rt::budget_destroy(empty.value()));
    }
    reset(abi::Reset::off_failed);
}

}  // namespace ravelin::workload
