// See calls_beside.h.
#include "tests/differential/calls_beside.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <vector>

#include "core/memory/table.h"
#include "tests/differential/by_hand.h"
#include "tests/differential/kernel_view.h"

namespace ravelin::differential {

namespace calls = model::calls;
using abi::Call;
using abi::Status;
using calls::Kind;
using calls::Who;
using calls::World;

std::uint64_t Choice::below(std::uint64_t bound) {
    if (bytes_ == nullptr) return random_() % bound;
    std::uint64_t value = 0;
    for (std::uint64_t range = 1; range < bound && left_ != 0; range <<= 8) {
        value = value << 8 | *bytes_++;
        --left_;
        if (range >= std::uint64_t{1} << 56) break;
    }
    return value % bound;
}

namespace {

using Registers = calls::Registers;

// ---- The model's state as a view, in the kernel's order ----

u64 who(Who one) {
    return u64{one.pid} << 16 | one.tid;
}

void put_handle(View& view, const calls::Handle& handle) {
    view.put("object", handle.object);
    if (handle.object == 0) return;
    view.put("stamp", handle.stamp);
    view.put("badge", handle.badge);
}

void put_budget(View& view, const World& world, u64 id) {
    const calls::Budget& budget = world.budgets.at(id);
    view.put("budget", id);
    view.put("parent", budget.parent);
    view.put("depth", budget.depth);
    view.put("system", budget.system);
    view.put("account", budget.account);
    view.put("labels", budget.labels.size());
    for (const u64 label : budget.labels)
        view.put("label", label);
    view.put("page_limit", budget.pages);
    view.put("pages_used", world.used_pages(id));
    view.put("process_limit", budget.processes);
    view.put("processes_used", world.used_processes(id));
    view.put("weight_limit", budget.weight);
    view.put("weight_carved", world.carved(id));
    view.put("deadline", budget.deadline);
    for (const u64 child : budget.children)
        put_budget(view, world, child);
}

void put_thread(View& view, u32 tid, const calls::Thread& thread) {
    using calls::Waits;
    view.put("thread", tid);
    view.put("waits", static_cast<u64>(thread.waits));
    view.put("entry", thread.entry);
    view.put("stack", thread.stack);
    view.put("current", thread.current);
    for (const u64 id : thread.reports)
        view.put("report", id);
    if (thread.waits == Waits::nothing) return;
    const bool queued = thread.waits == Waits::send || thread.waits == Waits::call;
    if (queued || thread.waits == Waits::receive || thread.waits == Waits::interrupt)
        view.put("at", thread.at);
    view.put("until", thread.until);
    if (!queued) return;
    view.put("through", thread.through);
    view.put("badge", thread.badge);
    if (!thread.carries) return;
    view.put("carries", thread.handles.size());
    for (const calls::Handle& handle : thread.handles)
        put_handle(view, handle);
    view.put("run", thread.run.address);
    view.put("pages", thread.run.count);
}

void put_process(View& view, const World& world, u32 pid, const calls::Process& process) {
    view.put("process", process.id);
    view.put("pid", pid);
    view.put("state", static_cast<u64>(process.state));
    view.put("in", process.in);
    view.put("charged", process.charged);
    view.put("exits", process.exits);
    if (process.state == calls::State::ended) {
        view.put("cause", static_cast<u64>(process.cause));
        view.put("code", process.code);
        view.put("blamed", process.blamed);
        for (const u64 label : process.blamed_labels)
            view.put("label", label);
        return;
    }
    view.put("last_tid", process.last_tid);
    view.put("last_message", process.last_message);
    for (const auto& [index, handle] : process.handles) {
        view.put("handle", index);
        put_handle(view, handle);
    }
    for (const auto& [id, call] : process.open) {
        view.put("open", id);
        view.put("caller", who(call.caller));
        view.put("holder", who(call.holder));
        view.put("endpoint", call.endpoint);
        view.put("account", call.account);
        view.put("lent", call.lent.count);
        if (call.lent.count != 0) view.put("borrowed", call.borrowed);
    }
    view.put("pages", world.ram_pages(process));
    view.put("tables", world.tables(process));
    for (const auto& [page, leaf] : process.pages) {
        view.put("page", page);
        view.put("rights", leaf.rights);
        view.put("lent", static_cast<u64>(leaf.hold));
        view.put("frame", leaf.frame);
    }
    for (const auto& [tid, thread] : process.threads)
        put_thread(view, tid, thread);
}

void put_endpoint(View& view, const World& world, u64 id, const calls::Endpoint& endpoint) {
    view.put("endpoint", id);
    view.put("owner", endpoint.owner);
    for (const Who one : endpoint.receivers)
        view.put("receiver", who(one));
    for (const calls::Group& group : endpoint.groups) {
        view.put("group", group.members.size());
        for (const Who one : group.members)
            view.put("member", who(one));
    }
    std::map<u64, const calls::Group*> turns;
    for (const calls::Group& group : endpoint.groups)
        turns[group.send_turn] = &group;
    for (const auto& [turn, group] : turns) {
        for (const Who one : group->members) {
            if (world.thread(one)->waits == calls::Waits::send) view.put("sends", who(one));
        }
    }
    for (const u32 pid : endpoint.notices)
        view.put("notice", pid);
}

View view_of(const World& world) {
    View view;
    if (world.root != 0) put_budget(view, world, world.root);
    for (const auto& [pid, process] : world.processes)
        put_process(view, world, pid, process);
    for (const auto& [id, device] : world.devices) {
        view.put("device", id);
        view.put("fired", device.fired);
        view.put("enabled", device.enabled);
        for (const Who one : device.waiters)
            view.put("waiter", who(one));
    }
    for (const auto& [id, endpoint] : world.endpoints)
        put_endpoint(view, world, id, endpoint);
    return view;
}

// ---- The machine and the model, side by side ----

constexpr const char* kCallNames[] = {
    "unknown",       "map_anon",       "unmap",           "set_flags",    "map_device",
    "dma_alloc",     "thread_create",  "thread_exit",     "process_exit", "process_create",
    "process_map",   "process_start",  "endpoint_create", "mint",         "call",
    "send",          "receive",        "reply",           "serve",        "handle_close",
    "budget_create", "budget_destroy", "budget_usage",    "time_now",     "random",
    "system_reset",  "map_fixed",      "device_info",     "budget_reap",  "reply_receive"};
static_assert(std::size(kCallNames) == abi::kCallCount + 1);

std::string hex(u64 value) {
    char text[19];
    std::snprintf(text, sizeof text, "%#llx", static_cast<unsigned long long>(value));
    return text;
}

calls::Booted booted(ByHand& machine) {
    Kernel& kernel = machine.kernel;
    Process& first = *machine.thread(0)->process;
    calls::Booted start;
    start.now = kernel.booted.value;
    start.root_pages = kernel.root->page_limit;
    start.root = kernel.root->head.id;
    start.system = kernel.system->head.id;
    start.users = kernel.users->head.id;
    start.process = first.head.id;
    start.pid = first.pid;
    for (u32 place = 0; place < kDevices.size(); ++place) {
        const DeviceFact& fact = kDevices[place];
        calls::Device device;
        device.kind = fact.kind;
        device.model = fact.model;
        device.address = fact.kind == DeviceKind::interrupt ? fact.source : fact.address;
        device.pages = fact.pages;
        start.devices.emplace_back(find_handle(first, abi::kBootReset + place)->object->id, device);
    }
    return start;
}

class Beside {
  public:
    Beside(Choice& from, u32 harts, calls::Mutation mutation, CallsMet& counts, std::string* text,
           bool fills)
        : fills_(fills),
          choice_(from),
          machine_(harts),
          kernel_(machine_.kernel),
          world_({}, booted(machine_), mutation),
          met_(counts),
          log_(text) {}

