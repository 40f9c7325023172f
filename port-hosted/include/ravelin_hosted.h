// Machines that run inside a process: the hosted port as a library.
//
//     ravelin::hosted::HostedMachine machine({.harts = 2});
//     ravelin::Kernel kernel(machine.port());
//     Result result = machine.run(kernel, machine.boot_program(first, 0));
//
// Any number of machines may exist in a process. One OS thread runs at most one at a time, and a
// machine runs once. In virtual mode a run is decided by (kernel, program, options) to the bit.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/abi/trace.h"
#include "core/entry/enter.h"

namespace ravelin::hosted {

enum class Clock : u8 {
    virtual_time,  ///< one OS thread, deterministic
    threads,       ///< an OS thread a hart, the real clock
};

/// Ticks a second of every hosted machine.
inline constexpr u64 kTimebase = 10'000'000;

/// The signal that preempts guest threads in threads mode; a debugger passes it on without a stop.
/// In the middle of the real-time signals, far from the first ones, which programs take.
inline constexpr int kPreemptSignal = 50;

/// The exit code of a process that the watchdog ends.
inline constexpr int kWatchdogExit = 3;

/// Where a hosted machine has its real-time clock: its registers, one page, and its interrupt. Above
/// every RAM there can be.
inline constexpr u64 kRtcAddress = u64{1} << 40;
inline constexpr u32 kRtcSource = 11;

struct HostedOptions {
    u32 harts = 1;  ///< 1 to kMaxHarts
    u64 seed = 1;
    Clock clock = Clock::virtual_time;
    bool cost_model = true;  ///< virtual: kernel work takes time
    u32 memory_mib = 64;     ///< RAM for the kernel, 1 to 4,096
    u32 trace_mib = 0;       ///< RAM kept for the trace ring, on top of it
    /// The rarer liberties of real machines: invalid and narrow translations are cached too, RAM
    /// has a hole, far timers come early.
    bool strict = false;
    u32 window_pages = 16'384;   ///< pages all processes' windows show at once, 1 to 16,384
    u32 watchdog_seconds = 20;   ///< host seconds without progress that end the process; 0: none
    std::optional<Ticks> limit;  ///< the run ends, in user mode or idle, when this time is reached
    std::vector<DeviceFact> devices;                     ///< beside the clock and the reset
    std::function<void(std::span<const char>)> console;  ///< null: standard output
};

enum class End : u8 {
    off,
    reboot,
    off_failed,
    limit,  ///< the time limit was reached
    stuck,  ///< virtual: every hart idle or waiting, and nothing will ever wake one
};

/// What one hart met of device interrupts and halts.
struct HartCounts {
    u64 claims = 0;         ///< device interrupts it took
    u64 lost_claims = 0;    ///< those that another hart had taken
    u64 skipped_halts = 0;  ///< waits that found a kick pending
};

struct Result {
    End end = End::off;
    Ticks time;       ///< of the hart that ended the run, or the limit
    u64 entries = 0;  ///< kernel entries of all harts, boot not counted
    std::vector<HartCounts> harts;
};

struct Machine;

class HostedMachine {
  public:
    /// Throws std::invalid_argument for options out of range, std::system_error if the host
    /// refuses.
    explicit HostedMachine(const HostedOptions& options);
    ~HostedMachine();
    HostedMachine(const HostedMachine&) = delete;
    HostedMachine& operator=(const HostedMachine&) = delete;

    /// The port to make the Kernel with.
    Port& port();

    /// A first program that starts at `entry` with `argument` and has no memory of its own.
    static BootProgram boot_program(void (*entry)(Word argument), Word argument);

    /// Boots and runs until a reset, the limit or the stuck end. Once a machine.
    Result run(Kernel& kernel, const BootProgram& program);

    /// Sets the line of an interrupt source, 1 to 1,023. Between construction and the end of run,
    /// by the thread that runs (virtual) or any (threads).
    void set_line(u32 source, bool high);

  private:
    std::unique_ptr<Machine> machine_;
};

/// The entry value of a function of this executable; what HostedMachine::boot_program uses.
Word entry_value(void (*entry)(Word argument));

/// Writes a trace file (docs/trace.md): `head` with magic, version, sizes and digest filled in,
/// then the records and their sums. Returns an error message, empty if all was written. Checked
/// builds only (R23).
std::string write_trace(const std::string& path, abi::TraceHead head,
                        std::span<const abi::TraceRecord> records,
                        std::span<const abi::TraceSums> sums);

}  // namespace ravelin::hosted
