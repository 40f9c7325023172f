// Call numbers, error codes and the registers a call uses: the contract of one trap from user mode.
//
// A call has kCallRegisters registers. 0 to 7 are a0 to a7: register 0 takes the call's number and
// gives the status; 1 to 7 take the arguments and give the results, and those that carry no result
// come back 0. Registers 8 to 21 carry a message: words, badge, message id and account. A 64-bit
// value takes two registers, the low one first; on a 64-bit machine the low register holds all of
// it and the high one is ignored and never written.
#pragma once

#include <cstdint>

namespace ravelin::abi {

/// A call's number is kCallBase plus its place in this list.
enum class Call : std::uint16_t {
    map_anon = 1,
    unmap,
    set_flags,
    map_device,
    dma_alloc,
    thread_create,
    thread_exit,
    process_exit,
    process_create,
    process_map,
    process_start,
    endpoint_create,
    mint,
    call,
    send,
    receive,
    reply,
    serve,
    handle_close,
    budget_create,
    budget_destroy,
    budget_usage,
    time_now,
    random,
    system_reset,
    map_fixed,
    device_info,
    budget_reap,
    reply_receive,
};

inline constexpr std::uint32_t kCallBase = 0x100;
inline constexpr std::uint32_t kCallCount = 29;

/// What a call's register 0 gives.
enum class Status : std::uint8_t {
    ok = 0,
    bad_handle,
    wrong_object,
    invalid_argument,
    out_of_memory,
    out_of_processes,
    too_many_threads,
    not_permitted,
    class_denied,
    label_denied,
    busy,
    refused,
    too_large,
    timeout,
    dead,
};

/// A set of statuses, a bit each.
using StatusSet = std::uint16_t;

template <class... Statuses>
constexpr StatusSet set_of(Statuses... statuses) {
    return static_cast<StatusSet>((0u | ... | (1u << static_cast<unsigned>(statuses))));
}

/// The errors each call may give, by its place in the list of calls: its row. `ok` is in none.
inline constexpr StatusSet kErrorRows[kCallCount + 1] = {
    0,
    /* map_anon */ set_of(Status::invalid_argument, Status::out_of_memory),
    /* unmap */ set_of(Status::invalid_argument),
    /* set_flags */ set_of(Status::invalid_argument),
    /* map_device */ set_of(Status::bad_handle, Status::wrong_object, Status::out_of_memory),
    /* dma_alloc */
    set_of(Status::bad_handle, Status::wrong_object, Status::invalid_argument,
           Status::out_of_memory),
    /* thread_create */ set_of(Status::out_of_memory, Status::too_many_threads),
    /* thread_exit */ 0,
    /* process_exit */ 0,
    /* process_create */
    set_of(Status::bad_handle, Status::wrong_object, Status::invalid_argument,
           Status::out_of_memory, Status::out_of_processes, Status::not_permitted,
           Status::too_large),
    /* process_map */
    set_of(Status::bad_handle, Status::wrong_object, Status::invalid_argument,
           Status::out_of_memory),
    /* process_start */
    set_of(Status::bad_handle, Status::wrong_object, Status::invalid_argument,
           Status::out_of_memory, Status::too_large),
    /* endpoint_create */ set_of(Status::out_of_memory, Status::too_large),
    /* mint */
    set_of(Status::bad_handle, Status::wrong_object, Status::invalid_argument,
           Status::out_of_memory, Status::not_permitted, Status::too_large, Status::dead),
    /* call */
    set_of(Status::bad_handle, Status::wrong_object, Status::invalid_argument,
           Status::out_of_memory, Status::label_denied, Status::busy, Status::refused,
           Status::too_large, Status::timeout, Status::dead),
    /* send */
    set_of(Status::bad_handle, Status::wrong_object, Status::invalid_argument, Status::label_denied,
           Status::busy, Status::refused, Status::too_large, Status::timeout, Status::dead),
    /* receive */
    set_of(Status::bad_handle, Status::wrong_object, Status::invalid_argument,
           Status::not_permitted, Status::timeout, Status::dead),
    /* reply */ set_of(Status::bad_handle, Status::invalid_argument, Status::too_large),
    /* serve */ set_of(Status::invalid_argument),
    /* handle_close */ set_of(Status::bad_handle),
    /* budget_create */
    set_of(Status::bad_handle, Status::wrong_object, Status::invalid_argument,
           Status::out_of_memory, Status::out_of_processes, Status::class_denied,
           Status::label_denied, Status::too_large),
    /* budget_destroy */ set_of(Status::bad_handle, Status::wrong_object),
    /* budget_usage */
    set_of(Status::bad_handle, Status::wrong_object, Status::invalid_argument,
           Status::label_denied),
    /* time_now */ 0,
    /* random */ 0,
    /* system_reset */ set_of(Status::bad_handle, Status::wrong_object, Status::invalid_argument),
    /* map_fixed */ set_of(Status::invalid_argument, Status::out_of_memory),
    /* device_info */ set_of(Status::bad_handle, Status::wrong_object),
    /* budget_reap */ set_of(Status::bad_handle, Status::wrong_object),
    /* reply_receive */
    set_of(Status::bad_handle, Status::wrong_object, Status::invalid_argument,
           Status::not_permitted, Status::too_large, Status::timeout, Status::dead),
};

/// Whether the call whose number is in its register 0 may give this status. An unknown number gives
/// invalid_argument.
constexpr bool may_give(std::uintptr_t number, Status status) {
    if (number <= kCallBase || number > kCallBase + kCallCount)
        return status == Status::invalid_argument;
    return status == Status::ok ||
           (kErrorRows[number - kCallBase] >> static_cast<unsigned>(status) & 1) != 0;
}

/// Registers by place.
inline constexpr unsigned kCallRegisters = 22;
inline constexpr unsigned kWordRegister = 8;      ///< four 64-bit words: 8 to 15
inline constexpr unsigned kBadgeRegister = 16;    ///< 64 bits
inline constexpr unsigned kMessageRegister = 18;  ///< message id, 64 bits
inline constexpr unsigned kAccountRegister = 20;  ///< 64 bits

/// What a receive gives in register 1.
///
/// Register 2 says what came beside the registers, as the bits below; whatever is set is in the
/// receive record, if the call named one. Register 3 of a `reply_receive` says what became of the
/// reply: 0 if there was none, else Reply, and the mask of delivered handles shifted by
/// kReplyMaskShift.
enum class Received : std::uint8_t {
    call = 1,       ///< a message whose sender waits for a reply; message id in its registers
    send = 2,       ///< a message whose sender goes on
    interrupt = 3,  ///< the device's interrupt fired
    exit = 4,       ///< words: pid, cause (ExitCause), code, 0; the account is the blamed one
    abandoned = 5,  ///< a taken call whose caller is gone; message id in its registers
};

/// What a message brought beside its registers.
inline constexpr std::uint32_t kHasHandles = 1;
inline constexpr std::uint32_t kHasPages = 2;
inline constexpr std::uint32_t kHasLabels = 4;  ///< the sender's, or the blamed one's

enum class ExitCause : std::uint8_t { exited = 1, faulted = 2, killed = 3 };

/// Exit codes of a fault.
enum class FaultCode : std::uint8_t { illegal = 2, fetch = 12, load = 13, store = 15 };

/// What became of a call's lend, in register 1 of every return of `call`; none: nothing was lent, or
/// the call was refused before. Register 2 says whether a reply came (0, 1), register 3 how many
/// handles it brought: their numbers are in the body record then, 0 for one that did not arrive.
enum class Lend : std::uint8_t { none = 0, returned = 1, consumed = 2 };

/// What `reply` gives in register 1; register 2 is the mask of the handles that were delivered.
enum class Reply : std::uint8_t { delivered = 1, discarded = 2 };
inline constexpr unsigned kReplyMaskShift = 8;

/// Rights of a mapping; write implies read, and write and execute together are refused.
inline constexpr std::uint32_t kRead = 1;
inline constexpr std::uint32_t kWrite = 2;
inline constexpr std::uint32_t kExecute = 4;

/// Kinds of device object. `device_info` gives the kind in register 1, the model in register 2, in
/// registers 3 and 4 the physical address of a window or the source number of an interrupt, and in
/// register 5 the pages of a window.
enum class DeviceKind : std::uint8_t {
    mmio = 1,       ///< a window of registers: map_device maps it, read and write
    interrupt = 2,  ///< an interrupt: receive waits for it
    reset = 3,      ///< the right to end the machine: system_reset
};

/// What a window or an interrupt belongs to.
enum class DeviceModel : std::uint8_t {
    other = 0,
    goldfish_rtc = 1,  ///< nanoseconds at 0 (low, latches) and 4, alarm at 8 (low, arms) and 12
};

/// Kinds of system_reset.
enum class Reset : std::uint8_t { off = 1, reboot = 2, off_failed = 3 };

/// Sources of mint.
enum class MintSource : std::uint8_t { message = 1, handle = 2 };

/// The handles that the first program starts with.
inline constexpr std::uint32_t kBootRoot = 1;
inline constexpr std::uint32_t kBootSystem = 2;
inline constexpr std::uint32_t kBootUsers = 3;
inline constexpr std::uint32_t kBootReset = 4;

/// The board's other devices, in its order, from this handle on.
inline constexpr std::uint32_t kBootDevices = 5;

}  // namespace ravelin::abi
