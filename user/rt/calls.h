// The kernel's calls with types. Each does one trap; the errors it may give are its row in the kernel's
// call table. Records (what does not fit registers) live in user memory: calls that need one take the
// calling thread's Records.
#pragma once

#include <span>

#include "core/abi/calls.h"
#include "core/abi/limits.h"
#include "core/abi/records.h"
#include "user/rt/handle.h"
#include "user/rt/result.h"
#include "user/rt/types.h"

namespace ravelin::rt {

/// The words of a message.
struct Words {
    u64 at[abi::kMessageWords] = {};
};

/// What a receive took.
struct Message {
    abi::Received kind = abi::Received::send;
    u64 id = 0;       ///< of a call: what reply and serve name it by
    u64 badge = 0;    ///< of the handle it was sent through
    u64 account = 0;  ///< of the sender's budget
    Words words;
};

/// What a device handle is.
struct DeviceInfo {
    abi::DeviceKind kind = abi::DeviceKind::mmio;
    abi::DeviceModel model = abi::DeviceModel::other;
    u64 place = 0;  ///< physical address of a window, source of an interrupt
    u32 pages = 0;  ///< of a window
};

/// What a child budget may use; all of it comes out of the parent's free limits.
struct BudgetLimits {
    u64 pages = 0;
    u64 processes = 0;
    u64 weight = 0;
    u64 account = 0;  ///< only under a parent that has none
    Micros deadline = kForever;
    std::span<const u64> labels =
        {};  ///< at least the parent's; more only for a system-class caller
};

/// What a message carries beside its words: copies of this process's handles, at most
/// abi::kMaxMessageHandles, and whole pages of this process's own writable memory.
struct Cargo {
    std::span<const u32> handles = {};
    Word address = 0;
    u32 pages = 0;
};

/// Handles that came in a message, each closing itself: move out what is to stay.
struct HandleSet {
    u32 count = 0;
    Handle at[abi::kMaxMessageHandles];  ///< one that names nothing was revoked, or did not fit
};

/// What a receive took, whole.
struct Delivery {
    Message message;
    HandleSet handles;
    Word address = 0;  ///< of pages lent by a call, until its reply, or given by a send, for good
    u32 pages = 0;
    u32 label_count = 0;
    u64 labels[abi::kMaxLabels] = {};  ///< the sender's
};

/// How a call ended. The lend's fate is told whatever the status.
struct CallEnd {
    Status status = Status::ok;
    abi::Lend lend = abi::Lend::none;
    bool replied = false;
    Words words;        ///< if replied
    HandleSet handles;  ///< if replied

    bool ok() const { return status == Status::ok; }
};

/// What became of a reply, and which of its handles arrived, a bit each.
struct ReplyEnd {
    abi::Reply outcome = abi::Reply::delivered;
    u32 mask = 0;
};

/// One page of user memory for the records of one thread, mapped at the first use and unmapped with
/// this object. Not shared between threads.
class Records {
  public:
    Records() = default;
    Records(const Records&) = delete;
    Records& operator=(const Records&) = delete;
    ~Records();

    /// The page's user address, or 0: there was no memory for it.
    Word page();

