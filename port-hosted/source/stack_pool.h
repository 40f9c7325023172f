// Guest threads' stacks. One slot of a power of two in size, at a multiple of it, per thread:
//
//     guard page | the guest's stack | GuestThread | fault stack
//
// so that code on the guest's stack finds its GuestThread from the stack pointer alone: it needs no
// thread_local, which would be wrong after a move to another hart's OS thread. The fault stack is
// where the thread stands while a fault or a preemption takes it to the kernel. A stack that
// overflows meets its guard, a host fault that is delivered like any other.
//
// Bound: kMostSlots slots a pool; each takes two of the host's 65,000 mappings a process, which the
// windows share. A slot's memory is kept for the next thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include "core/port.h"
#include "port-hosted/source/fiber.h"
#include "port-hosted/source/host_memory.h"

namespace ravelin::hosted {

struct Hart;

/// What brought a guest thread to its hart's loop.
enum class Why : u8 {
    call,
    fault,
    interrupt,  ///< one may be pending: the loop looks
};

// The host's state of a thread that a signal stopped. Room for the extended state with AVX-512 and
// AMX (11 KiB); the true size is checked at start.
inline constexpr std::size_t kExtendedRoom = 12 * 1024;

struct GuestThread {
    Fiber fiber;
    Port::Context* context = nullptr;
    std::byte* base = nullptr;  ///< of its process's window; null until the thread asks for it
    std::atomic<Hart*> hart{nullptr};
    /// It runs guest code, which may fault and be preempted. 0 in the port's own code, on whatever
    /// stack that runs.
    std::atomic<u32> in_user{0};
    std::atomic<u32> runs{0};  ///< times it was resumed: tells it that it was away
    std::atomic<Why> why{Why::call};
    std::atomic<FaultKind> fault{FaultKind::illegal};
    std::atomic<Word> address{0};
    GuestThread* next = nullptr;  ///< in the pool's list of live ones or of free ones
    GuestThread* previous = nullptr;
    alignas(64) std::byte extended[kExtendedRoom];
    alignas(16) std::byte general[512];  ///< the kernel's part of a ucontext_t
};

inline constexpr std::size_t kSlotSize = kSanitized ? 1024 * 1024 : 128 * 1024;
inline constexpr std::size_t kAreaSize = 24 * 1024;
inline constexpr std::size_t kFaultStack = 8 * 1024;
static_assert(sizeof(GuestThread) + kFaultStack <= kAreaSize);

/// The thread whose slot `inside` lies in.
inline GuestThread& slot_thread(const void* inside) {
    const auto slot = reinterpret_cast<std::uintptr_t>(inside) & ~(kSlotSize - 1);
    return *reinterpret_cast<GuestThread*>(slot + kSlotSize - kAreaSize);
}

/// One past the highest byte of a thread's slot: the top of its fault stack.
inline std::byte* fault_stack_top(GuestThread& thread) {
    return reinterpret_cast<std::byte*>(&thread) + kAreaSize;
}

class StackPool {
  public:
    // With two mappings a slot, and two for each of 16,384 shown pages, below the host's 65,530.
    static constexpr u32 kMostSlots = 12'000;

    ~StackPool();

    /// A thread that is to begin in `entry` on its own stack; null if the host has no room.
    GuestThread* take(void (*entry)(Transfer));
    /// The thread will not run again.
    void give(GuestThread& thread);

  private:
    static constexpr std::size_t kChunkSlots = 32;

    bool grow();

    std::mutex mutex_;  // contended in threads mode only
    std::vector<HostMemory> chunks_;
    GuestThread* free_ = nullptr;
    GuestThread* live_ = nullptr;
    std::byte* fresh_ = nullptr;  ///< slots of the last chunk that were never used
    std::byte* end_ = nullptr;
    u32 count_ = 0;  ///< live ones
};

}  // namespace ravelin::hosted
