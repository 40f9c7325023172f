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

/// Registers by place.
inline constexpr unsigned kCallRegisters = 22;
inline constexpr unsigned kWordRegister = 8;      ///< four 64-bit words: 8 to 15
inline constexpr unsigned kBadgeRegister = 16;    ///< 64 bits
inline constexpr unsigned kMessageRegister = 18;  ///< message id, 64 bits
inline constexpr unsigned kAccountRegister = 20;  ///< 64 bits

/// What a receive gives in register 1.
enum class Received : std::uint8_t {
    call = 1,       ///< a message whose sender waits for a reply; message id in its registers
    send = 2,       ///< a message whose sender goes on
    interrupt = 3,  ///< the device's interrupt fired
    exit = 4,       ///< words: pid, cause (ExitCause), code, 0; the account is the blamed one
    abandoned = 5,  ///< a taken call whose caller is gone; message id in its registers
};

enum class ExitCause : std::uint8_t { exited = 1, faulted = 2, killed = 3 };

/// Exit codes of a fault.
enum class FaultCode : std::uint8_t { illegal = 2, fetch = 12, load = 13, store = 15 };

/// What became of a call's lend, in register 1 of every return of `call`.
enum class Lend : std::uint8_t { none = 0, returned = 1, consumed = 2 };

/// What `reply` gives in register 1.
enum class Reply : std::uint8_t { delivered = 1, discarded = 2 };

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
