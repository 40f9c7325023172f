// An executable reference of the calls (R1 to R11, R13, R14): budgets, processes, threads, handles,
// endpoints, messages, memory and devices, written from the specification and docs/abi.md, with nothing
// of core/ but its numbers.
//
// It keeps primary objects and no counters: what a budget uses, which tables a space needs and what a
// group's turn is are recomputed whenever they are asked for. Each call takes its raw registers and
// checks in the rules' order. What a machine decides by itself is told to it: ids of objects, PIDs and
// random numbers (Learned). It knows no scheduler: who runs is for the caller to say.
//
// Rule: a mutation replaces one rule by a wrong one, and changes nothing else. Invariant: broken() is
// empty; it names the first of I1 to I13 and I15 that the state, or the way to it, has broken.
// Bound: every question is a scan; a call is linear in the objects and mappings there are.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/abi/calls.h"
#include "core/abi/limits.h"

namespace ravelin::model::calls {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using Id = u64;
using Registers = std::array<u64, abi::kCallRegisters>;

inline constexpr u64 kNever = ~u64{0};
inline constexpr u64 kPageBytes = 4096;

enum class Mutation {
    kNone,
    kR1SendUnchecked,
    kR1TakeUnchecked,
    kR1NoWayBack,
    kR1UsageUnchecked,
    kR1NoticeUnchecked,
    kR2OneQueue,
    kR2NoTurns,
    kR2NoCap,
    kR2UnnamedShare,
    kR2LabelsIgnored,
    kR3LendComesBack,
    kR3NotReported,
    kR3ReportedTwice,
    kR3AbandonedCloses,
    kR4RoomUnchecked,
    kR4MostIgnored,
    kR4aOpenCallFree,
    kR4aAnyNumberOpen,
    kR4bServerKeepsLend,
    kR4bCallersWait,
    kR5FiredForgotten,
    kR5StaysUnmasked,
    kR6ObjectToItsBudget,
    kR6LendChargedOnce,
    kR6ChildrenByUse,
    kR7OwnPageFree,
    kR7AllWeight,
    kR7NoWeightRuns,
    kR8AccountChosen,
    kR8LabelsByAnybody,
    kR9NewStampedByObject,
    kR9CopyRestamped,
    kR9MintUnnarrowed,
    kR10HandlesStay,
    kR10PidsFreed,
    kR10NoticeOfDying,
    kR10TakenCallsStay,
    kR10QueuedStay,
    kR11WriteAndExecute,
    kR11TablesStay,
    kR11LentUnmaps,
    kR11FirstFit,
    kR11Replaces,
    kR13RevokedReturns,
    kR13TimeoutAsDead,
    kR13MaskIsAll,
    kR13PartialIsOk,
};

struct MutationInfo {
    Mutation mutation;
    std::string_view name;
    std::string_view breaks;  ///< what is wrong in the broken model
};

inline constexpr std::array kMutations = {
    MutationInfo{Mutation::kR1SendUnchecked, "R1SendUnchecked",
                 "a send is not held to the labels of the endpoint's owner"},
    MutationInfo{Mutation::kR1TakeUnchecked, "R1TakeUnchecked",
                 "a message is not held to the labels of who takes it"},
    MutationInfo{Mutation::kR1NoWayBack, "R1NoWayBack", "a call needs no way back"},
    MutationInfo{Mutation::kR1UsageUnchecked, "R1UsageUnchecked", "anybody reads any usage"},
    MutationInfo{Mutation::kR1NoticeUnchecked, "R1NoticeUnchecked",
                 "an exit notice goes to anybody"},
    MutationInfo{Mutation::kR2OneQueue, "R2OneQueue", "messages are taken in order of arrival"},
    MutationInfo{Mutation::kR2NoTurns, "R2NoTurns", "a group keeps its turn until it is empty"},
    MutationInfo{Mutation::kR2NoCap, "R2NoCap", "a group queues any number of messages"},
    MutationInfo{Mutation::kR2UnnamedShare, "R2UnnamedShare",
                 "budgets without an account are one group"},
    MutationInfo{Mutation::kR2LabelsIgnored, "R2LabelsIgnored",
                 "label sets of one account are one group"},
    MutationInfo{Mutation::kR3LendComesBack, "R3LendComesBack",
                 "an abandoned call's lend goes back to a caller that timed out"},
    MutationInfo{Mutation::kR3NotReported, "R3NotReported", "an abandoned call makes no notice"},
    MutationInfo{Mutation::kR3ReportedTwice, "R3ReportedTwice", "its notice is given twice"},
    MutationInfo{Mutation::kR3AbandonedCloses, "R3AbandonedCloses",
                 "an abandoned call is closed with its notice"},
    MutationInfo{Mutation::kR4RoomUnchecked, "R4RoomUnchecked",
                 "a message is taken by whom cannot pay for it"},
    MutationInfo{Mutation::kR4MostIgnored, "R4MostIgnored",
                 "a transfer may be longer than the receiver said"},
    MutationInfo{Mutation::kR4aOpenCallFree, "R4aOpenCallFree", "an open call costs no page"},
    MutationInfo{Mutation::kR4aAnyNumberOpen, "R4aAnyNumberOpen",
                 "a process takes any number of calls"},
    MutationInfo{Mutation::kR4bServerKeepsLend, "R4bServerKeepsLend",
                 "a server's end keeps what was lent to it"},
    MutationInfo{Mutation::kR4bCallersWait, "R4bCallersWait",
                 "a server's end tells its callers timeout"},
    MutationInfo{Mutation::kR5FiredForgotten, "R5FiredForgotten",
                 "an interrupt that nobody waits for is lost"},
    MutationInfo{Mutation::kR5StaysUnmasked, "R5StaysUnmasked",
                 "an interrupt that fired is not masked"},
    MutationInfo{Mutation::kR6ObjectToItsBudget, "R6ObjectToItsBudget",
                 "a process object is paid for by the budget it runs in"},
    MutationInfo{Mutation::kR6LendChargedOnce, "R6LendChargedOnce",
                 "who borrows pages does not pay for them"},
    MutationInfo{Mutation::kR6ChildrenByUse, "R6ChildrenByUse",
                 "a parent's usage counts what children use, not their limits"},
    MutationInfo{Mutation::kR7OwnPageFree, "R7OwnPageFree", "a budget's own page is not charged"},
    MutationInfo{Mutation::kR7AllWeight, "R7AllWeight",
                 "all the weight of a budget with a process may be carved"},
    MutationInfo{Mutation::kR7NoWeightRuns, "R7NoWeightRuns",
                 "a process may be made in a budget without free weight"},
    MutationInfo{Mutation::kR8AccountChosen, "R8AccountChosen",
                 "a child's account is the creator's choice"},
    MutationInfo{Mutation::kR8LabelsByAnybody, "R8LabelsByAnybody", "anybody adds labels"},
    MutationInfo{Mutation::kR9NewStampedByObject, "R9NewStampedByObject",
                 "a new budget's handle is stamped with that budget"},
    MutationInfo{Mutation::kR9CopyRestamped, "R9CopyRestamped",
                 "a copy is stamped with the receiver's budget"},
    MutationInfo{Mutation::kR9MintUnnarrowed, "R9MintUnnarrowed",
                 "a mint takes any budget for its stamp"},
    MutationInfo{Mutation::kR10HandlesStay, "R10HandlesStay",
                 "handles stamped with a dead budget stay"},
    MutationInfo{Mutation::kR10PidsFreed, "R10PidsFreed",
                 "PIDs that outlive a budget count nowhere"},
    MutationInfo{Mutation::kR10NoticeOfDying, "R10NoticeOfDying",
                 "a process whose object is charged to a dying budget makes a notice"},
    MutationInfo{Mutation::kR10TakenCallsStay, "R10TakenCallsStay",
                 "a taken call survives the stamp it came through"},
    MutationInfo{Mutation::kR10QueuedStay, "R10QueuedStay",
                 "a queued message survives the stamp it came through"},
    MutationInfo{Mutation::kR11WriteAndExecute, "R11WriteAndExecute",
                 "a page may be writable and executable"},
    MutationInfo{Mutation::kR11TablesStay, "R11TablesStay", "a table stays when it maps nothing"},
    MutationInfo{Mutation::kR11LentUnmaps, "R11LentUnmaps", "a borrower may unmap"},
    MutationInfo{Mutation::kR11FirstFit, "R11FirstFit", "placing starts from the area's start"},
    MutationInfo{Mutation::kR11Replaces, "R11Replaces", "map_fixed replaces what is there"},
    MutationInfo{Mutation::kR13RevokedReturns, "R13RevokedReturns",
                 "a taken call that is revoked tells its caller that the lend came back"},
    MutationInfo{Mutation::kR13TimeoutAsDead, "R13TimeoutAsDead",
                 "a taken call that times out is told dead"},
    MutationInfo{Mutation::kR13MaskIsAll, "R13MaskIsAll",
                 "a reply says that all its handles arrived"},
    MutationInfo{Mutation::kR13PartialIsOk, "R13PartialIsOk",
                 "a caller whose reply's handles did not all fit is told ok"},
};

/// The machine's page tables and areas, in pages; and how many handles a page of a table holds.
struct Layout {
    u32 user_pages = 1u << 18;
    u32 index_bits = 9;  ///< of a page's number at each level
    u32 levels = 3;
    u32 message_first = 0x4000;
    u32 message_pages = 1024;
    u32 anon_first = 0x10000;
    u32 anon_pages = 65536;
    u32 map_pages = 32768;  ///< of the anonymous area that one page of its map accounts for
    u32 slots = 64;
    u64 ticks_per_micro = 10;
};

enum class Kind { budget, endpoint, device, process };

struct Handle {
    Kind kind = Kind::budget;
    Id object = 0;  ///< 0: closed on its way
    Id stamp = 0;
    u64 badge = 0;
};

/// A thread, by its process; pid 0: none.
struct Who {
    u32 pid = 0;
    u32 tid = 0;
    auto operator<=>(const Who&) const = default;
};

using Labels = std::set<u64>;

/// Whether every label of the first is in the second.
bool subset(const Labels& some, const Labels& all);

struct Budget {
    Id parent = 0;
    u32 depth = 0;
    bool system = false;
    u64 account = 0;
    Labels labels;
    u64 pages = 0;  ///< limits
    u64 processes = 0;
    u64 weight = 0;
    u64 deadline = kNever;  ///< ticks
    std::vector<Id> children;
    std::vector<u32> runs;     ///< PIDs that count in it, in order
    std::vector<u32> charged;  ///< PIDs of the objects that it pays for
};

enum class Hold { own, lent, borrowed };

struct Page {
    u64 frame = 0;
    u32 rights = 0;
    Hold hold = Hold::own;
    bool device = false;
};

struct Run {
    u64 address = 0;
    u32 count = 0;
};

struct OpenCall {
    Who caller;  ///< none: abandoned
    Who holder;
    Id endpoint = 0;  ///< 0: it is gone
    Id stamp = 0;
    u64 account = 0;
    Labels labels;
    Run lent;
    u64 borrowed = 0;
    u32 told = 0;  ///< reports of its end to the holder
};

// Numbered as a view shows them.
enum class Waits { nothing, sleep, receive, send, call, reply, interrupt };

struct Thread {
    u64 entry = 0;
    u64 stack = 0;
    Registers registers{};
    u32 defined = 0;  ///< bits of the registers whose value is stated
    Waits waits = Waits::nothing;
    Id at = 0;  ///< endpoint or device
    Id through = 0;
    u64 badge = 0;
    u64 until = kNever;
    bool carries = false;
    std::vector<Handle> handles;
    Run run;
    u64 current = 0;  ///< an open call of its process
    std::vector<u64> reports;
    // For I11: messages taken before it since it is its group's oldest, and the most groups meanwhile.
    u32 passed = 0;
    u32 most_groups = 0;
};

enum class State { created, running, ended };

struct Process {
    Id id = 0;
    Id in = 0;
    Id charged = 0;
    State state = State::created;
    std::map<u32, Thread> threads;
    u32 last_tid = 0;
    std::map<u32, Handle> handles;
    std::map<u32, Page> pages;
    std::set<u32> stale_tables;  ///< of a mutation
    u32 anon_next = 0;
    u32 message_next = 0;
    std::map<u64, OpenCall> open;
    u64 last_message = 0;
    Id exits = 0;
    abi::ExitCause cause = abi::ExitCause::exited;
    u32 code = 0;
    u64 blamed = 0;
    Labels blamed_labels;
    Labels labels;
    bool trusted = false;
};

/// Messages of one group wait in its order; groups in that of their turns.
struct Group {
    u64 account = 0;
    Labels labels;
    Id budget = 0;  ///< of a sender without an account
    std::vector<Who> members;
    u64 send_turn = 0;  ///< its place among the groups with a send: the lowest is next
    bool same(const Group& other) const {
        return account == other.account && labels == other.labels && budget == other.budget;
    }
};

struct Endpoint {
    Id owner = 0;
    std::vector<Who> receivers;
    std::vector<Group> groups;
    u64 send_turns = 0;  ///< given out so far
    std::vector<u32> notices;
};

struct Device {
    abi::DeviceKind kind = abi::DeviceKind::reset;
    abi::DeviceModel model = abi::DeviceModel::other;
    u64 address = 0;  ///< or source
    u32 pages = 0;
    Id owner = 0;
    bool fired = false;
    bool enabled = false;
    std::vector<Who> waiters;
};

/// What the machine decided in a call.
struct Learned {
    Id object = 0;  ///< of a new object
    u32 pid = 0;
    u64 random = 0;
    u64 micros = 0;
};

/// What a machine booted with.
struct Booted {
    u64 now = 0;
    u64 root_pages = 0;
    Id root = 0, system = 0, users = 0, process = 0;
    u32 pid = 0;
    std::vector<std::pair<Id, Device>> devices;  ///< in order of their handles
};

class World {
  public:
    World(const Layout& layout, const Booted& booted, Mutation mutation = Mutation::kNone);

