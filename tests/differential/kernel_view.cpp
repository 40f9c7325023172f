// See kernel_view.h.
#include "tests/differential/kernel_view.h"

#include <algorithm>
#include <set>

#include "core/memory/table.h"
#include "core/object/lifecycle.h"

namespace ravelin::differential {

std::string View::difference(const View& other) const {
    std::size_t place = 0;
    while (place < values_.size() && place < other.values_.size() &&
           values_[place] == other.values_[place] &&
           names_[place] == std::string(other.names_[place]))
        ++place;
    if (place == values_.size() && place == other.values_.size()) return {};
    std::string said;
    const auto add = [&](const View& view, std::size_t at) {
        said += at < view.values_.size()
                    ? std::string(view.names_[at]) + "=" + std::to_string(view.values_[at])
                    : std::string("nothing");
    };
    for (std::size_t at = place < 12 ? 0 : place - 12; at < place; ++at) {
        add(*this, at);
        said += ' ';
    }
    said += "| ";
    for (std::size_t at = place; at < place + 6; ++at) {
        add(*this, at);
        said += ' ';
    }
    said += "against ";
    for (std::size_t at = place; at < place + 6; ++at) {
        add(other, at);
        said += ' ';
    }
    return said;
}

namespace {

using Format = Port::Format;

void put_budget(View& view, Budget& budget) {
    view.put("budget", budget.head.id);
    view.put("parent", budget.parent == nullptr ? 0 : budget.parent->head.id);
    view.put("depth", budget.depth);
    view.put("system", budget.budget_class == BudgetClass::system);
    view.put("account", budget.account);
    view.put("labels", budget.labels.count);
    for (u32 place = 0; place < budget.labels.count; ++place)
        view.put("label", budget.labels.at[place]);
    view.put("page_limit", budget.page_limit);
    view.put("pages_used", budget.pages_used);
    view.put("process_limit", budget.process_limit);
    view.put("processes_used", budget.processes_used);
    view.put("weight_limit", budget.weight_limit);
    view.put("weight_carved", budget.weight_carved);
    view.put("deadline", budget.deadline.linked ? budget.deadline.due.value : kNever.value);
    for (Budget* child = budget.children.first(); child != nullptr;
         child = budget.children.after(child->sibling_link))
        put_budget(view, *child);
}

void put_handle(View& view, const HandleSlot& slot) {
    view.put("object", slot.object == nullptr ? 0 : slot.object->id);
    if (slot.object == nullptr) return;
    view.put("stamp", slot.stamp->head.id);
    view.put("badge", slot.badge);
}

void put_who(View& view, const char* name, const Thread* thread) {
    view.put(name, thread == nullptr ? 0 : u64{thread->process->pid} << 16 | thread->tid);
}

void put_thread(View& view, const Thread& thread) {
    view.put("thread", thread.tid);
    const Wait& wait = thread.wait;
    view.put("waits", thread.state == ThreadState::waiting ? static_cast<u64>(wait.kind) : 0);
    view.put("entry", thread.context.entry);
    view.put("stack", thread.context.stack);
    const OpenCall* current = thread.process->open_calls.find(thread.current);
    view.put("current", current == nullptr ? 0 : current->id);
    for (const OpenCall* call = thread.reports.first(); call != nullptr;
         call = thread.reports.after(call->report_link))
        view.put("report", call->id);
    if (thread.state != ThreadState::waiting) return;
    const bool queued = wait.kind == WaitKind::send || wait.kind == WaitKind::call;
    if (queued || wait.kind == WaitKind::receive) view.put("at", wait.endpoint->head.id);
    if (wait.kind == WaitKind::interrupt) view.put("at", wait.device->head.id);
    view.put("until", wait.until.value);
    if (!queued) return;
    view.put("through", wait.stamp->head.id);
    view.put("badge", wait.badge);
    if (!wait.cargo) return;
    view.put("carries", thread.cargo.handle_count);
    for (u32 place = 0; place < thread.cargo.handle_count; ++place)
        put_handle(view, thread.cargo.handles[place]);
    view.put("run", thread.cargo.run.address);
    view.put("pages", thread.cargo.run.count);
}

// In order of ids.
std::vector<const OpenCall*> open_calls(const Process& process) {
    std::vector<const OpenCall*> calls;
    for (u64 id = 1; id <= process.last_message && calls.size() < process.open_count; ++id) {
        if (const OpenCall* call = process.open_calls.find(id)) calls.push_back(call);
    }
    return calls;
}

// visit(page, leaf) for every leaf that is not empty, lent ones among them.
template <class Visit>
void for_leaves(Kernel& kernel, FrameNumber table, unsigned level, u32 page, const Visit& visit) {
    const auto* entries = static_cast<const Format::Entry*>(kernel.port.frame_pointer(table));
    u32 left = kernel.frames.note(table);
    for (u32 i = 0; left != 0 && i < 1u << Format::kIndexBits; ++i) {
        if (entries[i] == 0) continue;
        --left;
        const u32 below = page | i << (level * Format::kIndexBits);
        if (level == 0) {
            visit(below, entries[i]);
        } else {
            for_leaves(kernel, Format::frame(entries[i]), level - 1, below, visit);
        }
    }
}

template <class Visit>
void for_leaves(Kernel& kernel, const Process& process, const Visit& visit) {
    if (process.space.root.value != 0)
        for_leaves(kernel, process.space.root, Format::kLevels - 1, 0, visit);
}

u64 state_of(Format::Entry leaf) {
    if (!Format::is_lent(leaf)) return 0;
    return Format::is_valid(leaf) ? 2 : 1;
}

void put_process(Kernel& kernel, View& view, const Process& process, const FrameNames& names) {
    view.put("process", process.head.id);
    view.put("pid", process.pid);
    view.put("state", static_cast<u64>(process.state));
    view.put("in", process.budget->head.id);
    view.put("charged", process.creator->head.id);
    view.put("exits", process.exit_endpoint == nullptr ? 0 : process.exit_endpoint->head.id);
    if (process.state == ProcessState::ended) {
        view.put("cause", static_cast<u64>(process.cause));
        view.put("code", process.exit_code);
        view.put("blamed", process.blamed);
        for (u32 place = 0; place < process.blamed_labels.count; ++place)
            view.put("label", process.blamed_labels.at[place]);
        return;
    }
    view.put("last_tid", process.last_tid);
    view.put("last_message", process.last_message);
    for (u32 page = 0; page < kHandlePages; ++page) {
        if (process.handle_pages[page] == nullptr) continue;
        for (u32 place = 0; place < kSlotsPerPage; ++place) {
            if ((process.handles_used[page] >> place & 1) == 0 || page + place == 0) continue;
            view.put("handle", page * kSlotsPerPage + place);
            put_handle(view, process.handle_pages[page][place]);
        }
    }
    for (const OpenCall* call : open_calls(process)) {
        view.put("open", call->id);
        put_who(view, "caller", call->caller);
        put_who(view, "holder", call->holder);
        view.put("endpoint", call->endpoint == nullptr ? 0 : call->endpoint->head.id);
        view.put("account", call->account);
        view.put("lent", call->lent.count);
        if (call->lent.count != 0) view.put("borrowed", call->borrowed);
    }
    view.put("pages", process.space.pages);
    view.put("tables", process.space.tables);
    for_leaves(kernel, process, [&](u32 page, Format::Entry leaf) {
        view.put("page", page);
        view.put("rights", Format::rights(leaf));
        view.put("lent", state_of(leaf));
        view.put("frame", names(Format::frame(leaf).value));
    });
    for (const Thread* thread : process.threads) {
        if (thread != nullptr) put_thread(view, *thread);
    }
}

void put_endpoint(View& view, const Endpoint& endpoint) {
    view.put("endpoint", endpoint.head.id);
    view.put("owner", endpoint.owner->head.id);
    for (const Thread* thread = endpoint.receivers.first(); thread != nullptr;
         thread = endpoint.receivers.after(thread->wait.link))
        put_who(view, "receiver", thread);
    for (const Thread* leader = endpoint.groups.first(); leader != nullptr;
         leader = endpoint.groups.after(leader->group.turn_link)) {
        view.put("group", leader->group.count);
        for (const Thread* member = leader->group.members.first(); member != nullptr;
             member = leader->group.members.after(member->wait.link))
            put_who(view, "member", member);
    }
    for (const Thread* leader = endpoint.send_groups.first(); leader != nullptr;
         leader = endpoint.send_groups.after(leader->group.send_turn_link)) {
        for (const Thread* member = leader->group.sends.first(); member != nullptr;
             member = leader->group.sends.after(member->wait.send_link))
            put_who(view, "sends", member);
    }
    for (const Process* ended = endpoint.notices.first(); ended != nullptr;
         ended = endpoint.notices.after(ended->exit_link))
        view.put("notice", ended->pid);
}

template <class Visit>
void each_budget(Budget* budget, const Visit& visit) {
    if (budget == nullptr) return;
    visit(*budget);
    for (Budget* child = budget->children.first(); child != nullptr;
         child = budget->children.after(child->sibling_link))
        each_budget(child, visit);
}

void put_devices(View& view, const Kernel& kernel, const Budget& budget) {
    for (const Device* device = budget.devices.first(); device != nullptr;
         device = budget.devices.after(device->owner_link)) {
        view.put("device", device->head.id);
        view.put("fired", device->fired);
        view.put("enabled", device->fact.kind == DeviceKind::interrupt &&
                                kernel.port.enabled[device->fact.source]);
        for (const Thread* thread = device->waiters.first(); thread != nullptr;
             thread = device->waiters.after(thread->wait.link))
            put_who(view, "waiter", thread);
    }
}

}  // namespace

View view_of(Kernel& kernel, const FrameNames& names) {
    View view;
    if (kernel.root != nullptr) put_budget(view, *kernel.root);
    for (const Process* process : kernel.processes) {
        if (process != nullptr) put_process(kernel, view, *process, names);
    }
    std::map<u64, const Endpoint*> endpoints;
    each_budget(kernel.root, [&](Budget& budget) {
        for (Endpoint* endpoint = budget.endpoints.first(); endpoint != nullptr;
             endpoint = budget.endpoints.after(endpoint->owner_link))
            endpoints[endpoint->head.id] = endpoint;
        put_devices(view, kernel, budget);
    });
    for (const auto& [id, endpoint] : endpoints)
        put_endpoint(view, *endpoint);
    return view;
}

View view_of(Kernel& kernel) {
    return view_of(kernel, [](u32 frame) { return u64{frame}; });
}

namespace {

struct Books {
    std::map<const Budget*, u64> pages;
    std::map<const Budget*, u64> processes;
    std::map<const Budget*, u64> weights;
    std::set<const ObjectHead*> objects;
    std::map<u32, u32> reachable;  ///< frames and the spaces in which they are valid
    std::string broken;

