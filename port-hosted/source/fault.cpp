// Host signals of guest code: faults, and preemption in threads mode.
//
// A handler runs on the OS thread's alternate stack. It either shows the page that was missed and
// returns, or diverts the thread: it copies the state the signal saved into the thread, points the
// saved instruction pointer at a trampoline and the saved stack pointer at the thread's fault
// stack, and returns. The trampoline goes to the hart's loop as a call does; to resume it executes
// rt_sigreturn on the copy. Nothing else is done in a handler, and Boost.Context is never called in
// one. A signal that finds the thread already on its fault stack copies nothing: what the copy
// holds is still what the thread goes on with.
//
// What a handler shares with the code it interrupts is atomic and relaxed, with signal fences: they
// are the same OS thread. This file is compiled without sanitizers, whose run time must not be
// entered from a handler. A fault outside of guest code puts the handler found at start back and
// returns, so that it is raised again for that one.

#include <cpuid.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "port-hosted/source/guest.h"
#include "port-hosted/source/panic.h"

namespace ravelin::hosted {

namespace {

thread_local Hart* this_hart = nullptr;

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, kPreemptSignal};

// A user address no program has: what an access outside of the window is reported with.
constexpr Word kOutside = Word{1} << 63;

// The kernel's struct ucontext: up to and with the signal mask, which is 8 bytes there.
constexpr std::size_t kGeneralSize = offsetof(ucontext_t, uc_sigmask) + 8;
static_assert(kGeneralSize <= sizeof GuestThread::general);

constexpr greg_t kPageFault = 14;  // x86 exception numbers and page-fault error bits
constexpr greg_t kErrorWrite = 2;
constexpr greg_t kErrorFetch = 16;
constexpr greg_t kFlagsForCode =
    0x40500;  // direction, trap and alignment check: off for compiled code

// How soon a preemption is tried again that met code which may not be left.
constexpr long kRetryNanos = 20'000;

// The kernel's own sigaction: the C library's may be a sanitizer's, which defers handlers.
struct KernelAction {
    void (*handler)(int, siginfo_t*, void*);
    unsigned long flags;
    void (*restorer)();
    u64 mask;
};

struct Installed {
    std::mutex mutex;
    unsigned machines = 0;
    KernelAction before[std::size(kSignals)] = {};
};

Installed& installed() {
    static Installed one;
    return one;
}

void set_action(int signal, const KernelAction* action, KernelAction* before) {
    if (::syscall(SYS_rt_sigaction, signal, action, before, sizeof(u64)) != 0) {
        panic("the host refuses a signal handler");
    }
}

constexpr u64 signal_bit(int signal) {
    return u64{1} << (signal - 1);
}

extern "C" void ravelin_hosted_restorer();

// The bytes by which debuggers and unwinders know a signal's frame.
asm(".text\n"
    ".type ravelin_hosted_restorer, @function\n"
    "ravelin_hosted_restorer:\n"
    "    mov $15, %rax\n"
    "    syscall\n"
    ".size ravelin_hosted_restorer, . - ravelin_hosted_restorer\n");

[[noreturn]] void sigreturn(const std::byte* general) {
    asm volatile("mov %0, %%rsp\n"
                 "mov $15, %%eax\n"
                 "syscall\n"
                 :
                 : "r"(general)
                 : "memory");
    __builtin_unreachable();
}

ucontext_t& saved(GuestThread& thread) {
    return *reinterpret_cast<ucontext_t*>(thread.general);
}

// Runs on the fault stack, from its top, each time a handler diverted the thread.
[[noreturn]] void trampoline(GuestThread* thread) {
    fiber_is_outermost();
    fiber_bottom();
    switch_to_loop(*thread, thread->why.load(std::memory_order_relaxed));
    enter_user(*thread);
    // From here on a preemption begins the trampoline anew. The signal stack is that of the OS
    // thread on which this comes out.
    saved(*thread).uc_stack = thread->hart.load(std::memory_order_relaxed)->alternate;
    sigreturn(thread->general);
}

void divert(GuestThread& thread, ucontext_t& now, Why why) {
    greg_t* registers = now.uc_mcontext.gregs;
    auto* stack = reinterpret_cast<std::byte*>(registers[REG_RSP]);
    if (stack < reinterpret_cast<std::byte*>(&thread) || stack > fault_stack_top(thread)) {
        std::memcpy(thread.general, &now, kGeneralSize);
        const auto* extended = reinterpret_cast<const std::byte*>(now.uc_mcontext.fpregs);
        if (extended != nullptr) {
            const auto& software = *reinterpret_cast<const _fpx_sw_bytes*>(
                extended + sizeof(_libc_fpstate) - sizeof(_fpx_sw_bytes));
            const std::size_t size = software.magic1 == FP_XSTATE_MAGIC1 ? software.extended_size
                                                                         : sizeof(_libc_fpstate);
            std::memcpy(thread.extended, extended, std::min(size, kExtendedRoom));
            saved(thread).uc_mcontext.fpregs = reinterpret_cast<fpregset_t>(thread.extended);
        }
    }
    thread.why.store(why, std::memory_order_relaxed);
    thread.in_user.store(0, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    registers[REG_RIP] = reinterpret_cast<greg_t>(&trampoline);
    registers[REG_RDI] = reinterpret_cast<greg_t>(&thread);
    // As behind a call instruction: 8 below a multiple of 16, with a return address of 0 there.
    auto* top = reinterpret_cast<u64*>(fault_stack_top(thread) - 16) - 1;
    *top = 0;
    registers[REG_RSP] = reinterpret_cast<greg_t>(top);
    registers[REG_EFL] &= ~kFlagsForCode;
}

void give_up(int signal) {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
        if (kSignals[i] == signal) {
            set_action(signal, &installed().before[i], nullptr);
        }
    }
}

// The thread whose guest code the signal interrupted; null if it interrupted anything else.
GuestThread* interrupted(Hart* hart) {
    GuestThread* guest = hart == nullptr ? nullptr : hart->guest.load(std::memory_order_relaxed);
    return guest != nullptr && guest->in_user.load(std::memory_order_relaxed) != 0 ? guest
                                                                                   : nullptr;
}

void on_fault(int signal, siginfo_t* info, void* raw) {
    const int error = errno;
    ucontext_t& now = *static_cast<ucontext_t*>(raw);
    Hart* hart = current_hart();
    GuestThread* guest = interrupted(hart);
    const auto* stack = reinterpret_cast<std::byte*>(now.uc_mcontext.gregs[REG_RSP]);
    if (guest == nullptr || info->si_code <= 0 ||
        (stack >= reinterpret_cast<std::byte*>(guest) && stack <= fault_stack_top(*guest))) {
        give_up(signal);
        return;
    }
    FaultKind kind = FaultKind::illegal;
    Word address = 0;
    if (signal == SIGSEGV || signal == SIGBUS) {
        const greg_t code = now.uc_mcontext.gregs[REG_ERR];
        kind = FaultKind::load;
        address = ~Word{0};  // an address that is none: the processor does not say which
        if (now.uc_mcontext.gregs[REG_TRAPNO] == kPageFault) {
            kind = (code & kErrorFetch) != 0   ? FaultKind::fetch
                   : (code & kErrorWrite) != 0 ? FaultKind::store
                                               : FaultKind::load;
            const auto host = reinterpret_cast<Word>(info->si_addr);
            Windows& windows = *hart->machine->windows;
            address = host | kOutside;
            if (windows.holds(hart->index, host, address) &&
                windows.fill(hart->index, address, kind)) {
                errno = error;
                return;
            }
            if (windows.translate(hart->index, address, kind)) {
                kind =
                    FaultKind::illegal;  // of a device's page: the tables allow it, nothing answers
            }
        }
    }
    guest->fault.store(kind, std::memory_order_relaxed);
    guest->address.store(address, std::memory_order_relaxed);
    divert(*guest, now, Why::fault);
    errno = error;
}

void on_preempt(int, siginfo_t*, void* raw) {
    Hart* hart = current_hart();
    if (hart == nullptr) {
        return;
    }
    ucontext_t& now = *static_cast<ucontext_t*>(raw);
    GuestThread* guest = interrupted(hart);
    if (guest == nullptr) {
        hart->signalled.store(1, std::memory_order_relaxed);
    } else if (fiber_may_leave(reinterpret_cast<const void*>(now.uc_mcontext.gregs[REG_RIP]))) {
        divert(*guest, now, Why::interrupt);
    } else {
        const itimerspec soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = kRetryNanos}};
        ::syscall(SYS_timer_settime, hart->retry_timer, 0, &soon, nullptr);
    }
}

