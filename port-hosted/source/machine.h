// One hosted machine: its harts, memory, clock and controller, and the loop that each hart runs.
//
// Invariant of virtual mode: exactly one hart has the turn; every other hart's `key` is the time at
// which it goes on; the one with the lowest key has the next turn. Invariant of threads mode: a
// hart is touched by its own OS thread alone, but for the atomics, which others set to get its
// attention. Bound: kMaxHarts harts; no allocation after a thread's first run.
#pragma once

#include <signal.h>
#include <time.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "port-hosted/source/fiber.h"
#include "port-hosted/source/host_memory.h"
#include "port-hosted/source/interrupts.h"
#include "port-hosted/source/rtc.h"
#include "port-hosted/source/stack_pool.h"
#include "port-hosted/source/windows.h"
#include "ravelin_hosted.h"

namespace ravelin::hosted {

/// The executable's code, which guest entry values must lie in.
struct Image {
    std::uintptr_t base = 0;
    std::uintptr_t text = 0;
    std::uintptr_t text_end = 0;
};
const Image& image();

/// Signal handlers, installed while at least one machine exists, and the alternate stack of an OS
/// thread that runs harts. See fault.cpp.
class FaultPath {
  public:
    FaultPath();
    ~FaultPath();
    FaultPath(const FaultPath&) = delete;
};

class AlternateStack {
  public:
    AlternateStack();
    ~AlternateStack();
    AlternateStack(const AlternateStack&) = delete;
    const stack_t& stack() const { return now_; }

  private:
    HostMemory memory_;
    stack_t now_{};
    stack_t before_{};
};

/// A number decided by the run's seed, another one for each purpose (splitmix64).
constexpr u64 mix(u64 seed, u64 purpose) {
    u64 value = seed + purpose * 0x9e3779b97f4a7c15u;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

/// A mapping for a hart's kernel stack, with a guard page below.
class KernelStack {
  public:
    static constexpr std::size_t kSize = kSanitized ? 1024 * 1024 : 256 * 1024;

    KernelStack();
    std::byte* bottom() const { return memory_.start() + kPageSize; }

  private:
    HostMemory memory_;
};

/// What a hart's OS thread does, for who wants its attention (threads mode).
enum class Where : u32 { kernel, waiting, user };

struct Hart {
    Machine* machine = nullptr;
    HartIndex index;
    Fiber loop;                ///< its loop and the kernel, on its kernel stack
    Fiber* stopped = nullptr;  ///< virtual: the fiber that goes on at its next turn
    KernelStack stack;
    std::atomic<u64> entries{0};  ///< kernel entries; written by its own thread
    HartCounts counts;
    std::atomic<GuestThread*> guest{nullptr};  ///< the thread it has switched to
    stack_t alternate{};                       ///< the signal stack of the OS thread it is on

    // Threads mode.
    std::thread thread;
    Fiber base;  ///< the OS thread's own stack
    timer_t timer{};
    timer_t retry_timer{};  ///< sends the same signal: see fault.cpp
    std::atomic<pid_t> tid{0};
    std::atomic<Where> where{Where::kernel};
    std::atomic<u32> kicked{0};
    std::atomic<u32> events{0};     ///< counts what may end a wait; the word it sleeps on
    std::atomic<u32> signalled{0};  ///< a preemption came while no guest code ran
};

/// The hart whose OS thread this is; null in a thread that runs no machine. Never inlined, so that
/// no address of a thread_local lives across a switch to another OS thread.
Hart* current_hart();
void set_current_hart(Hart* hart);

struct Machine {
    explicit Machine(const HostedOptions& options);
    ~Machine();

    Result run(Kernel& kernel, const BootProgram& program);
    void set_line(u32 source, bool high);
    /// If a source interrupts now, every hart that can take it hears of it.
    void announce_interrupts();

    // The loop of a hart.
    static void loop_entry(Transfer transfer);
    [[noreturn]] void loop(Hart& hart);
    Trap run_user(Hart& hart, Port::Context& context);
    Trap idle(Hart& hart);
    bool take_interrupt(Hart& hart, Trap& trap);
    bool interrupt_due(Hart& hart);
    GuestThread* begin(Port::Context& context);

    // Guest side, on the guest's stack.
    void work(GuestThread& thread, u64 ticks);
    u64 clock(GuestThread& thread);
    u32 access_device(GuestThread& thread, Word address, FaultKind access, u32 value);

    // Virtual mode: turns.cpp.
    Port::Turn& turn(const Hart& hart) { return port.turns_[hart.index.value]; }
    void block(Hart& hart, Fiber& self, u64 key, bool listening);
    Hart* choose();
    [[noreturn]] void park(Hart& hart, Fiber& self);
    bool start_virtual(HartIndex caller, HartIndex other);
    void work_virtual(GuestThread& thread, u64 ticks);
    void wait_virtual(Hart& hart);
    void kick_virtual(HartIndex from, HartMask harts);
    void interrupt_listeners(u64 at);
    u64 lowest_key() const;

    // Threads mode: threads.cpp.
    void run_threads();
    void thread_main(Hart& hart);
    bool start_thread(HartIndex other);
    void wait_real(Hart& hart);
    void kick_real(HartMask harts);
    void poke(Hart& hart);
    void sleep(Hart& hart, u32 seen, u64 until);
    void set_timer(Hart& hart);
    void work_real(GuestThread& thread, u64 ticks);
    void watch_alarm();

    // Devices.
    void update_rtc();

    /// Ends the run from fiber `self`, the running one.
    [[noreturn]] void finish(Hart& hart, Fiber& self, End end, u64 time);
    [[noreturn]] void leave(Hart& hart, Fiber& self);
    void watch(std::stop_token stop);

    u64 random();

    FaultPath fault_path;
    HostedOptions options;
    Port port;
    bool real;
    u64 limit;  ///< kNever's value: none
    u32 frames;
    HostFile memory_file;
    HostMemory ram;
    std::vector<RamRun> ram_runs;
    std::vector<DeviceFact> devices;
    std::unique_ptr<Windows> windows;
    StackPool stacks;
    Interrupts interrupts;
    Rtc rtc{interrupts, kRtcSource};
    u64 alarm = kNever.value;         ///< virtual: the alarm's turn
    std::atomic<u32> alarm_moved{0};  ///< threads: counts what its thread must look at
    std::atomic<u32> contexts{0};
    std::unique_ptr<Hart> harts[kMaxHarts];
    u64 random_state;

    Kernel* kernel = nullptr;
    const BootProgram* program = nullptr;
    Fiber main;  ///< virtual: the fiber that called run
    bool began = false;

    std::mutex end_mutex;
    std::condition_variable ended;
    bool over = false;
    std::atomic<bool> stopping{false};
    Result result;
};

inline bool Machine::interrupt_due(Hart& hart) {
    const Port::Turn& mine = turn(hart);
    if (interrupts.asserted()) {
        return true;
    }
    return real ? hart.kicked.load(std::memory_order_seq_cst) != 0 ||
                      mine.armed <= Port::real_now().value
                : mine.kick_at <= mine.time || mine.armed <= mine.time;
}

}  // namespace ravelin::hosted
