// What the hosted port promises beyond core/port.h: determinism, costs, strictness, host faults,
// limits, no system call in a trap, nothing left behind.
//
// The kernel here is a script: two functions that a test gives, called at boot and at every entry.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "core/entry/enter.h"
#include "port-hosted/source/host_time.h"
#include "port-hosted/source/interrupts.h"
#include "ravelin_guest.h"
#include "ravelin_hosted.h"
#include "tests/conformance/guest.h"

namespace ravelin {

struct Kernel {
    using Enter = std::function<Port::Context*(HartIndex hart, const Trap& trap)>;

    explicit Kernel(Port& machine) : port(machine) {
        for (u32 i = 0; i < 4; ++i) {
            threads[i] = static_cast<Port::Context*>(port.frame_pointer(take_frame()));
        }
        root = take_frame();
        activate_on({0});
    }

    FrameNumber take_frame() { return {next_frame++}; }
    void activate_on(HartIndex hart) { port.activate(hart, root, kSpace); }

    Port::Context* make(unsigned slot, void (*function)(Word), Word argument) {
        const ContextStart start{hosted::entry_value(function), 0, argument, kSpace};
        EXPECT_TRUE(port.make_context({0}, *threads[slot], start));
        return threads[slot];
    }

    Port::Format::Entry& table_entry(Word address) {
        using Format = Port::Format;
        FrameNumber table = root;
        for (unsigned level = Format::kLevels; level-- > 1;) {
            auto& entry =
                static_cast<u64*>(port.frame_pointer(table))[address >> (12 + 9 * level) & 511];
            if (!Format::is_valid(entry)) {
                entry = Format::table(take_frame());
            }
            table = Format::frame(entry);
        }
        return static_cast<u64*>(port.frame_pointer(table))[address >> 12 & 511];
    }
    void map(Word address, FrameNumber frame, u32 rights) {
        table_entry(address) = Port::Format::leaf(frame, rights);
    }