    /// What is due at `now` is done, earliest first, at one instant timeouts before deadlines. True: a
    /// budget was destroyed, and the entering thread retakes its trap.
    bool enter(u64 now);

    void call(Who who, const Registers& registers, const Learned& learned);

    /// A fault of an access with `right`, or of an instruction (right 0).
    void fault(Who who, u32 right, abi::FaultCode code, u64 address);

    /// The source fires, if it is not masked.
    void interrupt(Device& device);

    // What a program does to its own memory.
    bool reaches(const Process& process, u64 address, u32 right) const;
    void write(Process& process, u64 address, u64 value);
    u64 read(const Process& process, u64 address) const;

    // Books, recomputed.
    u64 used_pages(Id budget) const;
    u64 used_processes(Id budget) const;
    u64 carved(Id budget) const;
    u64 tables(const Process& process) const;
    u64 ram_pages(const Process& process) const;

    Thread* thread(Who who);
    const Thread* thread(Who who) const {
        return const_cast<World*>(this)->thread(who);  // NOLINT
    }

    /// The first invariant that does not hold, or did not on the way; empty if all do.
    std::string broken() const;

    const Layout layout;
    const Mutation mutation;
    u64 booted = 0;
    u64 now = 0;
    Id root = 0, users = 0;
    std::map<Id, Budget> budgets;
    std::map<u32, Process> processes;
    std::map<Id, Endpoint> endpoints;
    std::map<Id, Device> devices;
    std::map<u64, std::vector<u64>> frames;  ///< words of a frame; none: zeroes
    u64 last_frame = 0;