// Bytes of the extended state the host can have enabled, with the mark the kernel puts behind it.
std::size_t extended_size() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(0xd, 0, &a, &b, &c, &d) != 0 ? std::size_t{b} + 4
                                                          : sizeof(_libc_fpstate);
}

}  // namespace

// The empty statement with a memory clobber keeps a compiler from taking the function for one whose
// result cannot change.
[[gnu::noinline]] Hart* current_hart() {
    asm volatile("" ::: "memory");
    return this_hart;
}

[[gnu::noinline]] void set_current_hart(Hart* hart) {
    this_hart = hart;
    asm volatile("" ::: "memory");
}

FaultPath::FaultPath() {
    Installed& all = installed();
    std::lock_guard hold(all.mutex);
    if (all.machines++ != 0) {
        return;
    }
    if (extended_size() > kExtendedRoom) {
        panic("this processor's extended state is larger than a thread's room for it");
    }
    KernelAction action{};
    // SA_RESTORER: the flag libc hides.
    action.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | 0x04000000;
    action.restorer = ravelin_hosted_restorer;
    for (const int signal : kSignals) {
        action.mask |= signal_bit(signal);
    }
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
        action.handler = kSignals[i] == kPreemptSignal ? on_preempt : on_fault;
        set_action(kSignals[i], &action, &all.before[i]);
    }
}

FaultPath::~FaultPath() {
    Installed& all = installed();
    std::lock_guard hold(all.mutex);
    if (--all.machines != 0) {
        return;
    }
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
        KernelAction now{};
        set_action(kSignals[i], nullptr, &now);
        if (now.handler == on_fault || now.handler == on_preempt) {
            set_action(kSignals[i], &all.before[i], nullptr);
        }
    }
}

AlternateStack::AlternateStack()
    : memory_(::getauxval(AT_MINSIGSTKSZ) + kExtendedRoom + 32 * 1024, PROT_READ | PROT_WRITE) {
    now_.ss_sp = memory_.start();
    now_.ss_size = memory_.size();
    ::sigaltstack(&now_, &before_);
}

AlternateStack::~AlternateStack() {
    ::sigaltstack(&before_, nullptr);
}

}  // namespace ravelin::hosted