    void hold(bool condition, const char* law, u64 id) {
        if (!condition && broken.empty()) broken = std::string(law) + ", of " + std::to_string(id);
    }
};

void count_process(Kernel& kernel, Books& books, Process& process) {
    books.objects.insert(&process.head);
    books.processes[process.budget] += 1;
    books.pages[process.creator] += 1;
    u64& pages = books.pages[process.budget];
    u64 mapped = 0;
    for_leaves(kernel, process, [&](u32, Format::Entry leaf) {
        const u32 rights = Format::rights(leaf);
        books.hold((rights & abi::kWrite) == 0 || (rights & abi::kExecute) == 0,
                   "a page is writable and executable (I9)", process.pid);
        const FrameNumber frame = Format::frame(leaf);
        if (!kernel.frames.contains(frame)) return;
        ++mapped;
        if (Format::is_valid(leaf)) books.reachable[frame.value] += 1;
    });
    books.hold(mapped == process.space.pages, "pages are not what is mapped (R6)", process.pid);
    pages += mapped + process.space.tables + process.thread_count + process.open_count;
    for (const HandleSlot* page : process.handle_pages)
        pages += page != nullptr;
    books.hold(open_calls(process).size() == process.open_count, "open calls are not counted (R4a)",
               process.pid);
}

void check_handles(Books& books, const Process& process) {
    for (u32 page = 0; page < kHandlePages; ++page) {
        if (process.handle_pages[page] == nullptr) continue;
        for (u32 place = 0; place < kSlotsPerPage; ++place) {
            if ((process.handles_used[page] >> place & 1) == 0 || page + place == 0) continue;
            const HandleSlot& slot = process.handle_pages[page][place];
            books.hold(books.objects.contains(slot.object), "a handle names no live object (I1)",
                       process.pid);
            books.hold(books.objects.contains(&slot.stamp->head), "a handle's stamp is gone (I2)",
                       process.pid);
            if (!books.broken.empty()) return;
            books.hold(slot.object->kind == ObjectKind::endpoint || slot.badge == 0,
                       "a badge on what is no endpoint (I3)", process.pid);
        }
    }
}

void check_budget(const Kernel& kernel, Books& books, const Budget& budget) {
    const u64 id = budget.head.id;
    books.hold(budget.pages_used == books.pages[&budget], "pages used are not what is held (R6)",
               id);
    books.hold(budget.processes_used == books.processes[&budget],
               "processes used are not what is held (R6)", id);
    books.hold(budget.weight_carved == books.weights[&budget],
               "weight carved is not the children's (R7)", id);
    books.hold(budget.pages_used <= budget.page_limit &&
                   budget.processes_used <= budget.process_limit &&
                   budget.weight_carved <= budget.weight_limit,
               "use over a limit (I5)", id);
    books.hold(budget.live_processes == 0 || budget.free_weight() != 0,
               "a process in a budget without free weight (R7)", id);
    if (budget.parent == nullptr) return;
    const Budget& parent = *budget.parent;
    books.hold(parent.labels.within(budget.labels), "labels shrink downward (I6)", id);
    books.hold(&budget == kernel.users || budget.budget_class == parent.budget_class,
               "class is not inherited (I8)", id);
    books.hold(parent.account == 0 || budget.account == parent.account,
               "account is not inherited (I8)", id);
}

}  // namespace

std::string broken_law(Kernel& kernel) {
    Books books;
    each_budget(kernel.root, [&](Budget& budget) {
        books.objects.insert(&budget.head);
        if (budget.parent != nullptr) {
            books.pages[budget.parent] += budget.page_limit + 1;
            books.processes[budget.parent] += budget.process_limit;
            books.weights[budget.parent] += budget.weight_limit;
        }
        for (Endpoint* endpoint = budget.endpoints.first(); endpoint != nullptr;
             endpoint = budget.endpoints.after(endpoint->owner_link)) {
            books.objects.insert(&endpoint->head);
            books.pages[&budget] += 1;
        }
        for (Device* device = budget.devices.first(); device != nullptr;
             device = budget.devices.after(device->owner_link)) {
            books.objects.insert(&device->head);
            books.pages[&budget] += 1;
        }
    });
    for (Process* process : kernel.processes) {
        if (process != nullptr) count_process(kernel, books, *process);
    }
    for (const Process* process : kernel.processes) {
        if (process != nullptr) check_handles(books, *process);
    }
    each_budget(kernel.root, [&](Budget& budget) { check_budget(kernel, books, budget); });
    for (const auto& [frame, spaces] : books.reachable)
        books.hold(spaces == 1, "a frame is reachable from two spaces (I9)", frame);
    return books.broken;
}

}  // namespace ravelin::differential