  private:
    using Status = abi::Status;
    struct Landing;
    enum class Take { can, full, bad_record, denied, refused };

    bool is(Mutation m) const { return mutation == m; }
    void hold(bool condition, const char* law);
    Budget& budget_of(const Process& process) { return budgets.at(process.in); }
    const Budget& budget_of(const Process& process) const { return budgets.at(process.in); }

    void finish(Thread& thread, Status status, u64 first = 0, u64 second = 0, u64 third = 0);
    void define(Thread& thread, unsigned place, u64 value);

    /// Ticks of a length of time; kNever if it is beyond what a machine can count to.
    u64 ticks_of(u64 micros) const;

    // Handles.
    Status find(const Process& process, u64 handle, Kind kind, Handle& found) const;
    bool fits(Id budget, u64 pages) const;
    u64 new_handle_pages(const Process& process, u32 count) const;
    Status install(Process& process, const Handle& handle, u32& index);
    template <class Which>
    void close(const Which& which);

    // Memory.
    struct Range {
        u32 page = 0;
        u32 count = 0;
    };
    bool to_range(u64 address, u64 length, Range& range) const;
    bool to_rights(u64& rights) const;
    u64 new_tables(const Process& process, Range range) const;
    bool vacant(const Process& process, Range range) const;
    bool find_room(const Process& process, u32 first, u32 area, u32 cursor, u32 count,
                   u32& found) const;
    void map_new(Process& process, Range range, u32 rights);
    void erase(Process& process, Range range);
    bool record_good(const Process& process, u64 address, u64 bytes, u32 right) const;
    Range range_of(const Run& run) const {
        return {static_cast<u32>(run.address / kPageBytes), run.count};
    }

