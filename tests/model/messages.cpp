// Messages between threads: sending, turns, taking, replies, notices and how waits end; see calls.h.
#include <algorithm>

#include "core/abi/records.h"
#include "tests/model/calls.h"

namespace ravelin::model::calls {

using abi::Lend;
using abi::Received;
using abi::Status;

namespace {

constexpr u64 kBodyBytes = sizeof(abi::Body);
constexpr u64 kArrivalBytes = sizeof(abi::Arrival);
constexpr u32 kBodyHandles = 1;
constexpr u32 kArrivalLabels = 1, kArrivalHandleCount = 17, kArrivalHandles = 18,
              kArrivalAddress = 22, kArrivalPages = 23;

// Registers of the calls that carry something, and of a receive.
constexpr unsigned kTimeout = 2, kRecord = 4, kAddress = 5, kPages = 6, kMostPages = 5;
constexpr unsigned kWordStep = 2;

}  // namespace

/// What taking a message does to its receiver.
struct World::Landing {
    u32 page = 0;
    u64 pages = 0;
};

// ---- Who may send ----

bool World::flows(const Budget& from, const Budget& to) const {
    return from.system || to.system || subset(from.labels, to.labels);
}

bool World::may_send(const Budget& from, const Budget& to, bool call) const {
    const bool back = !call || is(Mutation::kR1NoWayBack) || flows(to, from);
    return flows(from, to) && back;
}

bool World::tellable(const Process& ended, const Budget& to) const {
    return ended.trusted || to.system || subset(ended.labels, to.labels) ||
           is(Mutation::kR1NoticeUnchecked);
}

// ---- Turns ----

Group World::group_of(const Process& sender) const {
    const Budget& budget = budget_of(sender);
    if (is(Mutation::kR2OneQueue)) return {};
    if (budget.account == 0)
        return {.account = 0,
                .labels = {},
                .budget = is(Mutation::kR2UnnamedShare) ? 0 : sender.in,
                .members = {}};
    return {.account = budget.account,
            .labels = is(Mutation::kR2LabelsIgnored) ? Labels{} : budget.labels,
            .budget = 0,
            .members = {}};
}

bool World::sends(const Group& group) const {
    return std::ranges::any_of(group.members,
                               [&](Who who) { return thread(who)->waits == Waits::send; });
}

bool World::enqueue(Endpoint& endpoint, Who who) {
    Group key = group_of(processes.at(who.pid));
    auto group =
        std::ranges::find_if(endpoint.groups, [&](const Group& other) { return other.same(key); });
    if (group == endpoint.groups.end()) {
        endpoint.groups.push_back(key);
        group = std::prev(endpoint.groups.end());
    }
    if (group->members.size() == abi::kWaitCap && !is(Mutation::kR2NoCap)) return false;
    if (thread(who)->waits == Waits::send && !sends(*group))
        group->send_turn = ++endpoint.send_turns;
    group->members.push_back(who);
    Thread& sender = *thread(who);
    sender.passed = 0;
    sender.most_groups = static_cast<u32>(endpoint.groups.size());
    return true;
}

void World::dequeue(Endpoint& endpoint, Who who) {
    for (Group& group : endpoint.groups)
        std::erase(group.members, who);
    std::erase_if(endpoint.groups, [](const Group& group) { return group.members.empty(); });
}

// The next message by R2; a receiver with all its calls open takes sends alone, in the turns that the
// groups with a send have among themselves.
Who World::next(const Endpoint& endpoint, bool sends_only) const {
    const Group* turn = nullptr;
    for (const Group& group : endpoint.groups) {
        if (!sends_only) return group.members.front();
        if (sends(group) && (turn == nullptr || group.send_turn < turn->send_turn)) turn = &group;
    }
    if (turn == nullptr) return {};
    return *std::ranges::find_if(turn->members,
                                 [&](Who who) { return thread(who)->waits == Waits::send; });
}

// The message's group has had its turn.
void World::serve_group(Endpoint& endpoint, Who who, bool sends_only) {
    const auto mine = std::ranges::find_if(endpoint.groups, [&](const Group& group) {
        return std::ranges::count(group.members, who) != 0;
    });
    // I11: with k groups waiting and the receiver under its limit, each group's oldest message is taken
    // within k receives.
    const u32 waiting = static_cast<u32>(endpoint.groups.size());
    for (const Group& group : endpoint.groups) {
        Thread& oldest = *thread(group.members.front());
        oldest.most_groups = std::max(oldest.most_groups, waiting);
        if (sends_only) {
            if (group.same(*mine)) oldest.passed = 0;  // its turn went to a send behind it
            continue;
        }
        if (!group.same(*mine)) oldest.passed += 1;
        hold(oldest.passed < oldest.most_groups, "I11: a group's oldest message was passed over");
    }
    if (!is(Mutation::kR2NoTurns)) mine->send_turn = ++endpoint.send_turns;
    if (!is(Mutation::kR2NoTurns)) std::rotate(mine, std::next(mine), endpoint.groups.end());
    dequeue(endpoint, who);
}

// ---- How waits end ----

void World::end_wait(Who who) {
    Thread& waiting = *thread(who);
    switch (waiting.waits) {
    case Waits::receive: std::erase(endpoints.at(waiting.at).receivers, who); break;
    case Waits::send:
    case Waits::call: dequeue(endpoints.at(waiting.at), who); break;
    case Waits::interrupt: std::erase(devices.at(waiting.at).waiters, who); break;
    case Waits::nothing:
    case Waits::sleep:
    case Waits::reply: break;
    }
    waiting.waits = Waits::nothing;
    waiting.until = kNever;
}

// What a sender's message carried is its own again.
Lend World::unload(Process& process, Thread& sender) {
    if (!sender.carries) return Lend::none;
    sender.carries = false;
    sender.handles.clear();
    if (sender.run.count == 0) return Lend::none;
    const Range range = range_of(sender.run);
    for (u32 i = 0; i < range.count; ++i)
        process.pages.at(range.page + i).hold = Hold::own;
    return Lend::returned;
}

void World::fail(Who who, Status status, Lend lend) {
    end_wait(who);
    Thread& sender = *thread(who);
    const Lend unsent = unload(processes.at(who.pid), sender);
    finish(sender, status, static_cast<u64>(unsent == Lend::none ? lend : unsent));
}

void World::end_receive(Who who, Status status, u64 kind) {
    end_wait(who);
    Thread& receiver = *thread(who);
    finish(receiver, status, kind, 0, receiver.registers[3]);
}

// The open call of a caller that waits for its reply: its server and id.
std::pair<u32, u64> World::open_of(Who caller) const {
    for (const auto& [pid, process] : processes) {
        for (const auto& [id, call] : process.open) {
            if (call.caller == caller) return {pid, id};
        }
    }
    return {};
}

void World::report(Who who, u64 id) {
    Thread& holder = *thread(who);
    finish(holder, Status::ok, static_cast<u64>(Received::abandoned), 0, holder.registers[3]);
    define(holder, abi::kMessageRegister, id);
    holder.current = 0;
    Process& process = processes.at(who.pid);
    process.open.at(id).told += 1;
    if (is(Mutation::kR3AbandonedCloses)) close_open(who.pid, id);
}

// R3: the caller of a taken call is gone; the lend becomes the server's, the holder is told once.
Lend World::abandon(u32 server, u64 id, bool revoked) {
    OpenCall& call = processes.at(server).open.at(id);
    Process& lender = processes.at(call.caller.pid);
    Lend lend = Lend::none;
    if (call.lent.count != 0) {
        lend = Lend::consumed;
        if (is(Mutation::kR3LendComesBack) && !revoked) {
            const Range range = range_of(call.lent);
            for (u32 i = 0; i < range.count; ++i)
                lender.pages.at(range.page + i).hold = Hold::own;
            lend = Lend::returned;
        } else {
            erase(lender, range_of(call.lent));
        }
    }
    call.caller = {};
    if (call.endpoint == 0 || is(Mutation::kR3NotReported)) return lend;
    Thread& holder = *thread(call.holder);
    if (holder.waits == Waits::receive && holder.at == call.endpoint) {
        end_wait(call.holder);
        report(call.holder, id);
    } else {
        holder.reports.push_back(id);
        if (is(Mutation::kR3ReportedTwice)) holder.reports.push_back(id);
    }
    return lend;
}

// The call is over for its server; a lend goes back, or is freed if its caller is gone. `keep`: of a
// mutation, it is freed anyhow.
void World::close_open(u32 server, u64 id, bool keep) {
    Process& process = processes.at(server);
    const OpenCall call = process.open.at(id);
    if (call.lent.count != 0) {
        const Range borrowed{static_cast<u32>(call.borrowed / kPageBytes), call.lent.count};
        Process* lender = call.caller.pid == 0 ? nullptr : &processes.at(call.caller.pid);
        for (u32 i = 0; i < borrowed.count; ++i) {
            const auto page = process.pages.find(borrowed.page + i);
            if (lender != nullptr && !keep) {
                lender->pages.at(range_of(call.lent).page + i).hold = Hold::own;
            } else if (page != process.pages.end()) {
                frames.erase(page->second.frame);
            }
        }
        if (lender != nullptr && keep) erase(*lender, range_of(call.lent));
        erase(process, borrowed);
    }
    for (auto& [tid, member] : process.threads) {
        if (member.current == id) member.current = 0;
        std::erase(member.reports, id);
    }
    process.open.erase(id);
}

// ---- Sending ----

u64 World::until_of(const Thread& thread) const {
    const u64 length = ticks_of(thread.registers[kTimeout]);
    return length == kNever ? kNever : now + length;
}

Status World::read_handles(const Process& process, u64 record, bool write,
                           std::vector<Handle>& handles) const {
    if (record == 0) return Status::ok;
    if (!record_good(process, record, kBodyBytes, abi::kRead) ||
        (write && !record_good(process, record, kBodyBytes, abi::kWrite)))
        return Status::invalid_argument;
    const u64 count = read(process, record);
    if (count > abi::kMaxMessageHandles) return Status::too_large;
    for (u64 i = 0; i < count; ++i) {
        const u64 named = read(process, record + 8 * (kBodyHandles + i));
        if (named >= abi::kMaxHandles || !process.handles.contains(static_cast<u32>(named)))
            return Status::bad_handle;
        handles.push_back(process.handles.at(static_cast<u32>(named)));
    }
    return Status::ok;
}

void World::send(Who who, bool call) {
    Process& process = processes.at(who.pid);
    Thread& sender = *thread(who);
    const Registers r = sender.registers;
    Handle through;
    Status status = find(process, r[1], Kind::endpoint, through);
    if (status != Status::ok) return finish(sender, status);
    Endpoint& endpoint = endpoints.at(through.object);
    if (r[kPages] > (call ? abi::kMaxLendPages : layout.message_pages))
        return finish(sender, Status::too_large);
    const Run run{r[kAddress], static_cast<u32>(r[kPages])};
    if ((run.address == 0) != (run.count == 0)) return finish(sender, Status::invalid_argument);
    std::vector<Handle> handles;
    status = read_handles(process, r[kRecord], call, handles);
    if (status != Status::ok) return finish(sender, status);
    if (run.count != 0) {
        Range range;
        if (!to_range(run.address, run.count * kPageBytes, range))
            return finish(sender, Status::invalid_argument);
        for (u32 i = 0; i < range.count; ++i) {
            const auto page = process.pages.find(range.page + i);
            if (page == process.pages.end() || page->second.hold != Hold::own ||
                page->second.device || (page->second.rights & abi::kWrite) == 0)
                return finish(sender, Status::invalid_argument);
        }
    }
    if (!may_send(budget_of(process), budgets.at(endpoint.owner), call) &&
        !is(Mutation::kR1SendUnchecked))
        return finish(sender, Status::label_denied);

    sender.at = through.object;
    sender.through = through.stamp;
    sender.badge = through.badge;
    sender.waits = call ? Waits::call : Waits::send;
    sender.carries = !handles.empty() || run.count != 0;
    sender.handles = handles;
    sender.run = run;
    for (u32 i = 0; i < run.count; ++i)
        process.pages.at(range_of(run).page + i).hold = Hold::lent;
    const auto refuse = [&](Status why) {
        sender.waits = Waits::nothing;
        const Lend lend = unload(process, sender);
        finish(sender, why, static_cast<u64>(lend));
    };
    const std::vector<Who> receivers = endpoint.receivers;
    for (const Who receiver : receivers) {
        Landing landing;
        switch (can_take(receiver, who, landing)) {
        case Take::full: continue;
        case Take::bad_record: end_receive(receiver, Status::invalid_argument); continue;
        case Take::denied: return refuse(Status::label_denied);
        case Take::refused: return refuse(Status::refused);
        case Take::can: break;
        }
        end_wait(receiver);
        hand_over(receiver, who, landing);
        if (call) {
            sender.until = until_of(sender);
        } else {
            sender.waits = Waits::nothing;
            finish(sender, Status::ok);
        }
        return;
    }
    if (r[kTimeout] == 0) return refuse(Status::timeout);
    if (!enqueue(endpoint, who)) return refuse(Status::busy);
    sender.until = until_of(sender);
}

// R4, for one receiver and one message.
World::Take World::can_take(Who to, Who from, Landing& landing) const {
    const Process& process = processes.at(to.pid);
    const Process& sending = processes.at(from.pid);
    const Thread& receiver = *thread(to);
    const Thread& sender = *thread(from);
    const bool call = sender.waits == Waits::call;
    if (call && full(process)) return Take::full;
    if (!may_send(budget_of(sending), budget_of(process), call) && !is(Mutation::kR1TakeUnchecked))
        return Take::denied;
    landing = {};
    const u64 record = receiver.registers[kRecord];
    if (sender.carries || !budget_of(sending).labels.empty()) {
        if (record != 0 && !record_good(process, record, kArrivalBytes, abi::kWrite))
            return Take::bad_record;
        if (sender.carries && record == 0) return Take::refused;
    }
    if (sender.carries) {
        u32 live = 0;
        for (const Handle& handle : sender.handles)
            live += handle.object != 0;
        if (process.handles.size() + live >= abi::kMaxHandles) return Take::refused;
        landing.pages = new_handle_pages(process, live);
        const u32 count = sender.run.count;
        if (count != 0) {
            if (!call && count > receiver.registers[kMostPages] && !is(Mutation::kR4MostIgnored))
                return Take::refused;
            if (!find_room(process, layout.message_first, layout.message_pages,
                           process.message_next, count, landing.page))
                return Take::refused;
            landing.pages += new_tables(process, {landing.page, count});
            const bool paid = call ? is(Mutation::kR6LendChargedOnce) : process.in == sending.in;
            if (!paid) landing.pages += count;
        }
    }
    if (call && !is(Mutation::kR4aOpenCallFree)) landing.pages += 1;
    return fits(process.in, landing.pages) || is(Mutation::kR4RoomUnchecked) ? Take::can
                                                                             : Take::refused;
}

// Labels alone in the receiver's record.
void World::tell(Process& process, Thread& receiver, const Labels& labels) {
    const u64 record = receiver.registers[kRecord];
    if (record == 0) return;
    for (u64 slot = 0; slot < kArrivalBytes / 8; ++slot)
        write(process, record + 8 * slot, 0);
    write(process, record, labels.size());
    u64 slot = kArrivalLabels;
    for (const u64 label : labels)
        write(process, record + 8 * slot++, label);
}

void World::hand_over(Who to, Who from, const Landing& landing) {
    Process& process = processes.at(to.pid);
    Process& sending = processes.at(from.pid);
    Thread& receiver = *thread(to);
    Thread& sender = *thread(from);
    const bool call = sender.waits == Waits::call;
    const Budget& budget = budget_of(sending);
    receiver.current = 0;
    u64 id = 0;
    if (call) {
        id = ++process.last_message;
        process.open[id] = {.caller = from,
                            .holder = to,
                            .endpoint = sender.at,
                            .stamp = sender.through,
                            .account = budget.account,
                            .labels = budget.labels,
                            .lent = {},
                            .borrowed = 0,
                            .told = 0};
        receiver.current = id;
    }
    const u64 record = receiver.registers[kRecord];
    u64 brought = budget.labels.empty() ? 0 : abi::kHasLabels;
    if (sender.carries || !budget.labels.empty()) tell(process, receiver, budget.labels);
    if (sender.carries) {
        sender.carries = false;
        const u32 count = sender.run.count;
        if (count != 0) {
            const Range lent = range_of(sender.run);
            for (u32 i = 0; i < count; ++i)
                process.pages[landing.page + i] = {sending.pages.at(lent.page + i).frame,
                                                   abi::kRead | abi::kWrite,
                                                   call ? Hold::borrowed : Hold::own, false};
            process.message_next =
                (landing.page - layout.message_first + count) % layout.message_pages;
            if (call) {
                process.open[id].lent = sender.run;
                process.open[id].borrowed = u64{landing.page} * kPageBytes;
            } else {
                erase(sending, lent);
            }
            write(process, record + 8 * kArrivalAddress, u64{landing.page} * kPageBytes);
            write(process, record + 8 * kArrivalPages, count);
            brought |= abi::kHasPages;
        }
        write(process, record + 8 * kArrivalHandleCount, sender.handles.size());
        u64 slot = kArrivalHandles;
        for (Handle handle : sender.handles) {
            u32 index = 0;
            if (is(Mutation::kR9CopyRestamped)) handle.stamp = process.in;
            if (handle.object != 0) install(process, handle, index);
            write(process, record + 8 * slot++, index);
        }
        if (!sender.handles.empty()) brought |= abi::kHasHandles;
        sender.handles.clear();
    }
    finish(receiver, Status::ok, static_cast<u64>(call ? Received::call : Received::send), brought,
           receiver.registers[3]);
    for (unsigned word = 0; word < abi::kMessageWords; ++word) {
        const unsigned place = abi::kWordRegister + kWordStep * word;
        define(receiver, place, sender.registers[place]);
    }
    define(receiver, abi::kBadgeRegister, sender.badge);
    define(receiver, abi::kAccountRegister, budget.account);
    define(receiver, abi::kMessageRegister, id);
    if (call) sender.waits = Waits::reply;
}

// ---- Receiving ----

void World::receive(Who who, u64 replied) {
    Process& process = processes.at(who.pid);
    Thread& receiver = *thread(who);
    const Registers r = receiver.registers;
    receiver.registers[3] = replied;
    const auto end = [&](Status status, u64 kind = 0) {
        finish(receiver, status, kind, 0, replied);
    };
    const bool poll = r[kTimeout] == 0;
    const auto wait = [&](Waits kind, Id at) {
        receiver.waits = kind;
        receiver.at = at;
        receiver.badge = 0;
        receiver.until = until_of(receiver);
    };
    if (r[1] == 0) {
        receiver.current = 0;
        return poll ? end(Status::timeout) : wait(Waits::sleep, 0);
    }
    Handle handle;
    const Status status = find(process, r[1], Kind::endpoint, handle);
    if (status == Status::bad_handle) return end(status);
    const bool interrupt =
        handle.kind == Kind::device && devices.at(handle.object).kind == abi::DeviceKind::interrupt;
    if (status != Status::ok && !interrupt) return end(status);
    if (r[kRecord] != 0 && !record_good(process, r[kRecord], kArrivalBytes, abi::kWrite))
        return end(Status::invalid_argument);
    if (interrupt) {
        Device& device = devices.at(handle.object);
        device.enabled = true;
        receiver.current = 0;
        if (device.fired) {
            device.fired = false;
            return end(Status::ok, static_cast<u64>(Received::interrupt));
        }
        if (poll) return end(Status::timeout);
        device.waiters.push_back(who);
        return wait(Waits::interrupt, handle.object);
    }
    if (handle.badge != 0) return end(Status::not_permitted);
    if (deliver(who, handle.object)) return;
    receiver.current = 0;
    if (poll) return end(Status::timeout);
    endpoints.at(handle.object).receivers.push_back(who);
    wait(Waits::receive, handle.object);
}

// What is due at the endpoint for the receiver: its abandoned calls, exit notices, messages.
bool World::deliver(Who who, Id at) {
    Process& process = processes.at(who.pid);
    Thread& receiver = *thread(who);
    Endpoint& endpoint = endpoints.at(at);
    const auto bad_record = [&] {
        finish(receiver, Status::invalid_argument, 0, 0, receiver.registers[3]);
        return true;
    };
    for (const u64 id : receiver.reports) {
        if (process.open.at(id).endpoint != at) continue;
        receiver.reports.erase(std::ranges::find(receiver.reports, id));
        report(who, id);
        return true;
    }
    const u64 record = receiver.registers[kRecord];
    const bool good = record == 0 || record_good(process, record, kArrivalBytes, abi::kWrite);
    while (!endpoint.notices.empty()) {
        const u32 pid = endpoint.notices.front();
        const Process& ended = processes.at(pid);
        const bool told = tellable(ended, budget_of(process));
        if (told && !good && !ended.blamed_labels.empty()) return bad_record();
        endpoint.notices.erase(endpoint.notices.begin());
        if (told) {
            hand_notice(who, pid);
            return true;
        }
        free_process(pid);
    }
    for (;;) {
        const bool sends_only = full(process);
        const Who sender = next(endpoint, sends_only);
        if (sender.pid == 0) return false;
        Landing landing;
        const Take take = can_take(who, sender, landing);
        if (take == Take::bad_record) return bad_record();
        const Waits kind = thread(sender)->waits;
        serve_group(endpoint, sender, sends_only);
        if (take != Take::can) {
            fail(sender, take == Take::denied ? Status::label_denied : Status::refused, Lend::none);
            continue;
        }
        hand_over(who, sender, landing);
        if (kind == Waits::send) {
            thread(sender)->waits = Waits::nothing;
            thread(sender)->until = kNever;
            finish(*thread(sender), Status::ok);
        }
        return true;
    }
}

void World::hand_notice(Who who, u32 pid) {
    Thread& receiver = *thread(who);
    const Process& ended = processes.at(pid);
    const u64 brought = ended.blamed_labels.empty() ? 0 : abi::kHasLabels;
    if (brought != 0) tell(processes.at(who.pid), receiver, ended.blamed_labels);
    finish(receiver, Status::ok, static_cast<u64>(Received::exit), brought, receiver.registers[3]);
    const u64 words[] = {pid, static_cast<u64>(ended.cause), ended.code, 0};
    for (unsigned word = 0; word < abi::kMessageWords; ++word)
        define(receiver, abi::kWordRegister + kWordStep * word, words[word]);
    define(receiver, abi::kBadgeRegister, 0);
    define(receiver, abi::kMessageRegister, 0);
    define(receiver, abi::kAccountRegister, ended.blamed);
    receiver.current = 0;
    free_process(pid);
}

void World::give_notice(u32 pid) {
    Process& ended = processes.at(pid);
    if (ended.exits == 0) return free_process(pid);
    Endpoint& endpoint = endpoints.at(ended.exits);
    while (!endpoint.receivers.empty()) {
        const Who receiver = endpoint.receivers.front();
        const Process& process = processes.at(receiver.pid);
        if (!tellable(ended, budget_of(process))) return free_process(pid);
        const u64 record = thread(receiver)->registers[kRecord];
        if (!ended.blamed_labels.empty() && record != 0 &&
            !record_good(process, record, kArrivalBytes, abi::kWrite)) {
            end_receive(receiver, Status::invalid_argument);
            continue;
        }
        end_wait(receiver);
        return hand_notice(receiver, pid);
    }
    endpoint.notices.push_back(pid);
}

// A process that had all its calls open has fewer: its threads that wait take what they could not.
void World::pump(u32 pid) {
    Process& process = processes.at(pid);
    if (process.state != State::running) return;
    for (auto& [tid, waiting] : process.threads) {
        if (waiting.waits != Waits::receive) continue;
        if (full(process)) return;
        if (deliver({pid, tid}, waiting.at)) end_wait({pid, tid});
    }
}

// ---- Replies ----

Status World::answer(Who who, u64 record, u64& outcome, u64& mask) {
    Process& process = processes.at(who.pid);
    const Thread& server = *thread(who);
    std::vector<Handle> handles;
    const Status status = read_handles(process, record, false, handles);
    if (status != Status::ok) return status;
    const u64 id = server.registers[abi::kMessageRegister];
    if (!process.open.contains(id)) return Status::invalid_argument;
    const OpenCall call = process.open.at(id);
    const bool was_full = process.open.size() == abi::kMaxOpenCalls;
    const bool reported = call.told != 0;
    outcome =
        static_cast<u64>(call.caller.pid == 0 ? abi::Reply::discarded : abi::Reply::delivered);
    hold(call.caller.pid == 0 || !reported, "I15: a call was reported while its caller waits");
    close_open(who.pid, id);
    if (call.caller.pid != 0) {
        Process& calling = processes.at(call.caller.pid);
        end_wait(call.caller);
        Thread& caller = *thread(call.caller);
        const u64 lend = static_cast<u64>(call.lent.count == 0 ? Lend::none : Lend::returned);
        const u64 body = caller.registers[kRecord];
        if (!handles.empty() && body != 0 && !record_good(calling, body, kBodyBytes, abi::kWrite)) {
            outcome = static_cast<u64>(abi::Reply::discarded);
            finish(caller, Status::invalid_argument, lend);
        } else {
            u64 arrived = 0;
            if (!handles.empty() && body != 0) {
                for (u64 slot = 0; slot < kBodyBytes / 8; ++slot)
                    write(calling, body + 8 * slot, 0);
                write(calling, body, handles.size());
                for (u64 i = 0; i < handles.size(); ++i) {
                    u32 index = 0;
                    Handle copy = handles[i];
                    if (is(Mutation::kR9CopyRestamped)) copy.stamp = calling.in;
                    if (install(calling, copy, index) != Status::ok) continue;
                    write(calling, body + 8 * (kBodyHandles + i), index);
                    arrived |= u64{1} << i;
                }
            }
            const u64 all = (u64{1} << handles.size()) - 1;
            mask = is(Mutation::kR13MaskIsAll) ? all : arrived;
            for (unsigned word = 0; word < abi::kMessageWords; ++word) {
                const unsigned place = abi::kWordRegister + kWordStep * word;
                define(caller, place, server.registers[place]);
            }
            const bool whole = arrived == all || is(Mutation::kR13PartialIsOk);
            finish(caller, whole ? Status::ok : Status::out_of_memory, lend, 1,
                   body == 0 ? 0 : handles.size());
        }
    }
    if (was_full) pump(who.pid);
    return Status::ok;
}

}  // namespace ravelin::model::calls
