// The calls on budgets, processes, threads, handles, memory and devices, and the ends of all of them; see
// calls.h. Messages are in messages.cpp.
#include "tests/model/calls.h"

#include <algorithm>

#include "core/abi/records.h"

namespace ravelin::model::calls {

using abi::Call;
using abi::Status;

namespace {

// Slots of the records.
constexpr u64 kSpecBytes = sizeof(abi::BudgetSpec);
constexpr u64 kUsageBytes = sizeof(abi::BudgetUsage);
constexpr u32 kSpecLabels = 4, kSpecAccount = 20, kSpecDeadline = 21;

}  // namespace

bool subset(const Labels& some, const Labels& all) {
    return std::ranges::includes(all, some);
}

u64 World::ticks_of(u64 micros) const {
    constexpr u64 kMillion = 1'000'000;
    const u64 second = kMillion * layout.ticks_per_micro;
    return micros / kMillion >= (u64{1} << 62) / second ? kNever : micros * layout.ticks_per_micro;
}

World::World(const Layout& machine, const Booted& start, Mutation broken_rule)
    : layout(machine),
      mutation(broken_rule),
      booted(start.now),
      now(start.now),
      root(start.root),
      users(start.users) {
    constexpr u64 kOwnPages = 2;
    const u64 shared = start.root_pages - abi::kInitPages - kOwnPages;
    const u64 system_processes = abi::kMaxProcesses / 4;
    const auto make = [&](Id id, bool system, u64 pages, u64 processes_limit, u64 weight) {
        Budget& budget = budgets[id];
        budget.parent = id == root ? 0 : root;
        budget.depth = id == root ? 0 : 1;
        budget.system = system;
        budget.pages = pages;
        budget.processes = processes_limit;
        budget.weight = weight;
        if (id != root) budgets[root].children.push_back(id);
    };
    make(root, true, start.root_pages, abi::kMaxProcesses, abi::kRootWeight);
    make(start.system, true, shared / 4, system_processes, abi::kSystemWeight);
    make(users, false, shared - shared / 4, abi::kMaxProcesses - system_processes - 1,
         abi::kRootWeight - abi::kSystemWeight - abi::kInitWeight);
    Process& first = processes[start.pid];
    first.id = start.process;
    first.in = first.charged = root;
    first.state = State::running;
    budgets[root].runs = budgets[root].charged = {start.pid};
    u32 handle = 0;
    for (const Id budget : {root, start.system, users})
        first.handles[++handle] = {Kind::budget, budget, root, 0};
    for (const auto& [id, device] : start.devices) {
        devices[id] = device;
        devices[id].owner = start.system;
        first.handles[++handle] = {Kind::device, id, root, 0};
    }
    u32 tid = 0;
    thread_create(first, 0x1000, 0, 0, tid);
}

void World::hold(bool condition, const char* law) {
    if (!condition && broken_.empty()) broken_ = law;
}

Thread* World::thread(Who who) {
    const auto process = processes.find(who.pid);
    if (process == processes.end()) return nullptr;
    const auto found = process->second.threads.find(who.tid);
    return found == process->second.threads.end() ? nullptr : &found->second;
}

void World::define(Thread& thread, unsigned place, u64 value) {
    thread.registers[place] = value;
    thread.defined |= u32{1} << place;
}

void World::finish(Thread& thread, Status status, u64 first, u64 second, u64 third) {
    const u64 results[] = {static_cast<u64>(status), first, second, third, 0, 0, 0, 0};
    for (unsigned place = 0; place < std::size(results); ++place)
        define(thread, place, results[place]);
}

// ---- Books ----

u64 World::used_pages(Id id) const {
    const Budget& budget = budgets.at(id);
    u64 pages = 0;
    for (const Id child : budget.children) {
        const Budget& carve = budgets.at(child);
        pages += is(Mutation::kR6ChildrenByUse) ? used_pages(child) : carve.pages;
        pages += is(Mutation::kR7OwnPageFree) ? 0 : 1;
    }
    for (const auto& [pid, process] : processes) {
        const Id payer = is(Mutation::kR6ObjectToItsBudget) ? process.in : process.charged;
        if (payer == id) ++pages;
        if (process.in != id || process.state == State::ended) continue;
        pages += process.threads.size() + tables(process) + ram_pages(process);
        u64 handle_pages = 0;
        u32 last = ~u32{0};
        for (const auto& [index, handle] : process.handles) {
            if (index / layout.slots != last) ++handle_pages;
            last = index / layout.slots;
        }
        pages += handle_pages;
        if (!is(Mutation::kR4aOpenCallFree)) pages += process.open.size();
    }
    for (const auto& [endpoint, object] : endpoints)
        pages += object.owner == id;
    for (const auto& [device, object] : devices)
        pages += object.owner == id;
    return pages;
}

u64 World::used_processes(Id id) const {
    const Budget& budget = budgets.at(id);
    u64 used = budget.runs.size();
    for (const Id child : budget.children)
        used += budgets.at(child).processes;
    return used;
}

u64 World::carved(Id id) const {
    u64 weight = 0;
    for (const Id child : budgets.at(id).children)
        weight += budgets.at(child).weight;
    return weight;
}

u64 World::tables(const Process& process) const {
    std::set<u64> places;  // level above the page's bits
    for (u32 level = 1; level < layout.levels; ++level) {
        for (const auto& [page, leaf] : process.pages)
            places.insert(u64{level} << 32 | page >> (level * layout.index_bits));
    }
    for (const auto& [page, leaf] : process.pages) {
        if (page >= layout.anon_first && page < layout.anon_first + layout.anon_pages)
            places.insert(u64{layout.levels} << 32 | (page - layout.anon_first) / layout.map_pages);
    }
    return 1 + places.size() + process.stale_tables.size();
}

u64 World::ram_pages(const Process& process) const {
    u64 pages = 0;
    for (const auto& [page, leaf] : process.pages) {
        const bool free = leaf.hold == Hold::borrowed && is(Mutation::kR6LendChargedOnce);
        pages += !leaf.device && !free;
    }
    return pages;
}

bool World::fits(Id budget, u64 pages) const {
    return used_pages(budget) + pages <= budgets.at(budget).pages;
}

// ---- Handles ----

Status World::find(const Process& process, u64 handle, Kind kind, Handle& found) const {
    const auto slot = handle < abi::kMaxHandles ? process.handles.find(static_cast<u32>(handle))
                                                : process.handles.end();
    if (slot == process.handles.end()) return Status::bad_handle;
    found = slot->second;
    return found.kind == kind ? Status::ok : Status::wrong_object;
}

// Pages that a table grows by, if handles take the lowest free places.
u64 World::new_handle_pages(const Process& process, u32 count) const {
    std::set<u32> pages;
    for (const auto& [index, handle] : process.handles)
        pages.insert(index / layout.slots);
    const std::size_t before = pages.size();
    for (u32 index = 1; count != 0; ++index) {
        if (process.handles.contains(index)) continue;
        pages.insert(index / layout.slots);
        --count;
    }
    return pages.size() - before;
}

Status World::install(Process& process, const Handle& handle, u32& index) {
    u32 free = 1;
    while (process.handles.contains(free))
        ++free;
    if (free >= abi::kMaxHandles) return Status::too_large;
    if (!fits(process.in, new_handle_pages(process, 1))) return Status::out_of_memory;
    process.handles[free] = handle;
    index = free;
    return Status::ok;
}

// Closes handles wherever they are: in tables and in messages.
template <class Which>
void World::close(const Which& which) {
    for (auto& [pid, process] : processes) {
        std::erase_if(process.handles, [&](const auto& slot) { return which(slot.second); });
        for (auto& [tid, thread] : process.threads) {
            for (Handle& handle : thread.handles) {
                if (handle.object != 0 && which(handle)) handle.object = 0;
            }
        }
    }
}

// ---- Memory ----

bool World::to_range(u64 address, u64 length, Range& range) const {
    const u64 end = u64{layout.user_pages} * kPageBytes;
    if (address % kPageBytes != 0 || length % kPageBytes != 0 || length == 0 || address == 0)
        return false;
    if (address >= end || length > end - address) return false;
    range = {static_cast<u32>(address / kPageBytes), static_cast<u32>(length / kPageBytes)};
    return true;
}

bool World::to_rights(u64& rights) const {
    if (rights == 0 || rights > 7) return false;
    if ((rights & abi::kWrite) == 0) return true;
    if ((rights & abi::kExecute) != 0 && !is(Mutation::kR11WriteAndExecute)) return false;
    rights |= abi::kRead;
    return true;
}

u64 World::new_tables(const Process& process, Range range) const {
    const auto grows = [&](u32 first, u32 span) {
        // Blocks of `span` pages from `first` that have none of the range's process yet.
        u64 blocks = 0;
        for (u32 block = (range.page - first) / span;
             block <= (range.page + range.count - 1 - first) / span; ++block) {
            const auto there = process.pages.lower_bound(first + block * span);
            blocks += there == process.pages.end() || there->first >= first + (block + 1) * span;
        }
        return blocks;
    };
    u64 made = 0;
    for (u32 level = 1; level < layout.levels; ++level)
        made += grows(0, u32{1} << (level * layout.index_bits));
    const u32 begin = std::max(range.page, layout.anon_first);
    const u32 end = std::min(range.page + range.count, layout.anon_first + layout.anon_pages);
    if (begin < end) {
        range = {begin, end - begin};
        made += grows(layout.anon_first, layout.map_pages);
    }
    return made;
}

bool World::vacant(const Process& process, Range range) const {
    const auto there = process.pages.lower_bound(range.page);
    return there == process.pages.end() || there->first >= range.page + range.count;
}

// Next fit: from the cursor to the area's end, then from its start.
bool World::find_room(const Process& process, u32 first, u32 area, u32 cursor, u32 count,
                      u32& found) const {
    if (count > area) return false;
    if (is(Mutation::kR11FirstFit)) cursor = 0;
    for (u32 tried = 0; tried < area; ++tried) {
        const u32 place = (cursor + tried) % area;
        if (place + count > area) continue;
        if (vacant(process, {first + place, count})) {
            found = first + place;
            return true;
        }
    }
    return false;
}

void World::map_new(Process& process, Range range, u32 rights) {
    for (u32 i = 0; i < range.count; ++i) {
        frames[++last_frame];
        process.pages[range.page + i] = {last_frame, rights, Hold::own, false};
    }
}

// The leaves go; frames stay.
void World::erase(Process& process, Range range) {
    process.pages.erase(process.pages.lower_bound(range.page),
                        process.pages.lower_bound(range.page + range.count));
    if (is(Mutation::kR11TablesStay) && vacant(process, {range.page & ~u32{511}, 512}))
        process.stale_tables.insert(range.page / 512);
}

bool World::reaches(const Process& process, u64 address, u32 right) const {
    const auto page = process.pages.find(static_cast<u32>(address / kPageBytes));
    return address < u64{layout.user_pages} * kPageBytes && page != process.pages.end() &&
           page->second.hold != Hold::lent && (page->second.rights & right) == right;
}

bool World::record_good(const Process& process, u64 address, u64 bytes, u32 right) const {
    const u64 end = u64{layout.user_pages} * kPageBytes;
    if (address % 8 != 0 || address >= end || bytes > end - address) return false;
    for (u64 page = address / kPageBytes; page <= (address + bytes - 1) / kPageBytes; ++page) {
        const auto leaf = process.pages.find(static_cast<u32>(page));
        if (leaf == process.pages.end() || leaf->second.hold != Hold::own || leaf->second.device ||
            (leaf->second.rights & right) != right)
            return false;
    }
    return true;
}

void World::write(Process& process, u64 address, u64 value) {
    std::vector<u64>& words =
        frames[process.pages.at(static_cast<u32>(address / kPageBytes)).frame];
    words.resize(kPageBytes / 8);
    words[address % kPageBytes / 8] = value;
}

u64 World::read(const Process& process, u64 address) const {
    const auto frame = frames.find(process.pages.at(static_cast<u32>(address / kPageBytes)).frame);
    if (frame == frames.end() || frame->second.empty()) return 0;
    return frame->second[address % kPageBytes / 8];
}

Status World::map_anon(Process& process, const Registers& r, u64& address) {
    u64 rights = r[2];
    if (r[1] == 0 || r[1] % kPageBytes != 0 || !to_rights(rights)) return Status::invalid_argument;
    if (r[1] / kPageBytes > layout.anon_pages) return Status::out_of_memory;
    const u32 count = static_cast<u32>(r[1] / kPageBytes);
    u32 place = 0;
    if (!fits(process.in, count)) return Status::out_of_memory;
    if (!find_room(process, layout.anon_first, layout.anon_pages, process.anon_next, count, place))
        return Status::out_of_memory;
    const Range range{place, count};
    if (!fits(process.in, count + new_tables(process, range))) return Status::out_of_memory;
    map_new(process, range, static_cast<u32>(rights));
    process.anon_next = (place - layout.anon_first + count) % layout.anon_pages;
    address = u64{place} * kPageBytes;
    return Status::ok;
}

Status World::map_fixed(Process& process, const Registers& r) {
    Range range;
    u64 rights = r[3];
    if (!to_range(r[1], r[2], range) || !to_rights(rights)) return Status::invalid_argument;
    if (!fits(process.in, range.count)) return Status::out_of_memory;
    if (!vacant(process, range)) {
        if (!is(Mutation::kR11Replaces)) return Status::invalid_argument;
        erase(process, range);
    }
    if (!fits(process.in, range.count + new_tables(process, range))) return Status::out_of_memory;
    map_new(process, range, static_cast<u32>(rights));
    return Status::ok;
}

Status World::unmap(Process& process, const Registers& r) {
    Range range;
    if (!to_range(r[1], r[2], range)) return Status::invalid_argument;
    for (u32 i = 0; i < range.count; ++i) {
        const auto page = process.pages.find(range.page + i);
        if (page == process.pages.end()) return Status::invalid_argument;
        const Hold held = page->second.hold;
        if (held == Hold::lent || (held == Hold::borrowed && !is(Mutation::kR11LentUnmaps)))
            return Status::invalid_argument;
    }
    for (u32 i = 0; i < range.count; ++i) {
        const Page& page = process.pages[range.page + i];
        if (!page.device) frames.erase(page.frame);
    }
    erase(process, range);
    return Status::ok;
}

Status World::set_flags(Process& process, const Registers& r) {
    Range range;
    u64 rights = r[3];
    if (!to_range(r[1], r[2], range) || !to_rights(rights)) return Status::invalid_argument;
    for (u32 i = 0; i < range.count; ++i) {
        const auto page = process.pages.find(range.page + i);
        if (page == process.pages.end() || page->second.hold != Hold::own)
            return Status::invalid_argument;
        if (page->second.device && (rights & abi::kExecute) != 0) return Status::invalid_argument;
    }
    for (u32 i = 0; i < range.count; ++i)
        process.pages[range.page + i].rights = static_cast<u32>(rights);
    return Status::ok;
}

// ---- Devices ----

void World::map_device(Process& process, Thread& thread) {
    Handle handle;
    const Status status = find(process, thread.registers[1], Kind::device, handle);
    if (status != Status::ok) return finish(thread, status);
    const Device& device = devices.at(handle.object);
    if (device.kind != abi::DeviceKind::mmio) return finish(thread, Status::wrong_object);
    u32 place = 0;
    if (!find_room(process, layout.anon_first, layout.anon_pages, process.anon_next, device.pages,
                   place))
        return finish(thread, Status::out_of_memory);
    const Range range{place, device.pages};
    if (!fits(process.in, new_tables(process, range))) return finish(thread, Status::out_of_memory);
    for (u32 i = 0; i < range.count; ++i)
        process.pages[place + i] = {device.address / kPageBytes + i, abi::kRead | abi::kWrite,
                                    Hold::own, true};
    process.anon_next = (place - layout.anon_first + range.count) % layout.anon_pages;
    finish(thread, Status::ok, u64{place} * kPageBytes, range.count * kPageBytes);
}

void World::device_info(Process& process, Thread& thread) {
    Handle handle;
    const Status status = find(process, thread.registers[1], Kind::device, handle);
    if (status != Status::ok) return finish(thread, status);
    const Device& device = devices.at(handle.object);
    finish(thread, Status::ok, static_cast<u64>(device.kind), static_cast<u64>(device.model),
           device.address);
    define(thread, 5, device.pages);
}

// ---- Processes and threads ----

Status World::thread_create(Process& process, u64 entry, u64 stack, u64 argument, u32& tid) {
    if (process.threads.size() == abi::kMaxThreads) return Status::too_many_threads;
    if (!fits(process.in, 1)) return Status::out_of_memory;
    tid = process.last_tid;
    do {
        tid = tid == abi::kMaxThreads ? 1 : tid + 1;
    } while (process.threads.contains(tid));
    process.last_tid = tid;
    Thread& thread = process.threads[tid];
    thread.entry = entry;
    thread.stack = stack;
    define(thread, 0, argument);
    return Status::ok;
}

Status World::process_create(Process& process, const Registers& r, const Learned& learned,
                             u32& handle) {
    Handle in;
    Handle exits;
    Status status = find(process, r[1], Kind::budget, in);
    if (status != Status::ok) return status;
    if (r[2] != 0) {
        status = find(process, r[2], Kind::endpoint, exits);
        if (status != Status::ok) return status;
        if (exits.badge != 0) return Status::not_permitted;
    }
    Budget& budget = budgets.at(in.object);
    if (used_processes(in.object) >= budget.processes || processes.size() == abi::kMaxProcesses)
        return Status::out_of_processes;
    if (carved(in.object) == budget.weight && !is(Mutation::kR7NoWeightRuns))
        return Status::invalid_argument;
    const bool drawn = learned.pid >= abi::kFirstPid && !processes.contains(learned.pid);
    Process& made = processes[learned.pid];
    made = {};
    made.id = learned.object;
    made.in = in.object;
    made.charged = process.in;
    made.exits = exits.object;
    status = fits(made.in, 0) && fits(made.charged, 0) ? Status::ok : Status::out_of_memory;
    if (status == Status::ok) {
        const Id stamp = is(Mutation::kR9NewStampedByObject) ? made.in : process.in;
        status = install(process, {Kind::process, made.id, stamp, 0}, handle);
    }
    if (status != Status::ok) {
        processes.erase(learned.pid);
        return status;
    }
    hold(drawn, "R20: a PID was drawn that is not free");
    budget.runs.push_back(learned.pid);
    budgets.at(made.charged).charged.push_back(learned.pid);
    return Status::ok;
}

namespace {

// The process object that a handle names.
Process* with_id(std::map<u32, Process>& processes, Id id) {
    for (auto& [pid, process] : processes) {
        if (process.id == id) return &process;
    }
    return nullptr;
}

}  // namespace

Status World::process_map(Process& process, const Registers& r) {
    Handle handle;
    const Status status = find(process, r[1], Kind::process, handle);
    if (status != Status::ok) return status;
    Process& target = *with_id(processes, handle.object);
    Range from;
    Range to;
    u64 rights = r[5];
    if (target.state != State::created || !to_range(r[2], r[4], from) ||
        !to_range(r[3], r[4], to) || !to_rights(rights))
        return Status::invalid_argument;
    for (u32 i = 0; i < from.count; ++i) {
        const auto page = process.pages.find(from.page + i);
        if (page == process.pages.end() || page->second.hold != Hold::own || page->second.device)
            return Status::invalid_argument;
    }
    const u64 moving = target.in == process.in ? 0 : from.count;
    if (!fits(target.in, moving)) return Status::out_of_memory;
    if (!vacant(target, to)) return Status::invalid_argument;
    if (!fits(target.in, moving + new_tables(target, to))) return Status::out_of_memory;
    for (u32 i = 0; i < from.count; ++i)
        target.pages[to.page + i] = {process.pages[from.page + i].frame, static_cast<u32>(rights),
                                     Hold::own, false};
    erase(process, from);
    return Status::ok;
}

Status World::process_start(Process& process, const Registers& r) {
    Handle handle;
    Status status = find(process, r[1], Kind::process, handle);
    if (status != Status::ok) return status;
    Process& target = *with_id(processes, handle.object);
    const u64 count = r[6];
    if (count > abi::kMaxStartHandles) return Status::too_large;
    if (count != 0 && !record_good(process, r[5], 8 * count, abi::kRead))
        return Status::invalid_argument;
    std::vector<Handle> copies;
    for (u64 i = 0; i < count; ++i) {
        const u64 named = read(process, r[5] + 8 * i);
        if (named >= abi::kMaxHandles || !process.handles.contains(static_cast<u32>(named)))
            return Status::bad_handle;
        copies.push_back(process.handles[static_cast<u32>(named)]);
    }
    if (target.state != State::created) return Status::invalid_argument;
    for (Handle copy : copies) {
        u32 index = 0;
        if (is(Mutation::kR9CopyRestamped)) copy.stamp = target.in;
        status = install(target, copy, index);
        if (status != Status::ok) break;
    }
    u32 tid = 0;
    if (status == Status::ok) status = thread_create(target, r[2], r[3], r[4], tid);
    if (status == Status::ok) {
        target.state = State::running;
    } else {
        target.handles.clear();
    }
    return status;
}

Status World::endpoint_create(Process& process, const Learned& learned, u32& handle) {
    if (!fits(process.in, 1)) return Status::out_of_memory;
    endpoints[learned.object].owner = process.in;
    const Status status = install(process, {Kind::endpoint, learned.object, process.in, 0}, handle);
    if (status != Status::ok) endpoints.erase(learned.object);
    return status;
}

bool World::within(Id budget, Id scope) const {
    while (budget != 0 && budget != scope)
        budget = budgets.at(budget).parent;
    return budget == scope;
}

Status World::mint(Process& process, const Registers& r, u32& handle) {
    Handle source;
    if (r[1] == static_cast<u64>(abi::MintSource::message)) {
        const auto call = process.open.find(r[2]);
        if (call == process.open.end()) return Status::invalid_argument;
        if (call->second.endpoint == 0 || call->second.caller.pid == 0) return Status::dead;
        source = {Kind::endpoint, call->second.endpoint, call->second.stamp, 0};
    } else if (r[1] == static_cast<u64>(abi::MintSource::handle)) {
        const Status status = find(process, r[2], Kind::endpoint, source);
        if (status != Status::ok) return status;
    } else {
        return Status::invalid_argument;
    }
    Handle narrow;
    if (r[6] != 0) {
        const Status status = find(process, r[6], Kind::budget, narrow);
        if (status != Status::ok) return status;
    }
    if (r[4] == 0) return Status::invalid_argument;
    const bool narrower =
        r[6] == 0 || within(narrow.object, source.stamp) || is(Mutation::kR9MintUnnarrowed);
    if (source.badge != 0 || !narrower) return Status::not_permitted;
    const Id stamp = r[6] == 0 ? source.stamp : narrow.object;
    hold(within(stamp, source.stamp), "I3: a minted handle's stamp is wider than its source's");
    return install(process, {Kind::endpoint, source.object, stamp, r[4]}, handle);
}

// ---- Budgets ----

Status World::budget_create(Process& process, const Registers& r, const Learned& learned,
                            u32& handle) {
    Handle named;
    Status status = find(process, r[1], Kind::budget, named);
    if (status != Status::ok) return status;
    if (!record_good(process, r[2], kSpecBytes, abi::kRead)) return Status::invalid_argument;
    const auto slot = [&](u32 place) { return read(process, r[2] + 8 * u64{place}); };
    Budget& parent = budgets.at(named.object);
    const u64 label_count = slot(3);
    if (parent.depth + 1 > abi::kMaxDepth || label_count > abi::kMaxLabels)
        return Status::too_large;
    Labels labels;
    for (u32 i = 0; i < label_count; ++i)
        labels.insert(slot(kSpecLabels + i));
    if (!subset(parent.labels, labels)) return Status::label_denied;
    if (labels.size() > parent.labels.size() && !budget_of(process).system &&
        !is(Mutation::kR8LabelsByAnybody))
        return Status::class_denied;
    const u64 pages = slot(0);
    const u64 count = slot(1);
    const u64 weight = slot(2);
    const u64 used = used_pages(named.object);
    const u64 own_page = is(Mutation::kR7OwnPageFree) ? 0 : 1;
    if (pages > parent.pages || used + pages + own_page > parent.pages)
        return Status::out_of_memory;
    if (count > parent.processes - used_processes(named.object)) return Status::out_of_processes;
    const u64 free = parent.weight - carved(named.object);
    const bool lives = std::ranges::any_of(
        parent.runs, [&](u32 pid) { return processes.at(pid).state != State::ended; });
    if (weight > free) return Status::invalid_argument;
    if (weight == free && free != 0 && lives && !is(Mutation::kR7AllWeight))
        return Status::invalid_argument;
    const u64 deadline = slot(kSpecDeadline);
    Budget& made = budgets[learned.object];
    made.parent = named.object;
    made.depth = parent.depth + 1;
    made.system = parent.system;
    made.account = parent.account;
    made.labels = labels;
    made.pages = pages;
    made.processes = count;
    made.weight = weight;
    if (parent.account == 0 || is(Mutation::kR8AccountChosen)) made.account = slot(kSpecAccount);
    const u64 length = ticks_of(deadline);
    if (length != kNever) made.deadline = booted + length;
    parent.children.push_back(learned.object);
    const Id stamp = is(Mutation::kR9NewStampedByObject) ? learned.object : process.in;
    status = install(process, {Kind::budget, learned.object, stamp, 0}, handle);
    if (status != Status::ok) {
        parent.children.pop_back();
        budgets.erase(learned.object);
        return status;
    }
    hold(labels.size() == parent.labels.size() || budget_of(process).system,
         "I6: labels were added by a user-class creator");
    return status;
}

Status World::budget_usage(Process& process, const Registers& r) {
    Handle named;
    const Status status = find(process, r[1], Kind::budget, named);
    if (status != Status::ok) return status;
    if (!record_good(process, r[2], kUsageBytes, abi::kWrite)) return Status::invalid_argument;
    const Budget& budget = budgets.at(named.object);
    const Budget& reader = budget_of(process);
    if (!reader.system && !subset(budget.labels, reader.labels) && !is(Mutation::kR1UsageUnchecked))
        return Status::label_denied;
    const u64 usage[] = {budget.pages,     used_pages(named.object),
                         budget.processes, used_processes(named.object),
                         budget.weight,    carved(named.object)};
    for (u64 place = 0; place < std::size(usage); ++place)
        write(process, r[2] + 8 * place, usage[place]);
    return Status::ok;
}

void World::budget_destroy(Who who, const Registers& r, bool reap) {
    Handle named;
    Thread& caller = *thread(who);
    const Status status = find(processes.at(who.pid), r[1], Kind::budget, named);
    if (status != Status::ok) return finish(caller, status);
    Id top = named.object;
    if (reap) {
        const Budget& budget = budgets.at(top);
        if (budget.children.empty()) return finish(caller, Status::ok, 0);
        top = budget.children.front();
    }
    destroy(top, who);
    if (thread(who) == nullptr) return;
    const u64 left = reap ? budgets.at(named.object).children.size() : 0;
    finish(*thread(who), Status::ok, left);
}

void World::subtree(Id top, std::vector<Id>& order) const {
    for (const Id child : budgets.at(top).children)
        subtree(child, order);
    order.push_back(top);
}

// R10, by its steps; within a step from the leaves up.
void World::destroy(Id top, Who caller) {
    std::vector<Id> dying;
    subtree(top, dying);
    const auto dies = [&](Id id) { return std::ranges::find(dying, id) != dying.end(); };
    const Id parent = budgets.at(top).parent;
    const u64 before = parent == 0 ? 0 : used_pages(parent);
    // 2: processes end, the caller's last. One whose object is charged to a dying budget makes no notice.
    const auto kill = [&](u32 pid) {
        Process& process = processes.at(pid);
        if (dies(process.charged) && !is(Mutation::kR10NoticeOfDying)) process.exits = 0;
        end_process(pid, abi::ExitCause::killed, 0, {});
    };
    for (const Id id : dying) {
        const std::vector<u32> pids = budgets.at(id).runs;
        for (const u32 pid : pids) {
            if (pid != caller.pid && processes.contains(pid) &&
                processes.at(pid).state != State::ended)
                kill(pid);
        }
    }
    if (processes.contains(caller.pid) && dies(processes.at(caller.pid).in) &&
        processes.at(caller.pid).state != State::ended)
        kill(caller.pid);
    // 3: process objects charged to dying budgets, wherever they run.
    for (const Id id : dying) {
        while (!budgets.at(id).charged.empty()) {
            const u32 pid = budgets.at(id).charged.front();
            Process& process = processes.at(pid);
            if (process.exits != 0 && process.state == State::ended)
                std::erase(endpoints.at(process.exits).notices, pid);
            process.exits = 0;
            if (process.state == State::ended) {
                free_process(pid);
            } else {
                end_process(pid, abi::ExitCause::killed, 0, {});
            }
        }
    }
    // 4: what messages can reach.
    for (const Id id : dying) {
        for (auto endpoint = endpoints.begin(); endpoint != endpoints.end();) {
            const Id at = endpoint->first;
            const bool ends = endpoint->second.owner == id;
            ++endpoint;
            if (ends) end_endpoint(at);
        }
        for (auto device = devices.begin(); device != devices.end();) {
            const Id at = device->first;
            const bool ends = device->second.owner == id;
            ++device;
            if (ends) end_device(at);
        }
        stamp_dies(id);
    }
    // 6: handles to the dying budgets, and stamped with them.
    close([&](const Handle& handle) {
        const bool stamped = dies(handle.stamp) && !is(Mutation::kR10HandlesStay);
        return stamped || (handle.kind == Kind::budget && dies(handle.object));
    });
    // 8: PIDs that outlive the carve count in the parent.
    for (const Id id : dying) {
        for (const u32 pid : budgets.at(id).runs) {
            processes.at(pid).in = parent;
            if (!is(Mutation::kR10PidsFreed)) budgets.at(parent).runs.push_back(pid);
        }
    }
    const u64 carve = budgets.at(top).pages + (is(Mutation::kR7OwnPageFree) ? 0 : 1);
    if (parent != 0) std::erase(budgets.at(parent).children, top);
    for (const Id id : dying)
        budgets.erase(id);
    if (parent == 0) root = 0;
    destroyed_ = true;
    if (parent != 0 && !is(Mutation::kR6ChildrenByUse))
        hold(used_pages(parent) <= before - carve, "I10: a carve does not return whole");
}

// ---- Ends ----

void World::take_apart(Who who) {
    Process& process = processes.at(who.pid);
    Thread& ended = process.threads.at(who.tid);
    if (ended.waits == Waits::reply) {
        const auto [server, id] = open_of(who);
        abandon(server, id, false);
    }
    end_wait(who);
    unload(process, ended);
    const bool was_full = process.open.size() == abi::kMaxOpenCalls;
    std::vector<u64> held;
    for (const auto& [id, call] : process.open) {
        if (call.holder == who) held.push_back(id);
    }
    for (const u64 id : held) {
        const OpenCall call = process.open.at(id);
        const bool kept = is(Mutation::kR4bServerKeepsLend);
        abi::Lend lend = call.lent.count == 0 ? abi::Lend::none : abi::Lend::returned;
        if (kept && call.lent.count != 0) lend = abi::Lend::consumed;
        close_open(who.pid, id, kept);
        const Status status = is(Mutation::kR4bCallersWait) ? Status::timeout : Status::dead;
        if (call.caller.pid != 0) fail(call.caller, status, lend);
    }
    if (was_full) pump(who.pid);
    process.threads.erase(who.tid);
}

void World::end_thread(Who who) {
    if (processes.at(who.pid).threads.size() == 1)
        return end_process(who.pid, abi::ExitCause::exited, 0, who);
    take_apart(who);
}

void World::end_process(u32 pid, abi::ExitCause cause, u32 code, Who guilty) {
    Process& process = processes.at(pid);
    process.state = State::ended;
    process.cause = cause;
    process.code = code;
    const Thread* blamed = guilty.pid == pid ? thread(guilty) : nullptr;
    if (cause != abi::ExitCause::killed && blamed != nullptr && blamed->current != 0) {
        const OpenCall& call = process.open.at(blamed->current);
        process.blamed = call.account;
        process.blamed_labels = call.labels;
    }
    process.labels = budget_of(process).labels;
    process.trusted = budget_of(process).system;
    while (!process.threads.empty())
        take_apart({pid, process.threads.begin()->first});
    process.handles.clear();
    for (const auto& [page, leaf] : process.pages) {
        hold(leaf.hold == Hold::own, "a page of an ended process is lent or borrowed (R4b)");
        if (!leaf.device) frames.erase(leaf.frame);
    }
    process.pages.clear();
    give_notice(pid);
}

void World::free_process(u32 pid) {
    const Process& process = processes.at(pid);
    const Id id = process.id;
    close(
        [&](const Handle& handle) { return handle.kind == Kind::process && handle.object == id; });
    if (budgets.contains(process.in)) std::erase(budgets.at(process.in).runs, pid);
    std::erase(budgets.at(process.charged).charged, pid);
    processes.erase(pid);
}

void World::end_endpoint(Id id) {
    Endpoint& endpoint = endpoints.at(id);
    while (!endpoint.receivers.empty())
        end_receive(endpoint.receivers.front(), Status::dead);
    while (!endpoint.groups.empty())
        fail(endpoint.groups.front().members.front(), Status::dead, abi::Lend::none);
    for (auto& [pid, process] : processes) {
        for (auto& [number, call] : process.open) {
            if (call.endpoint != id) continue;
            call.endpoint = 0;
            if (Thread* holder = thread(call.holder)) std::erase(holder->reports, number);
            const Who caller = call.caller;
            if (caller.pid == 0) continue;
            const abi::Lend lend = abandon(pid, number, true);
            fail(caller, Status::dead, lend);
        }
        if (process.exits == id && process.state != State::ended) process.exits = 0;
    }
    while (!endpoint.notices.empty()) {
        const u32 pid = endpoint.notices.front();
        endpoint.notices.erase(endpoint.notices.begin());
        free_process(pid);
    }
    endpoints.erase(id);
    close(
        [&](const Handle& handle) { return handle.kind == Kind::endpoint && handle.object == id; });
}

void World::end_device(Id id) {
    Device& device = devices.at(id);
    while (!device.waiters.empty())
        end_receive(device.waiters.front(), Status::dead);
    devices.erase(id);
    close([&](const Handle& handle) { return handle.kind == Kind::device && handle.object == id; });
}

void World::stamp_dies(Id id) {
    std::vector<Who> queued;
    for (const auto& [pid, process] : processes) {
        for (const auto& [tid, waiting] : process.threads) {
            if ((waiting.waits == Waits::send || waiting.waits == Waits::call) &&
                waiting.through == id)
                queued.push_back({pid, tid});
        }
    }
    if (!is(Mutation::kR10QueuedStay)) {
        for (const Who who : queued)
            fail(who, Status::dead, abi::Lend::none);
    }
    if (is(Mutation::kR10TakenCallsStay)) return;
    for (auto& [pid, process] : processes) {
        for (auto& [number, call] : process.open) {
            if (call.stamp != id || call.caller.pid == 0) continue;
            const Who caller = call.caller;
            const abi::Lend lend = abandon(pid, number, true);
            fail(caller, Status::dead,
                 is(Mutation::kR13RevokedReturns) && lend == abi::Lend::consumed
                     ? abi::Lend::returned
                     : lend);
        }
    }
}

// ---- Entries ----

bool World::enter(u64 when) {
    now = when;
    destroyed_ = false;
    for (;;) {
        u64 due = kNever;
        Who expired;
        Id ends = 0;
        for (const auto& [pid, process] : processes) {
            for (const auto& [tid, waiting] : process.threads) {
                if (waiting.waits != Waits::nothing && waiting.until < due) {
                    due = waiting.until;
                    expired = {pid, tid};
                }
            }
        }
        for (const auto& [id, budget] : budgets) {
            if (budget.deadline < due) {
                due = budget.deadline;
                ends = id;
            }
        }
        if (due > now) return destroyed_;
        if (ends != 0) {
            destroy(ends, {});
            continue;
        }
        Thread& waiting = *thread(expired);
        if (waiting.waits == Waits::send || waiting.waits == Waits::call) {
            fail(expired, Status::timeout, abi::Lend::none);
        } else if (waiting.waits == Waits::reply) {
            const auto [server, id] = open_of(expired);
            const abi::Lend lend = abandon(server, id, false);
            fail(expired, is(Mutation::kR13TimeoutAsDead) ? Status::dead : Status::timeout, lend);
        } else {
            end_receive(expired, Status::timeout);
        }
    }
}

void World::call(Who who, const Registers& registers, const Learned& learned) {
    Thread& caller = *thread(who);
    Process& process = processes.at(who.pid);
    caller.registers = registers;
    caller.defined = (u32{1} << abi::kCallRegisters) - 1;
    const Registers& r = registers;
    if (r[0] <= abi::kCallBase || r[0] > abi::kCallBase + abi::kCallCount)
        return finish(caller, Status::invalid_argument);
    u64 first = 0;
    u32 handle = 0;
    Status status = Status::ok;
    switch (static_cast<Call>(r[0] - abi::kCallBase)) {
    case Call::map_anon: status = map_anon(process, r, first); return finish(caller, status, first);
    case Call::unmap: return finish(caller, unmap(process, r));
    case Call::set_flags: return finish(caller, set_flags(process, r));
    case Call::map_fixed: return finish(caller, map_fixed(process, r));
    case Call::map_device: return map_device(process, caller);
    case Call::dma_alloc: {
        Handle device;
        status = find(process, r[1], Kind::device, device);
        return finish(caller, status == Status::ok ? Status::wrong_object : status);
    }
    case Call::device_info: return device_info(process, caller);
    case Call::thread_create:
        status = thread_create(process, r[1], r[2], r[3], handle);
        return finish(*thread(who), status, status == Status::ok ? handle : 0);
    case Call::thread_exit: return end_thread(who);
    case Call::process_exit:
        return end_process(who.pid, abi::ExitCause::exited, static_cast<u32>(r[1]), who);
    case Call::process_create:
        status = process_create(process, r, learned, handle);
        return finish(caller, status, handle);
    case Call::process_map: return finish(caller, process_map(process, r));
    case Call::process_start: return finish(caller, process_start(process, r));
    case Call::endpoint_create:
        status = endpoint_create(process, learned, handle);
        return finish(caller, status, handle);
    case Call::mint: status = mint(process, r, handle); return finish(caller, status, handle);
    case Call::call: return send(who, true);
    case Call::send: return send(who, false);
    case Call::receive: return receive(who, 0);
    case Call::reply: {
        u64 mask = 0;
        status = answer(who, r[1], first, mask);
        return finish(caller, status, first, mask);
    }
    case Call::reply_receive: {
        u64 mask = 0;
        status = answer(who, r[6], first, mask);
        if (status != Status::ok) return finish(caller, status);
        return receive(who, first | mask << abi::kReplyMaskShift);
    }
    case Call::serve:
        if (!process.open.contains(r[abi::kMessageRegister]))
            return finish(caller, Status::invalid_argument);
        caller.current = r[abi::kMessageRegister];
        return finish(caller, Status::ok);
    case Call::handle_close:
        if (r[1] >= abi::kMaxHandles || process.handles.erase(static_cast<u32>(r[1])) == 0)
            return finish(caller, Status::bad_handle);
        return finish(caller, Status::ok);
    case Call::budget_create:
        status = budget_create(process, r, learned, handle);
        return finish(caller, status, handle);
    case Call::budget_destroy: return budget_destroy(who, r, false);
    case Call::budget_reap: return budget_destroy(who, r, true);
    case Call::budget_usage: return finish(caller, budget_usage(process, r));
    case Call::time_now: return finish(caller, Status::ok, learned.micros);
    case Call::random: return finish(caller, Status::ok, learned.random);
    case Call::system_reset: {
        // One that is granted ends the machine, and nobody asks what it did.
        Handle device;
        status = find(process, r[1], Kind::device, device);
        if (status != Status::ok) return finish(caller, status);
        return finish(caller,
                      r[2] < 1 || r[2] > 3 ? Status::invalid_argument : Status::wrong_object);
    }
    }
}

void World::fault(Who who, u32 right, abi::FaultCode code, u64 address) {
    if (right != 0 && reaches(processes.at(who.pid), address, right)) return;
    end_process(who.pid, abi::ExitCause::faulted, static_cast<u32>(code), who);
}

void World::interrupt(Device& device) {
    if (!device.enabled) return;
    device.enabled = is(Mutation::kR5StaysUnmasked);
    if (!device.waiters.empty())
        return end_receive(device.waiters.front(), Status::ok,
                           static_cast<u64>(abi::Received::interrupt));
    device.fired = !is(Mutation::kR5FiredForgotten);
}

// ---- Invariants ----

std::string World::broken() const {
    if (!broken_.empty()) return broken_;
    std::string first;
    const auto must = [&](bool condition, const char* law) {
        if (!condition && first.empty()) first = law;
    };
    const auto live = [&](const Handle& handle) {
        switch (handle.kind) {
        case Kind::budget: return budgets.contains(handle.object);
        case Kind::endpoint: return endpoints.contains(handle.object);
        case Kind::device: return devices.contains(handle.object);
        case Kind::process:
            return std::ranges::any_of(processes,
                                       [&](const auto& p) { return p.second.id == handle.object; });
        }
        return false;
    };
    std::map<u64, u32> reachable;
    for (const auto& [pid, process] : processes) {
        for (const auto& [index, handle] : process.handles) {
            must(live(handle), "I1: a handle names no live object");
            must(budgets.contains(handle.stamp), "I2: a handle's stamp is gone");
            must(handle.badge == 0 || handle.kind == Kind::endpoint,
                 "I3: a badge without endpoint");
        }
        for (const auto& [page, leaf] : process.pages) {
            must((leaf.rights & abi::kWrite) == 0 || (leaf.rights & abi::kExecute) == 0,
                 "I9: a page is writable and executable");
            if (!leaf.device && leaf.hold != Hold::lent) reachable[leaf.frame] += 1;
        }
        for (const auto& [id, call] : process.open) {
            must(id != 0 && id <= process.last_message, "I12: a message id out of order");
            must(call.told <= 1, "I15: an abandoned call was reported twice");
            if (call.caller.pid == 0) continue;
            must(budgets.contains(call.stamp), "I2: a taken call's stamp is gone");
            const Budget& from = budget_of(processes.at(call.caller.pid));
            must(may_send(from, budget_of(process), true), "I7: a taken call against the labels");
        }
        for (const auto& [tid, waiting] : process.threads) {
            must(waiting.waits == Waits::nothing || waiting.until >= now,
                 "I13: a wait is over its time");
            if (waiting.waits == Waits::receive)
                must(waiting.badge == 0, "I4: a badged handle receives");
            if (waiting.waits != Waits::send && waiting.waits != Waits::call) continue;
            must(budgets.contains(waiting.through), "I2: a queued message's stamp is gone");
            const Budget& owner = budgets.at(endpoints.at(waiting.at).owner);
            must(may_send(budget_of(process), owner, waiting.waits == Waits::call),
                 "I7: a queued message against the labels");
            for (const Handle& handle : waiting.handles)
                must(handle.object == 0 || budgets.contains(handle.stamp),
                     "I2: a handle on its way has a dead stamp");
        }
    }
    for (const auto& [frame, spaces] : reachable)
        must(spaces == 1, "I9: a frame is reachable from two spaces");
    for (const auto& [id, budget] : budgets) {
        must(used_pages(id) <= budget.pages && used_processes(id) <= budget.processes &&
                 carved(id) <= budget.weight,
             "I5: use over a limit");
        if (budget.parent == 0) continue;
        const Budget& parent = budgets.at(budget.parent);
        must(subset(parent.labels, budget.labels), "I6: labels shrink downward");
        must(budget.system == parent.system || id == users, "I8: class is not inherited");
        must(parent.account == 0 || budget.account == parent.account,
             "I8: account is not inherited");
    }
    return first;
}

}  // namespace ravelin::model::calls