    // Calls.
    Status map_anon(Process& process, const Registers& r, u64& address);
    Status map_fixed(Process& process, const Registers& r);
    Status unmap(Process& process, const Registers& r);
    Status set_flags(Process& process, const Registers& r);
    void map_device(Process& process, Thread& thread);
    void device_info(Process& process, Thread& thread);
    Status thread_create(Process& process, u64 entry, u64 stack, u64 argument, u32& tid);
    Status process_create(Process& process, const Registers& r, const Learned& learned,
                          u32& handle);
    Status process_map(Process& process, const Registers& r);
    Status process_start(Process& process, const Registers& r);
    Status endpoint_create(Process& process, const Learned& learned, u32& handle);
    Status mint(Process& process, const Registers& r, u32& handle);
    Status budget_create(Process& process, const Registers& r, const Learned& learned, u32& handle);
    Status budget_usage(Process& process, const Registers& r);
    void budget_destroy(Who who, const Registers& r, bool reap);

    // Messages.
    bool flows(const Budget& from, const Budget& to) const;
    bool may_send(const Budget& from, const Budget& to, bool call) const;
    Status read_handles(const Process& process, u64 record, bool write,
                        std::vector<Handle>& handles) const;
    u64 until_of(const Thread& thread) const;
    void send(Who who, bool call);
    void receive(Who who, u64 replied);
    Status answer(Who who, u64 record, u64& outcome, u64& mask);
    Group group_of(const Process& sender) const;
    bool full(const Process& process) const {
        return process.open.size() >= abi::kMaxOpenCalls && !is(Mutation::kR4aAnyNumberOpen);
    }
    bool sends(const Group& group) const;
    bool enqueue(Endpoint& endpoint, Who who);
    void dequeue(Endpoint& endpoint, Who who);
    Who next(const Endpoint& endpoint, bool sends_only) const;
    void serve_group(Endpoint& endpoint, Who who, bool sends_only);
    Take can_take(Who receiver, Who sender, Landing& landing) const;
    void hand_over(Who receiver, Who sender, const Landing& landing);
    bool deliver(Who who, Id at);
    void report(Who who, u64 call);
    void tell(Process& process, Thread& thread, const Labels& labels);
    void hand_notice(Who who, u32 ended);
    bool tellable(const Process& ended, const Budget& to) const;
    void give_notice(u32 pid);
    void pump(u32 pid);
    void end_wait(Who who);
    void fail(Who who, Status status, abi::Lend lend);
    void end_receive(Who who, Status status, u64 kind = 0);
    abi::Lend unload(Process& process, Thread& thread);
    abi::Lend abandon(u32 server, u64 id, bool revoked);
    void close_open(u32 server, u64 id, bool keep = false);
    std::pair<u32, u64> open_of(Who caller) const;

    // Ends.
    void end_thread(Who who);
    void take_apart(Who who);
    void end_process(u32 pid, abi::ExitCause cause, u32 code, Who guilty);
    void free_process(u32 pid);
    void end_endpoint(Id id);
    void end_device(Id id);
    void stamp_dies(Id id);
    void destroy(Id top, Who caller);
    void subtree(Id top, std::vector<Id>& order) const;
    bool within(Id budget, Id scope) const;

    std::string broken_;
    bool destroyed_ = false;
};

}  // namespace ravelin::model::calls