  private:
    Word page_ = 0;
};

// Memory. Lengths in bytes, whole pages; rights are abi::kRead and so on.

/// Maps zeroed memory where the kernel finds room, charged to this process's budget.
Result<Word> map_anon(Word length, u32 rights);

/// Maps zeroed memory at `address`; never replaces what is mapped.
Outcome map_fixed(Word address, Word length, u32 rights);

Outcome unmap(Word address, Word length);
Outcome set_flags(Word address, Word length, u32 rights);

// Threads and processes.

/// Starts a thread of this process: entry<>() of env.h gives the entry, Stack of launch.h the stack.
Result<u32> thread_create(Word entry, Word stack, Word argument);

[[noreturn]] void thread_exit();
[[noreturn]] void process_exit(Word code);

/// Makes an empty process that will run in `budget`. Its end is told to `exits` if given.
Result<Process> process_create(const Budget& budget, const Endpoint* exits = nullptr);

/// Moves pages of this process into one that was not started.
Outcome process_map(const Process& process, Word source, Word destination, Word length, u32 rights);

/// Starts the process's first thread. Copies of `handles` (at most abi::kMaxStartHandles indices)
/// become its handles 1, 2 and so on.
Outcome process_start(Records& records, const Process& process, Word entry, Word stack,
                      Word argument, std::span<const u32> handles);

// Messages.

/// Makes an endpoint, charged to this process's budget; the handle receives.
Result<Endpoint> endpoint_create();

/// A handle that sends to the same endpoint, with a badge other than 0. It is closed wherever it is
/// when `stamp` (a budget at or below the source's own stamp) is destroyed.
Result<Endpoint> mint(const Endpoint& source, u64 badge, const Budget* stamp = nullptr);

/// The same from the call `message` that this process has open: the handle sends to the endpoint
/// that the call came through.
Result<Endpoint> mint(u64 message, u64 badge, const Budget* stamp = nullptr);

/// Sends and waits for the reply.
Result<Words> call(const Endpoint& endpoint, const Words& words, Micros timeout = kForever);

/// Sends and waits until it is taken.
Outcome send(const Endpoint& endpoint, const Words& words, Micros timeout = kForever);

Result<Message> receive(const Endpoint& endpoint, Micros timeout = kForever);

/// Answers the call `message`.
Result<abi::Reply> reply(u64 message, const Words& words);

/// Answers the call `message` and receives, in one entry.
Result<Message> reply_receive(u64 message, const Words& words, const Endpoint& endpoint,
                              Micros timeout = kForever);

/// As the plain ones, with handles and pages. A call lends its pages until the reply; a send gives
/// them away.
CallEnd call(Records& records, const Endpoint& endpoint, const Words& words, const Cargo& cargo,
             Micros timeout = kForever);
Outcome send(Records& records, const Endpoint& endpoint, const Words& words, const Cargo& cargo,
             Micros timeout = kForever);

/// Takes messages with all they carry, of sends with at most `most_pages`.
Result<Delivery> receive(Records& records, const Endpoint& endpoint, u32 most_pages,
                         Micros timeout = kForever);

Result<ReplyEnd> reply(Records& records, u64 message, const Words& words,
                       std::span<const u32> handles);

/// `replied` says what became of the reply if one was made, whatever the receive gives.
Result<Delivery> reply_receive(Records& records, u64 message, const Words& words,
                               std::span<const u32> handles, const Endpoint& endpoint,
                               u32 most_pages, ReplyEnd& replied, Micros timeout = kForever);

/// Makes the taken call `message` the one that this thread works for.
Outcome serve(u64 message);

/// Blocks for at least `length`.
void sleep(Micros length);

// Budgets.

Result<Budget> budget_create(Records& records, const Budget& parent, const BudgetLimits& limits);

/// Destroys the budget and all below it. Does not return if that ends this process.
Outcome budget_destroy(Budget& budget);

Result<abi::BudgetUsage> budget_usage(Records& records, const Budget& budget);

/// Destroys the budget's first child; gives how many children are left.
Result<Word> budget_reap(const Budget& budget);

// Devices.

/// What the handle with this index is; wrong_object if it is no device's.
Result<DeviceInfo> device_info(u32 index);

/// Maps a device's registers, read and write, until they are unmapped: read_register and
/// write_register of trap.h reach them.
Result<Word> map_device(const RegisterWindow& window);

/// Unmasks the interrupt and waits until it fires. One that fired before and was not received counts.
Outcome receive(const Interrupt& interrupt, Micros timeout = kForever);

// The system.

Micros time_now();
Result<u64> random();

/// Ends the machine; returns only if refused.
Outcome system_reset(const ResetDevice& device, abi::Reset kind);

}  // namespace ravelin::rt
