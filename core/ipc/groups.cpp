// Fair groups of waiting messages; see groups.h.
#include "core/ipc/groups.h"

#include "core/assert.h"

namespace ravelin::ipc {

namespace {

const Budget& sender_budget(const Thread& thread) {
    return *thread.process->budget;
}

u64 mix(u64 hash, u64 value) {
    hash ^= value;
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93;
    hash ^= hash >> 29;
    hash *= 0xff51afd7ed558ccd;
    return hash ^ hash >> 32;
}

u64 hash_of(const Kernel& kernel, const Budget& budget) {
    u64 hash = mix(kernel.secret, budget.account);
    if (budget.account == 0) return mix(hash, budget.head.id);
    for (u32 place = 0; place < budget.labels.count; ++place)
        hash = mix(hash, budget.labels.at[place]);
    return hash;
}

bool same_group(const Budget& one, const Budget& other) {
    if (one.account != other.account) return false;
    return one.account == 0 ? &one == &other : one.labels == other.labels;
}

// The leader goes: the newest member leads from now on.
void hand_on(Endpoint& endpoint, Thread& leader) {
    SenderGroup& old = leader.group;
    Thread& heir = *old.members.last();
    SenderGroup& fresh = heir.group;
    fresh.members = old.members;
    fresh.sends = old.sends;
    fresh.count = old.count;
    endpoint.leaders.replace(old.node, heir, fresh.node);
    endpoint.groups.replace(old.turn_link, heir, fresh.turn_link);
    if (old.send_turn_link.linked())
        endpoint.send_groups.replace(old.send_turn_link, heir, fresh.send_turn_link);
    for (Thread* member = fresh.members.first(); member != nullptr;
         member = fresh.members.after(member->wait.link))
        member->wait.leader = &heir;
    old = {};
}

}  // namespace

bool enqueue(Kernel& kernel, Thread& sender) {
    Endpoint& endpoint = *sender.wait.endpoint;
    const Budget& budget = sender_budget(sender);
    u64 hash = hash_of(kernel, budget);
    Thread* leader = endpoint.leaders.find(
        hash, [&](const Thread& other) { return same_group(sender_budget(other), budget); });
    if (leader == nullptr) {
        leader = &sender;
        sender.group = {};
        endpoint.leaders.insert(sender, sender.group.node, hash);
        endpoint.groups.push_back(sender, sender.group.turn_link);
    }
    SenderGroup& group = leader->group;
    if (group.count == abi::kWaitCap) return false;
    group.count += 1;
    group.members.push_back(sender, sender.wait.link);
    sender.wait.leader = leader;
    if (sender.wait.kind == WaitKind::send) {
        if (group.sends.empty()) endpoint.send_groups.push_back(*leader, group.send_turn_link);
        group.sends.push_back(sender, sender.wait.send_link);
    }
    return true;
}

void dequeue(Thread& sender) {
    Endpoint& endpoint = *sender.wait.endpoint;
    Thread& leader = *sender.wait.leader;
    SenderGroup& group = leader.group;
    group.members.remove(sender.wait.link);
    group.count -= 1;
    if (sender.wait.send_link.linked()) {
        group.sends.remove(sender.wait.send_link);
        if (group.sends.empty()) endpoint.send_groups.remove(group.send_turn_link);
    }
    sender.wait.leader = nullptr;
    if (group.count == 0) {
        endpoint.leaders.remove(leader.group.node);
        endpoint.groups.remove(group.turn_link);
    } else if (&leader == &sender) {
        hand_on(endpoint, leader);
    }
}

Thread* next(const Endpoint& endpoint, bool sends_only) {
    if (sends_only) {
        Thread* leader = endpoint.send_groups.first();
        return leader == nullptr ? nullptr : leader->group.sends.first();
    }
    Thread* leader = endpoint.groups.first();
    return leader == nullptr ? nullptr : leader->group.members.first();
}

void serve_group(Thread& sender) {
    Endpoint& endpoint = *sender.wait.endpoint;
    Thread& leader = *sender.wait.leader;
    if (leader.group.count > 1) {
        endpoint.groups.remove(leader.group.turn_link);
        endpoint.groups.push_back(leader, leader.group.turn_link);
        if (leader.group.send_turn_link.linked()) {
            endpoint.send_groups.remove(leader.group.send_turn_link);
            endpoint.send_groups.push_back(leader, leader.group.send_turn_link);
        }
    }
    dequeue(sender);
}

#if RAVELIN_CHECKED
namespace {

bool waits_here(const Thread& thread, const Endpoint& endpoint, WaitKind kind) {
    return thread.state == ThreadState::waiting && thread.wait.kind == kind &&
           thread.wait.endpoint == &endpoint;
}

void audit_group(const Endpoint& endpoint, const Thread& leader, u32 most) {
    const SenderGroup& group = leader.group;
    RAVELIN_ASSERT(group.count != 0 && group.count <= abi::kWaitCap);
    RAVELIN_ASSERT(group.send_turn_link.linked() == !group.sends.empty());
    RAVELIN_ASSERT(group.node.owner == &leader);
    u32 seen = 0;
    for (const Thread* member = group.members.first(); member != nullptr && seen < most;
         member = group.members.after(member->wait.link)) {
        ++seen;
        bool send = waits_here(*member, endpoint, WaitKind::send);
        RAVELIN_ASSERT(send || waits_here(*member, endpoint, WaitKind::call));
        RAVELIN_ASSERT(member->wait.leader == &leader);
        RAVELIN_ASSERT(member->wait.stamp_link.linked());
        RAVELIN_ASSERT(member->wait.send_link.linked() == send);
        RAVELIN_ASSERT(same_group(sender_budget(*member), sender_budget(leader)));
    }
    RAVELIN_ASSERT(seen == group.count || seen == most);
}

}  // namespace

void audit(const Endpoint& endpoint, u32 most) {
    u32 left = most;
    for (const Thread* leader = endpoint.groups.first(); leader != nullptr && left != 0;
         leader = endpoint.groups.after(leader->group.turn_link), --left)
        audit_group(endpoint, *leader, most);
    left = most;
    for (const Thread* leader = endpoint.send_groups.first(); leader != nullptr && left != 0;
         leader = endpoint.send_groups.after(leader->group.send_turn_link), --left)
        RAVELIN_ASSERT(leader->group.turn_link.linked());
    left = most;
    for (const Thread* receiver = endpoint.receivers.first(); receiver != nullptr && left != 0;
         receiver = endpoint.receivers.after(receiver->wait.link), --left)
        RAVELIN_ASSERT(waits_here(*receiver, endpoint, WaitKind::receive));
    left = most;
    for (const OpenCall* call = endpoint.open.first(); call != nullptr && left != 0;
         call = endpoint.open.after(call->endpoint_link), --left) {
        RAVELIN_ASSERT(call->endpoint == &endpoint && call->id != 0);
        RAVELIN_ASSERT(call->server_node.linked() && call->holder_link.linked());
        RAVELIN_ASSERT(call->holder->process == call->server);
        RAVELIN_ASSERT(call->caller == nullptr ? !call->stamp_link.linked()
                                               : call->stamp_link.linked() &&
                                                     call->caller->wait.kind == WaitKind::reply);
    }
    left = most;
    for (const Process* ended = endpoint.notices.first(); ended != nullptr && left != 0;
         ended = endpoint.notices.after(ended->exit_link), --left)
        RAVELIN_ASSERT(ended->state == ProcessState::ended && ended->exit_endpoint == &endpoint);
}
#endif

}  // namespace ravelin::ipc