    static constexpr u32 kSpace = 2;
    Port& port;
    FrameNumber root;
    Port::Context* threads[4] = {};
    u32 next_frame = 1;
    std::function<Port::Context*()> on_boot;
    std::function<Port::Context*(HartIndex)> on_online = [](HartIndex) { return nullptr; };
    Enter on_enter;
};

Port::Context* boot(Kernel& kernel, const BootProgram&) {
    return kernel.on_boot();
}
Port::Context* hart_online(Kernel& kernel, HartIndex hart) {
    return kernel.on_online(hart);
}
Port::Context* enter(Kernel& kernel, HartIndex hart, const Trap& trap) {
    return kernel.on_enter(hart, trap);
}

namespace {

using hosted::End;
using hosted::host_time;
using hosted::HostedMachine;
using hosted::HostedOptions;
using hosted::kTimebase;
using hosted::Result;
using hosted::ticks_of;

#ifdef __SANITIZE_THREAD__
constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
constexpr bool kThreadSanitizer = __has_feature(thread_sanitizer);
#else
constexpr bool kThreadSanitizer = false;
#endif

constexpr HartIndex kBoot{0};
constexpr u32 kReadWrite = abi::kRead | abi::kWrite;
constexpr Word kPage = 0x10'0000;

HostedOptions small() {
    HostedOptions options;
    options.memory_mib = 2;
    options.watchdog_seconds = 10;
    return options;
}

Result run(HostedMachine& machine, Kernel& kernel) {
    return machine.run(kernel, BootProgram{});
}

[[noreturn]] Port::Context* off(Kernel& kernel, HartIndex hart = kBoot) {
    kernel.port.reset(hart, ResetKind::off);
}

void call(Word first) {
    Word registers[abi::kCallRegisters] = {first};
    ravelin_guest_call(registers);
}

std::byte* user(Word address) {
    return ravelin_guest_base() + address;
}

// Guests.
void call_forever(Word) {
    for (;;) {
        call(1);
    }
}
void work_forever(Word ticks) {
    for (;;) {
        ravelin_guest_work(ticks);
    }
}
void spin_forever(Word) {
    for (;;) {
        asm volatile("" ::: "memory");
    }
}

unsigned lines_of_maps() {
    std::ifstream maps("/proc/self/maps");
    return static_cast<unsigned>(
        std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n'));
}

unsigned entries_of(const char* folder) {
    unsigned count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) {
        ++count;
    }
    return count;
}

// --- Virtual time
// -----------------------------------------------------------------------------------

// Every entry of four harts that work, call and kick each other, as (hart, time, kind).
std::vector<std::tuple<u32, u64, TrapKind>> history(u64 seed, bool costs) {
    HostedOptions options = small();
    options.harts = 4;
    options.seed = seed;
    options.cost_model = costs;
    HostedMachine machine(options);
    Kernel kernel(machine.port());
    std::vector<std::tuple<u32, u64, TrapKind>> seen;
    kernel.on_boot = [&] {
        for (u32 i = 0; i < 4; ++i) {
            kernel.make(i, work_forever, 100);
        }
        for (u32 i = 1; i < 4; ++i) {
            EXPECT_TRUE(kernel.port.start(kBoot, {i}));
        }
        kernel.port.arm(kBoot, kernel.port.now(kBoot));
        return nullptr;
    };
    kernel.on_online = [&](HartIndex hart) {
        kernel.port.arm(hart, kernel.port.now(hart));
        return nullptr;
    };
    kernel.on_enter = [&](HartIndex hart, const Trap& trap) {
        const Ticks now = kernel.port.now(hart);
        seen.emplace_back(hart.value, now.value, trap.kind);
        kernel.activate_on(hart);
        kernel.port.work(hart, Work::entry, 1);
        kernel.port.work(hart, Work::pick, 2);
        if (seen.size() % 7 == 0) {
            kernel.port.kick(hart, HartMask::of({(hart.value + 1) % 4}));
        }
        kernel.port.arm(hart, now + Ticks{50 + 13 * hart.value});
        return seen.size() < 2'000 ? kernel.threads[hart.value] : off(kernel, hart);
    };
    EXPECT_EQ(run(machine, kernel).end, End::off);
    return seen;
}

// Around whole seconds, where nanoseconds carry.
TEST(HostTime, CarriesBySeconds) {
    constexpr long kSecondNanos = 1'000'000'000;
    for (const u64 seconds : {u64{0}, u64{1}, u64{59}, u64{4'294'967'295}, u64{4'294'967'296}}) {
        for (u64 distance = 0; distance < 40; ++distance) {
            const u64 tick = (seconds + 1) * kTimebase + 20 - distance;
            const timespec time = host_time(tick);
            ASSERT_GE(time.tv_nsec, 0) << tick;
            ASSERT_LT(time.tv_nsec, kSecondNanos) << tick;
            EXPECT_EQ(static_cast<u64>(time.tv_sec), tick / kTimebase);
            EXPECT_EQ(ticks_of(time), tick);
            const timespec next = host_time(tick + 1);
            EXPECT_EQ((next.tv_sec - time.tv_sec) * kSecondNanos + next.tv_nsec - time.tv_nsec,
                      kSecondNanos / static_cast<long>(kTimebase))
                << tick;
        }
    }
    EXPECT_EQ(ticks_of({.tv_sec = 1, .tv_nsec = kSecondNanos - 1}), 2 * kTimebase - 1);
}

TEST(VirtualTime, RepeatsBySeed) {
    EXPECT_EQ(history(5, true), history(5, true));
    EXPECT_NE(history(5, true), history(6, true));
}

TEST(VirtualTime, RunsHartsInTheOrderOfTheirClocks) {
    for (const bool costs : {false, true}) {
        u64 before = 0;
        u32 harts = 0;
        for (const auto& [hart, time, kind] : history(9, costs)) {
            EXPECT_GE(time, before) << "an entry was made behind one that is later";
            before = time;
            harts |= 1u << hart;
        }
        EXPECT_EQ(harts, 15u);
    }
}

// While one hart is in a section that takes time, another enters.
TEST(VirtualTime, HartsInterleaveInsideTheKernel) {
    HostedOptions options = small();
    options.harts = 2;
    HostedMachine machine(options);
    Kernel kernel(machine.port());
    u32 inside = 0;
    u32 together = 0;
    kernel.on_boot = [&] {
        kernel.make(0, call_forever, 0);
        kernel.make(1, call_forever, 0);
        kernel.port.start(kBoot, {1});
        return kernel.threads[0];
    };
    kernel.on_online = [&](HartIndex hart) {
        kernel.activate_on(hart);
        return kernel.threads[1];
    };
    u32 entries = 0;
    kernel.on_enter = [&](HartIndex hart, const Trap&) -> Port::Context* {
        ++inside;
        for (int i = 0; i < 5; ++i) {
            kernel.port.work(hart, Work::entry, 1);
            together += inside == 2 ? 1 : 0;
        }
        --inside;
        return ++entries < 200 ? kernel.threads[hart.value] : off(kernel, hart);
    };
    EXPECT_EQ(run(machine, kernel).end, End::off);
    EXPECT_GT(together, 100u);
}

TEST(VirtualTime, WaitReturnsWithoutAKickNowAndThen) {
    HostedOptions options = small();
    options.harts = 2;
    HostedMachine machine(options);
    Kernel kernel(machine.port());
    u32 waits = 0;
    bool kicked = false;
    kernel.on_boot = [&]() -> Port::Context* {
        kernel.port.start(kBoot, {1});
        for (int i = 0; i < 100; ++i) {
            kicked = false;
            while (!kicked) {
                kernel.port.wait(kBoot);
                ++waits;
            }
        }
        off(kernel);
    };
    kernel.on_online = [&](HartIndex hart) -> Port::Context* {
        kernel.port.arm(hart, kernel.port.now(hart));
        return nullptr;
    };
    kernel.on_enter = [&](HartIndex hart, const Trap&) -> Port::Context* {
        kicked = true;
        kernel.port.kick(hart, HartMask::of(kBoot));
        kernel.port.arm(hart, kernel.port.now(hart) + Ticks{1'000});
        return nullptr;
    };
    EXPECT_EQ(run(machine, kernel).end, End::off);
    EXPECT_GT(waits, 110u) << "one wait in four is cut short";
    EXPECT_LT(waits, 400u);
}

TEST(VirtualTime, EachKindOfWorkHasItsOwnCost) {
    for (unsigned kind = 0; kind < kWorkKinds; ++kind) {
        u64 least = ~u64{0};
        u64 most = 0;
        for (u64 seed = 1; seed <= 40; ++seed) {
            HostedOptions options = small();
            options.seed = seed;
            HostedMachine machine(options);
            const Ticks before = machine.port().now(kBoot);
            machine.port().work(kBoot, static_cast<Work>(kind), 1);
            const u64 took = (machine.port().now(kBoot) - before).value;
            least = std::min(least, took);
            most = std::max(most, took);
        }
        EXPECT_GE(least, 1u) << "kind " << kind;
        EXPECT_GT(most, least) << "kind " << kind;
        EXPECT_LE(most, 64u) << "kind " << kind;
    }
}

TEST(VirtualTime, WithoutTheCostModelAnEntryTakesOneTick) {
    HostedOptions options = small();
    options.cost_model = false;
    HostedMachine machine(options);
    Kernel kernel(machine.port());
    kernel.on_boot = [&] { return kernel.make(0, call_forever, 0); };
    u64 last = kernel.port.now(kBoot).value;
    u32 entries = 0;
    kernel.on_enter = [&](HartIndex hart, const Trap&) {
        kernel.port.work(hart, Work::frame, 100);
        const u64 now = kernel.port.now(hart).value;
        if (entries++ > 0) {
            EXPECT_EQ(now - last, 1u);
        }
        last = now;
        return entries < 100 ? kernel.threads[0] : off(kernel);
    };
    EXPECT_EQ(run(machine, kernel).entries, 100u);
}

TEST(VirtualTime, EndsAtTheLimitInUserModeAndIdle) {
    for (const u32 harts : {1u, 3u}) {
        HostedOptions options = small();
        options.harts = harts;
        options.limit = Ticks{100'000};
        HostedMachine machine(options);
        Kernel kernel(machine.port());
        kernel.on_boot = [&] {
            for (u32 i = 1; i < harts; ++i) {
                kernel.port.start(kBoot, {i});  // they idle
            }
            kernel.port.arm(kBoot, kernel.port.now(kBoot) + Ticks{1'000});
            return kernel.make(0, work_forever, 1'000'000);
        };
        kernel.on_enter = [&](HartIndex hart, const Trap& trap) {
            EXPECT_EQ(trap.kind, TrapKind::timer);
            kernel.port.arm(hart, kernel.port.now(hart) + Ticks{1'000});
            return kernel.threads[0];
        };
        const Result result = run(machine, kernel);
        EXPECT_EQ(result.end, End::limit);
        EXPECT_GE(result.time.value, 100'000u);
        EXPECT_LT(result.time.value, 100'100u);
        EXPECT_GE(result.entries, 90u);
    }
}

TEST(VirtualTime, SaysWhenNothingWillEverHappen) {
    HostedOptions options = small();
    options.harts = 2;
    HostedMachine machine(options);
    Kernel kernel(machine.port());
    kernel.on_boot = [&]() -> Port::Context* {
        kernel.port.start(kBoot, {1});
        for (;;) {
            kernel.port.wait(kBoot);  // for a kick that nobody sends
        }
    };
    EXPECT_EQ(run(machine, kernel).end, End::stuck);
}

// A strict machine's far timers come early; an ordinary one's do not.
TEST(VirtualTime, StrictMachinesClampFarTimers) {
    for (const bool strict : {false, true}) {
        HostedOptions options = small();
        options.strict = strict;
        HostedMachine machine(options);
        Kernel kernel(machine.port());
        const u64 when = 30 * hosted::kTimebase;
        u32 early = 0;
        kernel.on_boot = [&]() -> Port::Context* {
            kernel.port.arm(kBoot, {when});
            return nullptr;
        };
        kernel.on_enter = [&](HartIndex hart, const Trap&) -> Port::Context* {
            if (kernel.port.now(hart).value >= when) {
                off(kernel);
            }
            ++early;
            kernel.port.arm(hart, {when});
            return nullptr;
        };
        EXPECT_EQ(run(machine, kernel).end, End::off);
        EXPECT_EQ(early, strict ? 29u : 0u);
    }
}

// --- What a trap costs
// ------------------------------------------------------------------------------

// A filter of the calling thread that kills the process at any system call but exit_group.
void allow_only_exit() {
    sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const sock_fprog program{std::size(code), code};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        ::_exit(7);
    }
}

// Calls and timer interrupts of two threads in turn, under the filter once both have run. Ends the
// process; `with_one` makes one system call before.
[[noreturn]] void traps_without_system_calls(bool with_one) {
    HostedMachine machine(small());
    Kernel kernel(machine.port());
    kernel.on_boot = [&] {
        kernel.make(0, call_forever, 0);
        return kernel.make(1, work_forever, 1'000);
    };
    u32 entries = 0;
    u32 calls = 0;
    kernel.on_enter = [&](HartIndex hart, const Trap& trap) {
        if (++entries == 10) {
            allow_only_exit();
        }
        calls += trap.kind == TrapKind::call ? 1 : 0;
        kernel.port.work(hart, Work::entry, 1);
        kernel.port.arm(hart, kernel.port.now(hart) + Ticks{500});
        if (entries == 50'000) {
            if (with_one) {
                ::syscall(SYS_getppid);
            }
            ::syscall(SYS_exit_group, calls > 10'000 ? 0 : 8);
        }
        return kernel.threads[entries / 2 % 2];
    };
    kernel.port.arm(kBoot, kernel.port.now(kBoot) + Ticks{500});
    run(machine, kernel);
    ::_exit(9);
}

TEST(TrapCost, NoSystemCallInACallOrATimerInterrupt) {
    // ThreadSanitizer's run time makes system calls of its own.
    if (!kThreadSanitizer) {
        EXPECT_EXIT(traps_without_system_calls(false), testing::ExitedWithCode(0), "");
    }
    // The filter sees one if there is one.
    EXPECT_EXIT(traps_without_system_calls(true), testing::KilledBySignal(SIGSYS), "");
}

}  // namespace
}  // namespace ravelin

// Every context switch of the program goes through here: the link wraps the function.
namespace {
std::atomic<unsigned> switches{0};
}
using boost_transfer = struct {
    void* context;
    void* data;
};
extern "C" boost_transfer __real_jump_fcontext(void* to, void* data);
extern "C" boost_transfer __wrap_jump_fcontext(void* to, void* data) {
    switches.fetch_add(1, std::memory_order_relaxed);
    return __real_jump_fcontext(to, data);
}

namespace ravelin {
namespace {

TEST(TrapCost, TwoContextSwitchesACall) {
    HostedMachine machine(small());
    Kernel kernel(machine.port());
    kernel.on_boot = [&] { return kernel.make(0, call_forever, 0); };
    u32 entries = 0;
    unsigned before = 0;
    kernel.on_enter = [&](HartIndex, const Trap&) {
        if (++entries == 2) {
            before = switches.load();
        }
        return entries < 1'002 ? kernel.threads[0] : off(kernel);
    };
    run(machine, kernel);
    // One more to end the run.
    EXPECT_EQ(switches.load() - before, 2'000u + 1);
}

// --- Faults and preemption
// --------------------------------------------------------------------------

struct Frame {
    std::byte filler[512];
};
// Deeper until there is no more stack. Not a tail call, and not less than a frame each.
[[gnu::noinline]] unsigned deeper(unsigned left) {
    Frame here{};
    here.filler[left % 512] = std::byte{1};
    asm volatile("" : : "r"(&here) : "memory");
    return left == 0 ? 0 : deeper(left - 1) + static_cast<unsigned>(here.filler[1]);
}
void overflow(Word) {
    deeper(~0u);
}

TEST(Faults, AStackOverflowIsDelivered) {
    for (const hosted::Clock clock : {hosted::Clock::virtual_time, hosted::Clock::threads}) {
        HostedOptions options = small();
        options.clock = clock;
        HostedMachine machine(options);
        Kernel kernel(machine.port());
        u32 faults = 0;
        kernel.on_boot = [&] { return kernel.make(0, overflow, 0); };
        kernel.on_enter = [&](HartIndex hart, const Trap& trap) {
            EXPECT_EQ(trap.kind, TrapKind::fault);
            EXPECT_EQ(trap.fault, FaultKind::store);
            EXPECT_NE(trap.address >> 63, 0u) << "not in the window";
            kernel.port.drop_context(hart, *kernel.threads[0]);
            return ++faults < 20 ? kernel.make(0, overflow, 0) : off(kernel);
        };
        EXPECT_EQ(run(machine, kernel).end, End::off);
    }
}

void null_pointer(Word) {
    int* nothing = nullptr;
    asm volatile("" : "+r"(nothing));
    *static_cast<volatile int*>(nothing) = 1;
}
void divide(Word zero) {
    asm volatile("xor %%edx, %%edx\n mov $1, %%eax\n divl %0"
                 :
                 : "r"(static_cast<u32>(zero))
                 : "eax", "edx");
}
void not_canonical(Word) {
    auto* nowhere = reinterpret_cast<volatile int*>(0x8000'0000'0000'0000u);
    static_cast<void>(*nowhere);
}

TEST(Faults, HostFaultsOfGuestCodeAreFaultsOfItsThread) {
    HostedMachine machine(small());
    Kernel kernel(machine.port());
    u32 step = 0;
    kernel.on_boot = [&] { return kernel.make(0, null_pointer, 0); };
    kernel.on_enter = [&](HartIndex hart, const Trap& trap) {
        EXPECT_EQ(trap.kind, TrapKind::fault);
        kernel.port.drop_context(hart, *kernel.threads[0]);
        switch (step++) {
        case 0:
            EXPECT_EQ(trap.fault, FaultKind::store);
            EXPECT_GE(trap.address, Port::Format::kUserEnd) << "no user address";
            return kernel.make(0, divide, 0);
        case 1: EXPECT_EQ(trap.fault, FaultKind::illegal); return kernel.make(0, not_canonical, 0);
        default: EXPECT_EQ(trap.fault, FaultKind::load); off(kernel);
        }
    };
    EXPECT_EQ(run(machine, kernel).end, End::off);
}

// A loop without calls over vector registers, whose sum any lost register spoils.
void vectors(Word rounds) {
    using Vector = double __attribute__((vector_size(32)));
    Vector a{1, 2, 3, 4}, b{5, 6, 7, 8}, c{}, d{1, 1, 1, 1};
    for (Word i = 0; i < rounds; ++i) {
        c += a * d + b;
        asm volatile(""
                     : "+x"(*reinterpret_cast<__attribute__((vector_size(16))) double*>(&c))
                     :
                     : "memory");
    }
    Word registers[abi::kCallRegisters] = {};
    for (unsigned i = 0; i < 4; ++i) {
        registers[1 + i] = static_cast<Word>(c[i]);
    }
    ravelin_guest_call(registers);
}

TEST(Preemption, KeepsEveryRegisterOfAThreadThatMakesNoCalls) {
    constexpr Word kLoops = 20'000'000;
    HostedOptions options = small();
    options.clock = hosted::Clock::threads;
    HostedMachine machine(options);
    Kernel kernel(machine.port());
    u32 preempted = 0;
    u32 finished = 0;
    kernel.on_boot = [&] {
        kernel.port.arm(kBoot, kernel.port.now(kBoot) + Ticks{1'000});
        kernel.make(1, vectors, kLoops);
        return kernel.make(0, vectors, kLoops);
    };
    kernel.on_enter = [&](HartIndex hart, const Trap& trap) {
        static unsigned running = 0;
        if (trap.kind == TrapKind::call) {
            for (unsigned i = 0; i < 4; ++i) {
                EXPECT_EQ(kernel.threads[running]->reg(1 + i), kLoops * (i + 1 + i + 5));
            }
            if (++finished == 2) {
                off(kernel);
            }
        } else {
            EXPECT_EQ(trap.kind, TrapKind::timer);
            ++preempted;
            kernel.port.arm(hart, kernel.port.now(hart) + Ticks{1'000});
        }
        running = finished == 1 && trap.kind == TrapKind::call ? 1 - running
                  : finished == 0                              ? 1 - running
                                                               : running;
        return kernel.threads[running];
    };
    EXPECT_EQ(run(machine, kernel).end, End::off);
    EXPECT_GT(preempted, 10u);
}

// Two harts that take two spinning threads from each other: threads move between OS threads.
TEST(Preemption, ThreadsMoveBetweenHarts) {
    HostedOptions options = small();
    options.harts = 2;
    options.clock = hosted::Clock::threads;
    HostedMachine machine(options);
    Kernel kernel(machine.port());
    constexpr u32 kMostEntries = 2'000'000;
    std::mutex lock;
    std::vector<unsigned> ready;
    std::array<unsigned, 2> running{0, 1};
    std::array<std::array<u32, 2>, 3> runs{};
    u32 total = 0;
    const auto next = [&](HartIndex hart) {
        const unsigned chosen = ready.front();
        ready.erase(ready.begin());
        running[hart.value] = chosen;
        ++runs[chosen][hart.value];
        kernel.activate_on(hart);
        kernel.port.arm(hart, kernel.port.now(hart) + Ticks{500});
        return kernel.threads[chosen];
    };
    kernel.on_boot = [&] {
        kernel.make(0, spin_forever, 0);
        kernel.make(1, call_forever, 0);
        kernel.make(2, work_forever, 100);
        ready = {0, 1, 2};
        Port::Context* first = next(kBoot);
        kernel.port.start(kBoot, {1});
        return first;
    };
    kernel.on_online = [&](HartIndex hart) {
        std::lock_guard hold(lock);
        return next(hart);
    };
    kernel.on_enter = [&](HartIndex hart, const Trap&) {
        std::lock_guard hold(lock);
        const bool everywhere = std::all_of(runs.begin(), runs.end(), [](const auto& of_thread) {
            return of_thread[0] > 20 && of_thread[1] > 20;
        });
        if (++total == kMostEntries || everywhere) {
            lock.unlock();  // the run ends from here: nothing is unwound
            off(kernel, hart);
        }
        ready.push_back(running[hart.value]);
        return next(hart);
    };
    EXPECT_EQ(run(machine, kernel).end, End::off);
    EXPECT_LT(total, kMostEntries) << "not every thread has run on both harts";
}

// --- Windows
// ----------------------------------------------------------------------------------------

void read_forever(Word address) {
    Word registers[abi::kCallRegisters] = {};
    for (;;) {
        registers[1] = static_cast<Word>(*reinterpret_cast<volatile u64*>(user(address)));
        ravelin_guest_call(registers);
    }
}

// A kernel that maps a page, has a thread read it, and then does what `after` says at the second
// read.
void with_a_page_read(HostedOptions options,
                      const std::function<Port::Context*(Kernel&, const Trap&, u32)>& after) {
    HostedMachine machine(options);
    Kernel kernel(machine.port());
    const FrameNumber frame = kernel.take_frame();
    kernel.on_boot = [&] {
        *static_cast<u64*>(kernel.port.frame_pointer(frame)) = 0x1ee7;
        kernel.map(kPage, frame, kReadWrite);
        return kernel.make(0, read_forever, kPage);
    };
    u32 step = 0;
    kernel.on_enter = [&](HartIndex, const Trap& trap) {
        if (step == 0) {
            EXPECT_EQ(trap.kind, TrapKind::call);
            EXPECT_EQ(kernel.threads[0]->reg(1), 0x1ee7u);
        }
        return after(kernel, trap, step++);
    };
    run(machine, kernel);
}

constexpr FrameNumber frame_of(const Kernel& kernel) {
    return {kernel.root.value + 1};
}

TEST(Windows, WhatIsNotFlushedStaysReachable) {
    u32 steps = 0;
    with_a_page_read(small(), [&](Kernel& kernel, const Trap& trap, u32 step) -> Port::Context* {
        ++steps;
        switch (step) {
        case 0: kernel.table_entry(kPage) = 0; return kernel.threads[0];  // and no flush
        case 1:
            EXPECT_EQ(trap.kind, TrapKind::call) << "the translation that was kept is used";
            kernel.port.flush(kBoot, Kernel::kSpace, kPage, 1);
            return kernel.threads[0];
        default:
            EXPECT_EQ(trap.kind, TrapKind::fault) << "until the flush";
            EXPECT_EQ(trap.address, kPage);
            off(kernel);
        }
    });
    EXPECT_EQ(steps, 3u);
}

TEST(Windows, AForgottenFlushIsFoundWhenTheFrameIsHandedOut) {
    EXPECT_DEATH(with_a_page_read(small(),
                                  [](Kernel& kernel, const Trap&, u32) -> Port::Context* {
                                      kernel.table_entry(kPage) = 0;
                                      kernel.port.assert_frame_unmapped(frame_of(kernel));
                                      off(kernel);
                                  }),
                 "frame [0-9]+ is handed out while space 2 still reaches it at 0x100000");
    with_a_page_read(small(), [](Kernel& kernel, const Trap&, u32) -> Port::Context* {
        kernel.table_entry(kPage) = 0;
        kernel.port.flush(kBoot, Kernel::kSpace, kPage, 1);
        kernel.port.assert_frame_unmapped(frame_of(kernel));
        off(kernel);
    });
}

TEST(Windows, AForgottenFlushIsFoundWhenTheFrameIsMappedElsewhere) {
    EXPECT_DEATH(with_a_page_read(small(),
                                  [](Kernel& kernel, const Trap&, u32 step) -> Port::Context* {
                                      if (step == 1) {
                                          off(kernel);
                                      }
                                      kernel.table_entry(kPage) = 0;
                                      kernel.map(kPage + 0x5000, frame_of(kernel), kReadWrite);
                                      return kernel.make(1, read_forever, kPage + 0x5000);
                                  }),
                 "frame [0-9]+ is mapped again while space 2 still reaches it at 0x100000");
}

// Both harts have used the space; one flushes a change, the other runs the space again without.
void resume_without_flush(bool flushes) {
    HostedOptions options = small();
    options.harts = 2;
    HostedMachine machine(options);
    Kernel kernel(machine.port());
    kernel.map(kPage, kernel.take_frame(), kReadWrite);
    kernel.on_boot = [&] {
        kernel.port.start(kBoot, {1});
        return kernel.make(0, read_forever, kPage);
    };
    bool gone = false;  // hart 1 has run the space and left it
    kernel.on_online = [&](HartIndex hart) -> Port::Context* {
        kernel.activate_on(hart);
        kernel.port.activate(hart, {0}, 0);
        gone = true;
        kernel.port.kick(hart, HartMask::of(kBoot));
        return nullptr;
    };
    u32 step = 0;
    kernel.on_enter = [&](HartIndex hart, const Trap&) -> Port::Context* {
        if (hart == kBoot && step == 0) {
            ++step;
            while (!gone) {
                kernel.port.wait(kBoot);
            }
            kernel.table_entry(kPage) = 0;
            kernel.port.flush(kBoot, Kernel::kSpace, kPage, 1);
            kernel.make(1, work_forever, 10);
            kernel.port.kick(kBoot, HartMask::of({1}));
            return nullptr;
        }
        if (step == 1) {
            ++step;
            kernel.activate_on(hart);
            if (flushes) {
                kernel.port.flush(hart, Kernel::kSpace, kPage, 1);
            }
            kernel.port.arm(hart, kernel.port.now(hart) + Ticks{100});
            return kernel.threads[1];
        }
        off(kernel, hart);
    };
    EXPECT_EQ(run(machine, kernel).end, End::off);
}

TEST(Windows, AHartThatWasAwayMustFlushBeforeItRunsTheSpaceAgain) {
    EXPECT_DEATH(resume_without_flush(false),
                 "hart 1 resumes space 2 without having flushed 0x100000");
    resume_without_flush(true);
}

TEST(Windows, AThreadOfAnotherSpaceIsNotResumed) {
    EXPECT_DEATH(with_a_page_read(small(),
                                  [](Kernel& kernel, const Trap&, u32) -> Port::Context* {
                                      kernel.port.activate(kBoot, {0}, 0);
                                      return kernel.threads[0];
                                  }),
                 "hart 0 resumes a thread of space 2 while space 0 is active");
}

void touch_many(Word pages) {
    Word wrong = 0;
    for (Word round = 0; round < 2; ++round) {
        for (Word page = 0; page < pages; ++page) {
            auto* word = reinterpret_cast<volatile Word*>(user(kPage + page * kPageSize));
            if (round == 0) {
                *word = page * 3;
            }
            wrong += *word != page * 3 ? 1 : 0;
        }
    }
    call(wrong);
}

TEST(Windows, ShowAtMostTheirCapacity) {
    HostedOptions options = small();
    options.window_pages = 8;
    HostedMachine machine(options);
    Kernel kernel(machine.port());
    unsigned before = 0;
    kernel.on_boot = [&] {
        for (Word page = 0; page < 200; ++page) {
            kernel.map(kPage + page * kPageSize, kernel.take_frame(), kReadWrite);
        }
        before = lines_of_maps();
        return kernel.make(0, touch_many, 200);
    };
    kernel.on_enter = [&](HartIndex, const Trap& trap) -> Port::Context* {
        EXPECT_EQ(trap.kind, TrapKind::call);
        EXPECT_EQ(kernel.threads[0]->reg(0), 0u) << "pages that read wrong";
        EXPECT_LE(lines_of_maps(), before + 2 * 8 + 8);
        off(kernel);
    };
    EXPECT_EQ(run(machine, kernel).end, End::off);
}

// A strict machine keeps refused translations: some accesses still fault after the page was mapped
// without a flush, none after the flush.
TEST(Windows, StrictMachinesKeepRefusedTranslations) {
    u32 kept = 0;
    for (u64 seed = 1; seed <= 20; ++seed) {
        HostedOptions options = small();
        options.strict = true;
        options.seed = seed;
        HostedMachine machine(options);
        Kernel kernel(machine.port());
        kernel.on_boot = [&] { return kernel.make(0, read_forever, kPage); };
        u32 step = 0;
        kernel.on_enter = [&](HartIndex, const Trap& trap) -> Port::Context* {
            if (step++ == 0) {
                EXPECT_EQ(trap.kind, TrapKind::fault);
                kernel.map(kPage, kernel.take_frame(), kReadWrite);
                return kernel.threads[0];
            }
            if (trap.kind == TrapKind::fault) {
                ++kept;
                EXPECT_EQ(step, 2u) << "a flush ends it";
                kernel.port.flush(kBoot, Kernel::kSpace, kPage, 1);
                return kernel.threads[0];
            }
            off(kernel);
        };
        EXPECT_EQ(run(machine, kernel).end, End::off);
    }
    EXPECT_GT(kept, 3u);
    EXPECT_LT(kept, 17u);
}

// --- Interrupt controller
// ---------------------------------------------------------------------------

TEST(Controller, IsAsStrictAsAPlic) {
    hosted::Interrupts controller;
    controller.set_line(5, true);
    EXPECT_FALSE(controller.asserted()) << "a disabled source interrupts nobody";
    EXPECT_EQ(controller.claim(), 0u);
    controller.set_enabled(5, true);
    controller.set_enabled(1'023, true);
    controller.set_enabled(0, true);  // is none
    EXPECT_TRUE(controller.asserted());
    controller.set_line(1'023, true);
    EXPECT_EQ(controller.claim(), 5u);
    EXPECT_EQ(controller.claim(), 1'023u);
    EXPECT_EQ(controller.claim(), 0u) << "neither again before it is completed";
    EXPECT_FALSE(controller.asserted());
    controller.set_line(5, false);
    controller.complete(5);
    EXPECT_EQ(controller.claim(), 0u) << "its line is low";
    controller.complete(1'023);
    EXPECT_EQ(controller.claim(), 1'023u) << "its line is still high";
    controller.set_enabled(1'023, false);
    controller.complete(1'023);
    controller.set_enabled(1'023, true);
    EXPECT_EQ(controller.claim(), 0u) << "completed while disabled: stuck";
    controller.complete(1'023);
    EXPECT_EQ(controller.claim(), 1'023u) << "until it is completed while enabled";
    controller.complete(2'000);  // is none
}

TEST(Controller, ALineInterruptsUserCodeAndIdleHarts) {
    for (const hosted::Clock clock : {hosted::Clock::virtual_time, hosted::Clock::threads}) {
        HostedOptions options = small();
        options.clock = clock;
        options.devices = {{.kind = DeviceKind::interrupt, .address = 0, .pages = 0, .source = 7}};
        HostedMachine machine(options);
        Kernel kernel(machine.port());
        u32 step = 0;
        kernel.on_boot = [&] {
            kernel.port.set_enabled(kBoot, 7, true);
            machine.set_line(7, true);
            return kernel.make(0, work_forever, 1'000'000'000);
        };
        kernel.on_enter = [&](HartIndex hart, const Trap& trap) -> Port::Context* {
            EXPECT_EQ(trap.kind, TrapKind::external);
            EXPECT_EQ(kernel.port.claim(hart), 7u);
            if (step++ == 1) {
                off(kernel);
            }
            kernel.port.complete(hart, 7);  // the line is high: it comes again, idle now
            return nullptr;
        };
        EXPECT_EQ(run(machine, kernel).end, End::off);
    }
}

// --- Host
// -------------------------------------------------------------------------------------------

TEST(Host, OptionsOutOfRangeAreRefused) {
    const auto refused = [](void (*change)(HostedOptions&)) {
        HostedOptions options = small();
        change(options);
        EXPECT_THROW(HostedMachine{options}, std::invalid_argument);
    };
    refused([](HostedOptions& options) { options.harts = 0; });
    refused([](HostedOptions& options) { options.harts = kMaxHarts + 1; });
    refused([](HostedOptions& options) { options.memory_mib = 0; });
    refused([](HostedOptions& options) { options.memory_mib = 5'000; });
    refused([](HostedOptions& options) { options.window_pages = 0; });
    refused([](HostedOptions& options) { options.window_pages = 20'000; });
    HostedMachine machine(small());
    EXPECT_THROW(machine.set_line(0, true), std::invalid_argument);
    EXPECT_THROW(machine.set_line(1'024, true), std::invalid_argument);
}

TEST(Host, AGuestThatMakesNoProgressEndsTheProcess) {
    const auto spin = [] {
        HostedOptions options = small();
        options.watchdog_seconds = 1;
        HostedMachine machine(options);
        Kernel kernel(machine.port());
        kernel.on_boot = [&] { return kernel.make(0, spin_forever, 0); };
        run(machine, kernel);
    };
    EXPECT_EXIT(spin(), testing::ExitedWithCode(hosted::kWatchdogExit),
                "ravelin: no progress: .*1 seconds");
}

TEST(Host, AGuestFunctionCalledByAnotherThreadSaysSo) {
    EXPECT_DEATH(ravelin_guest_clock(), "called by a thread that is no guest's");
}

TEST(Host, AFaultOfTheKernelIsTheHosts) {
    const auto broken = [] {
        HostedMachine machine(small());
        Kernel kernel(machine.port());
        kernel.on_boot = [&]() -> Port::Context* {
            ::signal(SIGSEGV, SIG_DFL);  // what a sanitizer or a crash reporter may have installed
            int* nothing = nullptr;
            asm volatile("" : "+r"(nothing));
            *static_cast<volatile int*>(nothing) = 1;
            return nullptr;
        };
        run(machine, kernel);
    };
    EXPECT_EXIT(broken(), testing::KilledBySignal(SIGSEGV), "");
}

TEST(Host, TheHandlerFoundAtStartHearsOfForeignFaults) {
    const auto foreign = [] {
        struct sigaction mine{};
        mine.sa_handler = [](int) { ::_exit(42); };
        ::sigaction(SIGSEGV, &mine, nullptr);
        HostedMachine machine(small());
        int* nothing = nullptr;
        asm volatile("" : "+r"(nothing));
        *static_cast<volatile int*>(nothing) = 1;
    };
    EXPECT_EXIT(foreign(), testing::ExitedWithCode(42), "");
}

TEST(Host, HandlersAreThereOnlyWhileAMachineIs) {
    struct sigaction before{}, during{}, after{};
    ::sigaction(SIGILL, nullptr, &before);
    {
        HostedMachine machine(small());
        HostedMachine other(small());
        ::sigaction(SIGILL, nullptr, &during);
    }
    ::sigaction(SIGILL, nullptr, &after);
    EXPECT_NE(during.sa_sigaction, before.sa_sigaction);
    EXPECT_EQ(after.sa_sigaction, before.sa_sigaction);
}

// A whole life: boots, starts a hart, takes page faults, ends with threads that still run.
void live_once(hosted::Clock clock) {
    HostedOptions options = small();
    options.harts = 2;
    options.clock = clock;
    HostedMachine machine(options);
    Kernel kernel(machine.port());
    kernel.on_boot = [&] {
        kernel.map(kPage, kernel.take_frame(), kReadWrite);
        kernel.make(1, work_forever, 100);
        kernel.port.start(kBoot, {1});
        return kernel.make(0, read_forever, kPage);
    };
    kernel.on_online = [&](HartIndex hart) {
        kernel.activate_on(hart);
        return kernel.threads[1];
    };
    std::atomic<u32> entries = 0;
    kernel.on_enter = [&](HartIndex hart, const Trap&) {
        return ++entries < 5 ? kernel.threads[hart.value] : off(kernel, hart);
    };
    EXPECT_EQ(run(machine, kernel).end, End::off);
}

TEST(Host, AThousandLivesLeaveNothing) {
    for (const hosted::Clock clock : {hosted::Clock::virtual_time, hosted::Clock::threads}) {
        for (int i = 0; i < 20; ++i) {
            live_once(clock);  // whatever the C library keeps for good
        }
        const unsigned files = entries_of("/proc/self/fd");
        const unsigned maps = lines_of_maps();
        for (int i = 0; i < 1'000; ++i) {
            live_once(clock);
        }
        EXPECT_EQ(entries_of("/proc/self/fd"), files);
        // ThreadSanitizer maps its own shadow as it goes; a machine that left its own would leave thousands.
        EXPECT_LE(lines_of_maps(), maps + (kThreadSanitizer ? 100 : 8));
        EXPECT_LE(entries_of("/proc/self/task"), 3u);  // a sanitizer has a thread of its own
    }
}

TEST(Host, AThousandMachinesLiveAtOnce) {
    rlimit files{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
    struct Pair {
        std::unique_ptr<HostedMachine> machine;
        std::unique_ptr<Kernel> kernel;
        u32 entries = 0;
    };
    std::vector<Pair> pairs(1'000);
    HostedOptions options = small();
    options.memory_mib = 1;
    options.watchdog_seconds = 0;
    for (Pair& pair : pairs) {
        pair.machine = std::make_unique<HostedMachine>(options);
        pair.kernel = std::make_unique<Kernel>(pair.machine->port());
        pair.kernel->on_boot = [&pair] { return pair.kernel->make(0, call_forever, 0); };
        pair.kernel->on_enter = [&pair](HartIndex, const Trap&) {
            return ++pair.entries < 10 ? pair.kernel->threads[0] : off(*pair.kernel);
        };
    }
    for (Pair& pair : pairs) {
        EXPECT_EQ(run(*pair.machine, *pair.kernel).entries, 10u);
    }
}

TEST(Host, ATraceFileHasItsHead) {
    const std::string path = testing::TempDir() + "ravelin-trace-test";
    const abi::TraceRecord records[2] = {{1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14}};
    abi::TraceHead head{};
    head.harts = 3;
    const abi::TraceSums sums[1] = {{15, 16}};
    EXPECT_EQ(hosted::write_trace(path, head, records, sums), "");
    std::ifstream file(path, std::ios::binary);
    abi::TraceHead read{};
    file.read(reinterpret_cast<char*>(&read), sizeof read);
    EXPECT_EQ(std::string(read.magic, 8), "RAVTRACE");
    EXPECT_EQ(read.version, abi::kTraceVersion);
    EXPECT_EQ(read.record_size, 32u);
    EXPECT_EQ(read.records, 2u);
    EXPECT_EQ(read.harts, 3u);
    u64 digest = 14'695'981'039'346'656'037u;
    const auto add = [&](u64 byte) { digest = (digest ^ byte) * 1'099'511'628'211u; };
    abi::TraceHead undigested = read;
    undigested.digest = 0;
    for (const std::byte byte : std::as_bytes(std::span(&undigested, 1))) {
        add(static_cast<u64>(byte));
    }
    std::size_t behind = 0;
    for (int byte = file.get(); byte != EOF; byte = file.get(), ++behind) {
        add(static_cast<u64>(byte));
    }
    EXPECT_EQ(behind, sizeof records + sizeof sums);
    EXPECT_EQ(read.digest, digest);
    std::filesystem::remove(path);
    EXPECT_NE(hosted::write_trace("/nowhere/at/all", head, records, sums), "");
}

}  // namespace
}  // namespace ravelin