    std::optional<std::string> run() {
        compare();
        if (fills_) {
            prepare_full();
        } else {
            prepare();
        }
        const u32 most = fills_ ? kMostFullSteps : kMostSteps;
        while (wrong_.empty() && step_ < most && !choice_.over()) {
            if (!step()) break;
        }
        if (wrong_.empty()) compare_memory(true);
        if (wrong_.empty()) wrong_ = broken_law(kernel_);
        if (wrong_.empty()) return std::nullopt;
        return "step " + std::to_string(step_) + ": " + wrong_;
    }

  private:
    u64 below(u64 bound) { return choice_.below(bound); }
    bool one_in(u64 count) { return below(count) == 0; }

    void note(const std::string& text) {
        if (log_ != nullptr) *log_ += std::to_string(step_) + ": " + text + "\n";
    }

    // -- Comparison --

    void part(const std::string& what) {
        if (wrong_.empty()) wrong_ = what;
    }

    const void* frame_at(const Process& process, u32 page) const {
        if (process.space.root.value == 0) return nullptr;
        auto& kernel = const_cast<Kernel&>(kernel_);  // NOLINT: tables have no read-only view
        const Tables<Port::Format> tables(kernel.port, kernel.frames, process.space.root);
        const auto leaf = tables.find(page);
        if (leaf == 0 || !kernel.frames.contains(Port::Format::frame(leaf))) return nullptr;
        return kernel.port.frame_pointer(Port::Format::frame(leaf));
    }

    // Frames that the model has and the machine has not named yet: zeroed, and nobody else's (I9).
    void bind_frames() {
        std::erase_if(frames_,
                      [&](const auto& pair) { return !world_.frames.contains(pair.second); });
        if (frames_.size() == world_.frames.size()) return;
        std::set<u64> named;
        for (const auto& [frame, name] : frames_)
            named.insert(name);
        for (const auto& [pid, process] : world_.processes) {
            for (const auto& [page, leaf] : process.pages) {
                if (leaf.device || named.contains(leaf.frame)) continue;
                const Process* real = pid <= abi::kMaxPid ? kernel_.processes[pid] : nullptr;
                const void* memory = real == nullptr ? nullptr : frame_at(*real, page);
                if (memory == nullptr) continue;
                const u32 number = machine_.port.frame_number(memory).value;
                if (!frames_.emplace(number, leaf.frame).second)
                    part("a frame has two owners (I9)");
                if (world_.frames.at(leaf.frame).empty() && !is_zero(memory))
                    part("a new page is not zeroed (I9)");
            }
        }
    }

    static bool is_zero(const void* memory) {
        static const std::byte kZeroes[kPageSize] = {};
        return std::memcmp(memory, kZeroes, kPageSize) == 0;
    }

    void compare_memory(bool all) {
        for (const auto& [number, name] : frames_) {
            const std::vector<u64>& words = world_.frames.at(name);
            const void* memory = machine_.port.frame_pointer({number});
            if (words.empty() ? all && !is_zero(memory)
                              : std::memcmp(words.data(), memory, kPageSize) != 0)
                part("the memory of frame " + std::to_string(name) + " differs");
        }
    }

    void compare_registers() {
        for (const auto& [pid, process] : world_.processes) {
            const Process* real = kernel_.processes[pid];
            if (real == nullptr) continue;  // the views say so
            for (const auto& [tid, thread] : process.threads) {
                const Thread* twin = real->threads[tid];
                if (twin == nullptr || twin->state == ThreadState::waiting ||
                    thread.waits != calls::Waits::nothing)
                    continue;
                for (unsigned place = 0; place < abi::kCallRegisters; ++place) {
                    if ((thread.defined >> place & 1) == 0) continue;
                    const u64 given = twin->context.reg(place);
                    if (given == thread.registers[place]) continue;
                    return part("register " + std::to_string(place) + " of thread " +
                                std::to_string(pid) + "." + std::to_string(tid) + " is " +
                                hex(given) + ", of the model " + hex(thread.registers[place]));
                }
            }
        }
    }

    void compare() {
        if (!wrong_.empty()) return;
        if (world_.mutation == calls::Mutation::kNone) {
            const std::string law = world_.broken();
            if (!law.empty()) return part("the model breaks " + law);
        }
        compare_registers();
        bind_frames();
        const View real = differential::view_of(kernel_, [&](u32 frame) {
            const auto name = frames_.find(frame);
            if (name != frames_.end()) return name->second;
            return kernel_.frames.contains({frame}) ? u64{frame} << 32 : u64{frame};
        });
        const std::string difference = real.difference(view_of(world_));
        if (!difference.empty()) part("states differ, kernel first: " + difference);
        compare_memory(false);
        met_.entries = machine_.entries;
    }

    // -- Steps --

    // Harts that run a thread.
    std::vector<u32> busy() const {
        std::vector<u32> found;
        for (u32 hart = 0; hart < machine_.harts; ++hart) {
            if (machine_.thread(hart) != nullptr) found.push_back(hart);
        }
        return found;
    }

    static Who who_is(const Thread& thread) { return {thread.process->pid, thread.tid}; }

    // After an entry, harts that it kicked have entered too, and found what it made due.
    void settle(u64 entries) {
        if (machine_.entries > entries + 1) world_.enter(machine_.port.clock.value);
        compare();
    }

    void timer(u32 hart) {
        const u64 entries = machine_.entries;
        machine_.enter(hart, {.kind = TrapKind::timer});
        world_.enter(machine_.port.clock.value);
        settle(entries);
    }

    bool step() {
        const std::vector<u32> harts = busy();
        if (harts.empty()) {
            const u64 entries = machine_.entries;
            if (!machine_.next_timer()) return false;
            world_.enter(machine_.port.clock.value);
            settle(entries);
            return true;
        }
        ++step_;
        ++met_.steps;
        const u32 hart = harts[below(harts.size())];
        const u64 kind = below(100);
        if (fills_ && kind < 94) {
            fill(hart);
        } else if (kind < 80) {
            const Who caller = who_is(*machine_.thread(hart));
            make_call(hart, caller, crowded(caller) ? crowd_call(caller) : any_call());
        } else if (kind < 84) {
            machine_.port.clock += Ticks{1 + below(20'000)};
            note("time goes to " + std::to_string(machine_.port.clock.value));
            timer(hart);
        } else if (kind < 94 || fills_) {
            machine_.port.clock = std::max(machine_.port.clock, kernel_.harts[hart].slice_end);
            note("a slice ends");
            timer(hart);
        } else if (kind < 96) {
            const Who one = who_is(*machine_.thread(hart));
            if (world_.processes.at(one.pid).in != world_.root || one_in(20)) fault(hart);
        } else if (kind < 98) {
            interrupt(hart);
        } else {
            touch(who_is(*machine_.thread(hart)));
        }
        return true;
    }

    void interrupt(u32 hart) {
        calls::Device* device = nullptr;
        for (auto& [id, candidate] : world_.devices) {
            if (candidate.kind == abi::DeviceKind::interrupt) device = &candidate;
        }
        if (device == nullptr || !device->enabled) return;
        note("the device fires");
        const u64 entries = machine_.entries;
        machine_.port.pending[kDeviceSource] = true;
        machine_.enter(hart, {.kind = TrapKind::external});
        machine_.port.pending[kDeviceSource] = false;
        if (!world_.enter(machine_.port.clock.value)) world_.interrupt(*device);
        settle(entries);
    }

    void fault(u32 hart) {
        static constexpr FaultKind kKinds[] = {FaultKind::load, FaultKind::store, FaultKind::fetch,
                                               FaultKind::illegal};
        static constexpr u32 kRights[] = {abi::kRead, abi::kWrite, abi::kExecute, 0};
        static constexpr abi::FaultCode kCodes[] = {abi::FaultCode::load, abi::FaultCode::store,
                                                    abi::FaultCode::fetch, abi::FaultCode::illegal};
        const u64 which = below(4);
        const Who one = who_is(*machine_.thread(hart));
        const u64 address = place_of(world_.processes.at(one.pid)) + below(4096);
        note("a fault of kind " + std::to_string(which) + " at " + hex(address) + " by " +
             std::to_string(one.pid) + "." + std::to_string(one.tid));
        const u64 entries = machine_.entries;
        machine_.enter(hart, {.kind = TrapKind::fault,
                              .fault = kKinds[which],
                              .address = static_cast<Word>(address)});
        if (!world_.enter(machine_.port.clock.value))
            world_.fault(one, kRights[which], kCodes[which], address);
        settle(entries);
    }

    // The thread writes to its memory.
    void touch(Who one) {
        calls::Process& process = world_.processes.at(one.pid);
        const u64 address = place_of(process) + 8 * below(512);
        if (world_.reaches(process, address, abi::kWrite)) put(process, address, below(~u64{0}));
    }

    // A slot in both memories, if the process reaches it in both.
    void put(calls::Process& process, u64 address, u64 value) {
        if (!world_.reaches(process, address, abi::kWrite)) return;
        const auto page = static_cast<u32>(address / kPageSize);
        if (process.pages.at(page).device) return;
        world_.write(process, address, value);
        for (const Process* real : kernel_.processes) {
            if (real == nullptr || real->head.id != process.id) continue;
            const void* memory = frame_at(*real, page);
            if (memory != nullptr)
                std::memcpy(static_cast<std::byte*>(const_cast<void*>(memory)) +  // NOLINT
                                address % kPageSize,
                            &value, sizeof value);
        }
    }

    // -- Calls --

    static constexpr u32 kWeights[] = {
        /* unknown */ 1,
        /* map_anon */ 6,     /* unmap */ 3,         /* set_flags */ 3,
        /* map_device */ 1,   /* dma_alloc */ 1,     /* thread_create */ 6,
        /* thread_exit */ 1,  /* process_exit */ 1,  /* process_create */ 5,
        /* process_map */ 3,  /* process_start */ 5, /* endpoint_create */ 3,
        /* mint */ 5,         /* call */ 14,         /* send */ 10,
        /* receive */ 16,     /* reply */ 10,        /* serve */ 2,
        /* handle_close */ 2, /* budget_create */ 6, /* budget_destroy */ 2,
        /* budget_usage */ 2, /* time_now */ 1,      /* random */ 1,
        /* system_reset */ 1, /* map_fixed */ 3,     /* device_info */ 1,
        /* budget_reap */ 1,  /* reply_receive */ 8,
    };
    static_assert(std::size(kWeights) == abi::kCallCount + 1);

    u64 any_call() {
        u64 sum = 0;
        for (const u32 weight : kWeights)
            sum += weight;
        u64 place = below(sum);
        u64 number = 0;
        while (place >= kWeights[number])
            place -= kWeights[number++];
        return number;
    }

    // A process of many threads that all send: one group, up to its cap.
    static constexpr u32 kCrowd = abi::kWaitCap + 4;
    bool crowded(Who one) const { return crowd_ != 0 && one.pid == crowd_; }
    u64 crowd_call(Who one) const {
        const auto& process = world_.processes.at(one.pid);
        const bool grows = one.tid == 1 && process.threads.size() < kCrowd;
        return static_cast<u64>(grows ? Call::thread_create : Call::send);
    }

    u64 hostile() {
        static constexpr u64 kEdges[] = {0,
                                         1,
                                         2,
                                         7,
                                         8,
                                         15,
                                         17,
                                         64,
                                         65,
                                         255,
                                         1025,
                                         4095,
                                         4096,
                                         4097,
                                         65'537 * kPageSize,
                                         Port::Format::kUserEnd - kPageSize,
                                         Port::Format::kUserEnd,
                                         ~u32{0},
                                         u64{1} << 32,
                                         (u64{1} << 32) + 1,
                                         u64{1} << 62,
                                         u64{1} << 63,
                                         ~u64{0} - kPageSize + 1,
                                         ~u64{0} - 7,
                                         ~u64{0}};
        ++met_.hostile;
        return kEdges[below(std::size(kEdges))];
    }

    u64 argument(u64 likely) { return one_in(10) ? hostile() : likely; }

    u64 handle_of(const calls::Process& process, Kind kind, bool bare = false) {
        std::vector<u64> found;
        for (const auto& [index, handle] : process.handles) {
            if (handle.kind == kind && (!bare || handle.badge == 0)) found.push_back(index);
        }
        if (found.empty() || one_in(20)) return 1 + below(process.handles.size() + 2);
        return found[below(found.size())];
    }

    // The start of a page of the process, or one that it may ask for.
    u64 place_of(const calls::Process& process) {
        if (!process.pages.empty() && !one_in(8)) {
            auto page = process.pages.begin();
            std::advance(page, static_cast<long>(below(process.pages.size())));
            return u64{page->first} * kPageSize;
        }
        static constexpr u64 kPlaces[] = {0x1000,
                                          0x10000,
                                          0x20000,
                                          0x200000 - 0x1000,
                                          kMessageBase,
                                          kMessageBase + 0x5000,
                                          kAnonBase + 0x9000,
                                          0x2000'0000,
                                          0x3fff'f000};
        return kPlaces[below(std::size(kPlaces))];
    }

    // Room for a record in the process's own memory; 0 if it has none.
    u64 record_of(const calls::Process& process) {
        std::vector<u32> own;
        for (const auto& [page, leaf] : process.pages) {
            if (leaf.hold == calls::Hold::own && !leaf.device && (leaf.rights & abi::kWrite) != 0)
                own.push_back(page);
        }
        if (own.empty()) return 0;
        return u64{own[below(own.size())]} * kPageSize + 8 * below(40);
    }

    u64 pages_length() {
        static constexpr u32 kCounts[] = {1, 1, 1, 2, 3, 4, 17, 40};
        return kPageSize * u64{kCounts[below(std::size(kCounts))]};
    }

    u64 rights() {
        static constexpr u32 kRights[] = {abi::kRead | abi::kWrite,
                                          abi::kRead | abi::kWrite,
                                          abi::kWrite,
                                          abi::kRead,
                                          abi::kRead | abi::kExecute,
                                          abi::kWrite | abi::kExecute,
                                          0};
        return kRights[below(std::size(kRights))];
    }

    u64 timeout() {
        switch (below(8)) {
        case 0: return 0;
        case 1:
        case 2: return abi::kForever;
        case 3: return 100'000;
        default: return 1 + below(3'000);
        }
    }

    u64 message_of(const calls::Process& process) {
        if (process.open.empty()) return below(3);
        auto call = process.open.begin();
        std::advance(call, static_cast<long>(below(process.open.size())));
        return call->first;
    }

    // A body record with handles, or none.
    u64 body(calls::Process& process) {
        if (!one_in(3)) return 0;
        const u64 record = record_of(process);
        if (record == 0) return 0;
        const u64 count = one_in(10) ? hostile() : below(5);
        put(process, record, count);
        for (u64 place = 1; place <= abi::kMaxMessageHandles; ++place)
            put(process, record + 8 * place,
                argument(one_in(2) ? handle_of(process, Kind::endpoint)
                                   : 1 + below(process.handles.size() + 1)));
        return argument(record);
    }

    u64 spec(calls::Process& process, u64 named) {
        const u64 record = record_of(process);
        if (record == 0) return 0;
        u64 free_pages = 64;
        u64 free_weight = 100;
        calls::Labels labels;
        const auto slot = process.handles.find(static_cast<u32>(named));
        if (slot != process.handles.end() && slot->second.kind == Kind::budget) {
            const u64 id = slot->second.object;
            const calls::Budget& parent = world_.budgets.at(id);
            free_pages = parent.pages - std::min(parent.pages, world_.used_pages(id));
            free_weight = parent.weight - world_.carved(id);
            labels = parent.labels;
        }
        if (one_in(4)) labels.insert(7 + below(3));
        if (one_in(20)) labels.clear();
        const bool scope = one_in(6);
        u64 weight = scope ? 0 : std::min(free_weight, 1 + below(1'000));
        if (one_in(8)) weight = free_weight + below(2);
        put(process, record, argument(scope ? 0 : std::min(free_pages, below(160))));
        put(process, record + 8, argument(scope ? 0 : below(5)));
        put(process, record + 16, argument(weight));
        put(process, record + 24, argument(labels.size()));
        u64 place = 4;
        for (const u64 label : labels)
            put(process, record + 8 * place++, label);
        for (; place < 20; ++place)
            put(process, record + 8 * place, 9);
        put(process, record + 160, below(4));
        const u64 now = machine_.port.clock.value / kTicksPerMicro;
        put(process, record + 168, one_in(4) ? argument(now + below(4'000)) : abi::kForever);
        return argument(record);
    }

    u64 start_handles(calls::Process& process, u64& count) {
        const u64 record = record_of(process);
        count = record == 0 ? 0 : argument(below(7));
        for (u64 place = 0; record != 0 && place < std::min(count, u64{20}); ++place)
            put(process, record + 8 * place,
                argument(one_in(2) ? handle_of(process, Kind::endpoint)
                                   : 1 + below(process.handles.size() + 1)));
        return argument(record);
    }

    // The likely arguments of a call by a thread of the process.
    Registers arguments(calls::Process& process, u64 number) {
        Registers r{};
        r[0] = abi::kCallBase + number;
        const auto messages = [&] {
            for (unsigned word = 0; word < abi::kMessageWords; ++word)
                r[abi::kWordRegister + 2 * word] = below(1'000);
        };
        const auto cargo = [&](u64 most) {
            r[4] = body(process);
            if (!one_in(3)) return;
            r[5] = argument(place_of(process));
            r[6] = argument(1 + below(most));
        };
        switch (static_cast<Call>(number)) {
        case Call::map_anon:
            r[1] = argument(pages_length());
            r[2] = argument(rights());
            break;
        case Call::unmap:
            r[1] = argument(place_of(process));
            r[2] = argument(pages_length());
            break;
        case Call::set_flags:
        case Call::map_fixed:
            r[1] = argument(place_of(process));
            r[2] = argument(pages_length());
            r[3] = argument(rights());
            break;
        case Call::map_device:
        case Call::device_info: r[1] = argument(handle_of(process, Kind::device)); break;
        case Call::dma_alloc:
            r[1] = argument(handle_of(process, Kind::device));
            r[2] = argument(1);
            break;
        case Call::thread_create:
            for (unsigned place = 1; place <= 3; ++place)
                r[place] = argument(0x3000 + below(16));
            break;
        case Call::thread_exit: break;
        case Call::process_exit: r[1] = argument(below(256)); break;
        case Call::process_create:
            r[1] = argument(handle_of(process, Kind::budget));
            r[2] = one_in(4) ? 0 : argument(handle_of(process, Kind::endpoint, true));
            break;
        case Call::process_map:
            r[1] = argument(handle_of(process, Kind::process));
            r[2] = argument(place_of(process));
            r[3] = argument(place_of({}));
            r[4] = argument(pages_length());
            r[5] = argument(rights());
            break;
        case Call::process_start:
            r[1] = argument(handle_of(process, Kind::process));
            r[2] = 0x2000;
            r[3] = below(3);
            r[4] = below(3);
            r[5] = start_handles(process, r[6]);
            break;
        case Call::endpoint_create: break;
        case Call::mint: {
            const bool of_message = !process.open.empty() && one_in(2);
            r[1] = argument(of_message ? 1 : 2);
            r[2] = argument(of_message ? message_of(process)
                                       : handle_of(process, Kind::endpoint, true));
            r[4] = argument(1 + below(9));
            r[6] = one_in(2) ? 0 : argument(handle_of(process, Kind::budget));
            break;
        }
        case Call::call:
        case Call::send:
            r[1] = argument(handle_of(process, Kind::endpoint));
            r[2] = argument(timeout());
            cargo(number == static_cast<u64>(Call::call) ? 4 : 6);
            messages();
            break;
        case Call::reply_receive:
            r[6] = body(process);
            messages();
            r[abi::kMessageRegister] = argument(message_of(process));
            [[fallthrough]];
        case Call::receive:
            r[1] = one_in(8) ? 0
                             : argument(one_in(6) ? handle_of(process, Kind::device)
                                                  : handle_of(process, Kind::endpoint, true));
            r[2] = argument(timeout());
            r[4] = one_in(4) ? 0 : argument(record_of(process));
            r[5] = argument(one_in(3) ? 1 : 64);
            break;
        case Call::reply:
            r[1] = body(process);
            messages();
            r[abi::kMessageRegister] = argument(message_of(process));
            break;
        case Call::serve: r[abi::kMessageRegister] = argument(message_of(process)); break;
        case Call::handle_close: r[1] = argument(1 + below(process.handles.size() + 1)); break;
        case Call::budget_create:
            r[1] = argument(handle_of(process, Kind::budget));
            r[2] = spec(process, r[1]);
            break;
        case Call::budget_destroy:
        case Call::budget_reap: r[1] = argument(handle_of(process, Kind::budget)); break;
        case Call::budget_usage:
            r[1] = argument(handle_of(process, Kind::budget));
            r[2] = argument(record_of(process));
            break;
        case Call::time_now:
        case Call::random: break;
        case Call::system_reset:
            r[1] = argument(handle_of(process, Kind::device));
            r[2] = argument(below(5));
            break;
        default:
            r[0] = one_in(2) ? hostile() : abi::kCallBase + abi::kCallCount + 1 + below(3);
            for (unsigned place = 1; place < abi::kWordRegister; ++place)
                r[place] = hostile();
        }
        return r;
    }

    void make_call(u32 hart, Who caller, u64 number) {
        calls::Process& process = world_.processes.at(caller.pid);
        // The first program, and a caller's own budget, seldom end, so that sequences go on.
        if (process.in == world_.root && !one_in(20)) {
            const auto instead = [&](Call ends, Call other) {
                if (number == static_cast<u64>(ends)) number = static_cast<u64>(other);
            };
            instead(Call::process_exit, Call::receive);
            if (process.threads.size() == 1) instead(Call::thread_exit, Call::thread_create);
        }
        Registers r = arguments(process, number);
        const auto named = process.handles.find(static_cast<u32>(r[1]));
        if (number == static_cast<u64>(Call::budget_destroy) && named != process.handles.end() &&
            named->second.object == process.in && !one_in(20))
            r[1] = 0;
        if (crowded(caller) && number == static_cast<u64>(Call::send)) {
            r[2] = abi::kForever;
            r[4] = r[5] = r[6] = 0;
        }
        call(hart, caller, r);
    }

    Thread* twin(Who one) const {
        const Process* process = kernel_.processes[one.pid];
        return process == nullptr ? nullptr : process->threads[one.tid];
    }

    // What a call made, as its caller's handle names it.
    calls::Learned learned(Who caller, u64 number) const {
        calls::Learned found;
        found.micros = (machine_.port.clock.value - world_.booted) / kTicksPerMicro;
        const Thread* thread = twin(caller);
        if (thread == nullptr || thread->state == ThreadState::waiting ||
            thread->context.reg(0) != 0)
            return found;
        if (number == static_cast<u64>(Call::random)) found.random = thread->context.reg(1);
        const HandleSlot* slot = find_handle(*thread->process, thread->context.reg(1));
        const bool makes = number == static_cast<u64>(Call::budget_create) ||
                           number == static_cast<u64>(Call::process_create) ||
                           number == static_cast<u64>(Call::endpoint_create);
        if (!makes || slot == nullptr) return found;
        found.object = slot->object->id;
        if (slot->object->kind == ObjectKind::process)
            found.pid = reinterpret_cast<const Process*>(slot->object)->pid;
        return found;
    }

    void call(u32 hart, Who caller, const Registers& r) {
        if (machine_.ends_machine(hart, r)) return;
        const u64 number = r[0] > abi::kCallBase && r[0] <= abi::kCallBase + abi::kCallCount
                               ? r[0] - abi::kCallBase
                               : 0;
        if (log_ != nullptr) {
            std::string text = "hart " + std::to_string(hart) + ", thread " +
                               std::to_string(caller.pid) + "." + std::to_string(caller.tid) +
                               ": " + kCallNames[number];
            for (unsigned place = 1; place < abi::kWordRegister; ++place)
                text += " " + hex(r[place]);
            text += " message " + hex(r[abi::kMessageRegister]);
            note(text);
        }
        const u64 entries = machine_.entries;
        const u64 last_id = kernel_.last_id;
        const u32 retaken = twin(caller)->context.retaken;
        const bool due = world_.enter(machine_.port.clock.value);
        const View before = due ? View{} : view_of(world_);
        machine_.call(hart, r);
        if (due) {
            // The trap is taken again when the thread next runs; here it makes another call then.
            if (calls::Thread* later = world_.thread(caller)) {
                later->defined = 0;
                if (twin(caller) == nullptr || twin(caller)->context.retaken != retaken + 1)
                    part("a trap that made way for a deadline is not retaken");
            }
            machine_.follow();
            return settle(entries);
        }
        met_.calls[number] += 1;
        const calls::Learned what = learned(caller, number);
        if (what.object != 0 && what.object <= last_id) part("an id was given twice (I12)");
        world_.call(caller, r, what);
        const calls::Thread* after = world_.thread(caller);
        if (after != nullptr && after->waits == calls::Waits::nothing) {
            const u64 status = after->registers[0] % std::size(met_.statuses);
            met_.statuses[status] += 1;
            if (refused(number, static_cast<Status>(status), after->registers[3])) {
                const std::string difference = before.difference(view_of(world_));
                if (!difference.empty()) part("a refused call changed the model: " + difference);
            }
        }
        if (log_ != nullptr && twin(caller) != nullptr &&
            twin(caller)->state != ThreadState::waiting) {
            std::string text = "  gives";
            for (unsigned place = 0; place < 4; ++place)
                text += " " + hex(twin(caller)->context.reg(place));
            note(text);
        }
        compare();
        machine_.follow();
        settle(entries);
    }

    // Whether nothing may have happened, in a call that met nobody else.
    static bool refused(u64 number, Status status, u64 replied) {
        if (status == Status::ok) return false;
        switch (static_cast<Call>(number)) {
        case Call::call:
        case Call::send:
            return status != Status::label_denied && status != Status::refused &&
                   status != Status::timeout && status != Status::busy;
        case Call::reply_receive:
            if (replied != 0) return false;
            [[fallthrough]];
        case Call::receive: return status != Status::timeout && status != Status::invalid_argument;
        default: return true;
        }
    }

    // -- The beginning: budgets with processes that know each other's endpoints --

    // A hart that runs a thread of the process, once the others' slices have ended.
    bool runs(u32 pid, u32& hart) {
        for (u32 slice = 0; slice < 16 && wrong_.empty(); ++slice) {
            const std::vector<u32> harts = busy();
            if (harts.empty()) return false;
            for (const u32 candidate : harts) {
                hart = candidate;
                if (machine_.thread(candidate)->process->pid == pid) return true;
            }
            machine_.port.clock = std::max(machine_.port.clock, kernel_.harts[hart].slice_end);
            timer(hart);
        }
        return false;
    }

    // A call of a process's thread, and what it gave in register 1; 0 if it waits, or was refused.
    u64 as(u32 pid, Call number, std::initializer_list<u64> given) {
        u32 hart = 0;
        if (!runs(pid, hart)) return 0;
        const Who caller = who_is(*machine_.thread(hart));
        ++step_;
        ++met_.steps;
        Registers r{};
        r[0] = abi::kCallBase + static_cast<u64>(number);
        unsigned place = 0;
        for (const u64 value : given)
            r[++place] = value;
        call(hart, caller, r);
        const Thread* thread = twin(caller);
        const bool over = thread != nullptr && thread->state != ThreadState::waiting &&
                          thread->context.reg(0) == 0;
        return over ? thread->context.reg(1) : 0;
    }

    static constexpr u64 kMoved = 0x20000;  ///< where a process has pages from its start
    static constexpr u64 kPatience = 50'000;

    u64 map(u64 pages) {
        return as(first_, Call::map_anon, {pages * kPageSize, abi::kRead | abi::kWrite});
    }
    u64 mint(u64 endpoint, u64 badge, u64 stamp) {
        return as(first_, Call::mint,
                  {static_cast<u64>(abi::MintSource::handle), endpoint, 0, badge, 0, stamp});
    }

    // What a slot of the first program's page holds now.
    u64 slot(u64 page, u64 place) {
        const auto process = world_.processes.find(first_);
        if (process == world_.processes.end() || !world_.reaches(process->second, page, abi::kRead))
            return 0;
        return world_.read(process->second, page + 8 * place);
    }
    void put_first(u64 page, u64 place, u64 value) {
        const auto process = world_.processes.find(first_);
        if (process != world_.processes.end()) put(process->second, page + 8 * place, value);
    }

    // A budget below users or system; `scope`: one without limits, to be a stamp.
    u64 budget(u64 page, bool plain, bool scope) {
        const u64 labels = plain || scope ? 0 : below(3);
        const u64 slots[] = {plain ? 100 : 24 + below(100), 3, 100 + below(1'000)};
        for (u64 place = 0; place < sizeof(abi::BudgetSpec) / 8; ++place)
            put_first(page, place, place < std::size(slots) && !scope ? slots[place] : 0);
        put_first(page, 3, std::min(labels, u64{1}));
        put_first(page, 4, 6 + labels);
        put_first(page, 20, below(3));
        put_first(page, 21, one_in(5) ? 20'000 + below(60'000) : abi::kForever);
        const u64 parent = one_in(6) ? abi::kBootSystem : abi::kBootUsers;
        return as(first_, Call::budget_create, {parent, page});
    }

    // A process in the budget that starts with these handles and, perhaps, some memory. Its PID.
    u32 process(u64 page, u64 in, u64 exits, std::initializer_list<u64> given, bool memory) {
        const u64 handle = as(first_, Call::process_create, {in, exits});
        if (handle == 0) return 0;
        if (memory) {
            const u64 moved = map(3);
            as(first_, Call::process_map,
               {handle, moved, kMoved, 3 * kPageSize, abi::kRead | abi::kWrite});
        }
        u64 place = 0;
        for (const u64 value : given)
            put_first(page, place++, value);
        as(first_, Call::process_start, {handle, 0x2000, 0, 0, page, given.size()});
        const Process* init = kernel_.processes[first_];
        const HandleSlot* made =
            init == nullptr ? nullptr
                            : find_handle(*const_cast<Process*>(init),  // NOLINT: only looked at
                                          static_cast<Word>(handle));
        if (made == nullptr || made->object->kind != ObjectKind::process) return 0;
        return reinterpret_cast<const Process*>(made->object)->pid;
    }

    // A process makes an endpoint and sends the right to receive there to the first program.
    u64 fetch_endpoint(u32 server, u64 page, u64 meeting) {
        const u64 made = as(server, Call::endpoint_create, {});
        const auto twin = world_.processes.find(server);
        if (made == 0 || twin == world_.processes.end()) return 0;
        put(twin->second, kMoved, 1);
        put(twin->second, kMoved + 8, made);
        as(first_, Call::receive, {meeting, kPatience, 0, page, 8});
        as(server, Call::send, {1, kPatience, 0, kMoved});
        return slot(page, 17) == 1 ? slot(page, 18) : 0;
    }

    void prepare() {
        first_ = machine_.thread(0)->process->pid;
        if (one_in(10)) return;
        const u64 page = map(4);
        const u64 meeting = as(first_, Call::endpoint_create, {});
        const u64 other = as(first_, Call::endpoint_create, {});
        if (one_in(12)) return prepare_crowd(page, meeting);
        u64 endpoint = meeting;
        const u64 in = budget(page, false, false);
        const bool own = one_in(2);
        const u64 exits = one_in(3) ? 0 : other;
        const u32 server =
            process(page, in, exits, {mint(meeting, 9, 0), own ? other : meeting, in}, own);
        if (own && server != 0) endpoint = fetch_endpoint(server, page, meeting);
        if (endpoint == 0) return;
        const u64 stamp = one_in(2) ? budget(page, false, true) : 0;
        const u64 clients = 1 + below(2);
        for (u64 client = 1; client <= clients; ++client) {
            const u64 within = budget(page, false, false);
            if (within == 0) continue;
            const u64 minted = mint(endpoint, client, stamp);
            process(page, within, exits,
                    {minted, one_in(2) ? other : minted, one_in(2) ? in : within}, one_in(2));
        }
    }

    // Two budgets whose threads all call the first program, which takes more than it answers.
    void prepare_full() {
        first_ = machine_.thread(0)->process->pid;
        const u64 page = map(4);
        meeting_ = as(first_, Call::endpoint_create, {});
        for (u64 account = 0; account < 2; ++account) {
            for (u64 place = 0; place < sizeof(abi::BudgetSpec) / 8; ++place)
                put_first(page, place, 0);
            put_first(page, 0, 300);
            put_first(page, 1, 1);
            put_first(page, 2, 1'000);
            put_first(page, 20, account);
            put_first(page, 21, abi::kForever);
            const u64 in = as(first_, Call::budget_create, {abi::kBootUsers, page});
            const u64 minted = mint(meeting_, 1 + account, 0);
            process(page, in, 0, {minted}, false);
        }
        for (u32 thread = 0; thread < 2; ++thread)
            as(first_, Call::thread_create, {0x3000, 0, 0});
    }

    // The next call of a thread towards as many open calls as there may be, and beyond.
    void fill(u32 hart) {
        static constexpr u32 kCallers = 150;
        const Who caller = who_is(*machine_.thread(hart));
        const calls::Process& process = world_.processes.at(caller.pid);
        Registers r{};
        const auto is = [&](Call number) { r[0] = abi::kCallBase + static_cast<u64>(number); };
        const u64 open = process.open.size();
        met_.most_open = std::max(met_.most_open, open);
        if (caller.pid == first_ && open != 0 && one_in(open < abi::kMaxOpenCalls ? 30 : 3)) {
            is(Call::reply);
            r[abi::kMessageRegister] = message_of(process);
        } else if (caller.pid == first_) {
            is(Call::receive);
            r[1] = meeting_;
            r[2] = open < abi::kMaxOpenCalls ? abi::kForever : 2'000 * below(2);
        } else if (caller.tid == 1 && process.threads.size() < kCallers) {
            is(Call::thread_create);
            r[1] = 0x3000;
        } else {
            is(one_in(6) ? Call::send : Call::call);
            r[1] = 1;
            r[2] = one_in(40) ? 5'000 : abi::kForever;
        }
        call(hart, caller, r);
    }

    void prepare_crowd(u64 page, u64 meeting) {
        const u64 in = budget(page, true, false);
        const u64 minted = mint(meeting, 1, 0);
        if (in == 0 || minted == 0) return;
        crowd_ = process(page, in, 0, {minted, minted, minted}, false);
        as(first_, Call::receive, {0, kPatience});
    }

    const bool fills_;
    Choice& choice_;
    ByHand machine_;
    Kernel& kernel_;
    World world_;
    CallsMet& met_;
    std::string* log_;
    std::map<u32, u64> frames_;  ///< the machine's frames, by the model's names
    std::string wrong_;
    u32 step_ = 0;
    u32 crowd_ = 0;
    u32 first_ = 0;  ///< PID of the first program
    u64 meeting_ = 0;
};

}  // namespace

std::optional<std::string> run_beside(Choice& choice, std::uint32_t harts,
                                      model::calls::Mutation mutation, CallsMet& met,
                                      std::string* log) {
    return std::make_unique<Beside>(choice, harts, mutation, met, log, false)->run();
}

std::optional<std::string> fill_beside(Choice& choice, std::uint32_t harts,
                                       model::calls::Mutation mutation, CallsMet& met) {
    return std::make_unique<Beside>(choice, harts, mutation, met, nullptr, true)->run();
}

}  // namespace ravelin::differential
