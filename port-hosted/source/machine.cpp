// The machine and the loop of its harts. See machine.h.

#include "port-hosted/source/machine.h"

#include <link.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "port-hosted/source/guest.h"
#include "port-hosted/source/panic.h"

namespace ravelin::hosted {

namespace {

constexpr u32 kFramesInMib = 1024 * 1024 / kPageSize;

// Where a machine's clock stands when it boots: not 0, so that nobody takes 0 for a time.
constexpr u64 kBootTime = 1'000;

// The frames that a strict machine's RAM lacks in its middle.
constexpr u32 kHoleFrames = 16;

int find_image(dl_phdr_info* info, std::size_t, void* found) {
    Image& image = *static_cast<Image*>(found);
    image.base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto& header = info->dlpi_phdr[i];
        if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0) {
            image.text = info->dlpi_addr + header.p_vaddr;
            image.text_end = image.text + header.p_memsz;
        }
    }
    return 1;  // the executable comes first
}

void check(const HostedOptions& options) {
    if (options.harts < 1 || options.harts > kMaxHarts) {
        throw std::invalid_argument("harts: 1 to " + std::to_string(kMaxHarts));
    }
    if (options.memory_mib < 1 || options.memory_mib > 4'096) {
        throw std::invalid_argument("memory: 1 to 4096 MiB");
    }
    if (options.trace_mib > 4'096) {
        throw std::invalid_argument("trace: 0 to 4096 MiB");
    }
    if (options.window_pages < 1 || options.window_pages > Windows::kMostEntries) {
        throw std::invalid_argument("window pages: 1 to " + std::to_string(Windows::kMostEntries));
    }
}

}  // namespace

void panic(const char* format, ...) noexcept {
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    const std::size_t used =
        std::min<std::size_t>(static_cast<std::size_t>(std::max(length, 0)), sizeof line - 2);
    line[used] = '\n';
    const char head[] = "ravelin hosted port: ";
    static_cast<void>(!::write(2, head, sizeof head - 1));
    static_cast<void>(!::write(2, line, used + 1));
    std::abort();
}

const Image& image() {
    static const Image found = [] {
        Image image;
        ::dl_iterate_phdr(find_image, &image);
        return image;
    }();
    return found;
}

KernelStack::KernelStack() : memory_(kSize, PROT_READ | PROT_WRITE) {
    if (::mprotect(memory_.start(), kPageSize, PROT_NONE) != 0) {
        throw std::system_error(errno, std::generic_category(), "mprotect");
    }
}

Machine::Machine(const HostedOptions& wanted)
    : options((check(wanted), wanted)),
      port(*this),
      real(options.clock == Clock::threads),
      limit(options.limit.value_or(kNever).value),
      frames(1 + (options.memory_mib + options.trace_mib) * kFramesInMib),
      random_state(mix(options.seed, 1)) {
    const std::size_t bytes = std::size_t{frames} * kPageSize;
    memory_file = HostFile("ravelin-ram", bytes);
    ram = HostMemory(bytes, PROT_READ | PROT_WRITE, memory_file.number());
    windows = std::make_unique<Windows>(Windows::Ram{memory_file.number(), ram.start(), frames},
                                        options.window_pages, options.strict, mix(options.seed, 2));
    for (u32 i = 0; i < options.harts; ++i) {
        harts[i] = std::make_unique<Hart>();
        Hart& hart = *harts[i];
        hart.machine = this;
        hart.index = {i};
        fiber_make(hart.loop, hart.stack.bottom(), KernelStack::kSize - kPageSize,
                   KernelStack::kSize - kPageSize, loop_entry);
        hart.stopped = &hart.loop;
        port.turns_[i].random = mix(options.seed, 16 + i);
    }

    const u32 ordinary = options.memory_mib * kFramesInMib;
    if (options.strict) {
        ram_runs = {{{1}, ordinary / 2},
                    {{1 + ordinary / 2 + kHoleFrames}, ordinary - ordinary / 2 - kHoleFrames}};
    } else {
        ram_runs = {{{1}, ordinary}};
    }
    devices = options.devices;
    devices.push_back({.kind = DeviceKind::mmio,
                       .model = DeviceModel::goldfish_rtc,
                       .address = kRtcAddress,
                       .pages = 1});
    devices.push_back(
        {.kind = DeviceKind::interrupt, .model = DeviceModel::goldfish_rtc, .source = kRtcSource});
    devices.push_back({.kind = DeviceKind::reset});
    port.ram_ = ram.start();
    port.real_ = real;
    port.costs_ = !real && options.cost_model;
    port.plain_timer_ = !real && !options.strict;
    port.board_ = {.timebase = kTimebase,
                   .harts = options.harts,
                   .ram = ram_runs,
                   .devices = devices,
                   .trace = {{1 + ordinary}, options.trace_mib * kFramesInMib}};
}

Machine::~Machine() {
    for (auto& hart : harts) {
        if (hart != nullptr) {
            fiber_drop(hart->loop);
        }
    }
}

u64 Machine::random() {
    random_state += 0x9e3779b97f4a7c15u;
    return mix(random_state, 0);
}

Result Machine::run(Kernel& the_kernel, const BootProgram& the_program) {
    if (began) {
        panic("a machine runs once");
    }
    if (current_hart() != nullptr) {
        panic("a machine is run from inside another one's OS thread");
    }
    began = true;
    kernel = &the_kernel;
    program = &the_program;
    std::jthread watchdog;
    if (options.watchdog_seconds != 0) {
        watchdog = std::jthread([this](std::stop_token stop) { watch(stop); });
    }
    if (real) {
        run_threads();
    } else {
        AlternateStack alternate;
        for (auto& hart : harts) {
            if (hart != nullptr) {
                hart->alternate = alternate.stack();
            }
        }
        fiber_adopt(main);
        port.turns_[0].started = true;
        port.turns_[0].time = kBootTime;
        set_current_hart(harts[0].get());
        fiber_switch(main, harts[0]->loop);
        set_current_hart(nullptr);
    }
    for (u32 i = 0; i < options.harts; ++i) {
        result.entries += harts[i]->entries.load();
        result.harts.push_back(harts[i]->counts);
    }
    return result;
}

// Ends the process when no hart has entered the kernel for the time of the watchdog. A stop in a
// debugger stops this thread too, so it counts as one step at most.
void Machine::watch(std::stop_token stop) {
    constexpr u32 kStepsInSecond = 4;
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    u64 before = 0;
    for (u32 still = 0; still < options.watchdog_seconds * kStepsInSecond;) {
        wake.wait_for(lock, stop, std::chrono::milliseconds(1'000 / kStepsInSecond),
                      [] { return false; });
        if (stop.stop_requested()) {
            return;
        }
        u64 now = 0;
        for (const auto& hart : harts) {
            now += hart != nullptr ? hart->entries.load(std::memory_order_relaxed) : 0;
        }
        still = now == before ? still + 1 : 0;
        before = now;
    }
    std::fprintf(stderr,
                 "ravelin: no progress: no hart has entered the kernel for %u seconds of host time "
                 "(a guest that makes no call%s, or a kernel that does not return)\n",
                 options.watchdog_seconds, real ? "" : " and reads no clock in virtual time");
    std::fflush(nullptr);
    std::_Exit(kWatchdogExit);
}

void Machine::finish(Hart& hart, Fiber& self, End end, u64 time) {
    if (real) {
        {
            std::lock_guard hold(end_mutex);
            if (!over) {
                over = true;
                result.end = end;
                result.time = {time};
                stopping = true;
            }
        }
        ended.notify_all();
        leave(hart, self);
    }
    result.end = end;
    result.time = {time};
    fiber_switch(self, main);
    __builtin_unreachable();
}

void Machine::set_line(u32 source, bool high) {
    if (source == 0 || source >= Interrupts::kSources) {
        throw std::invalid_argument("interrupt source: 1 to 1023");
    }
    interrupts.set_line(source, high);
    announce_interrupts();
}

// Tells harts that run user code or idle of a source that interrupts now.
void Machine::announce_interrupts() {
    if (!interrupts.asserted()) {
        return;
    }
    if (real) {
        for (auto& hart : harts) {
            if (hart != nullptr) {
                poke(*hart);
            }
        }
    } else if (Hart* running = current_hart()) {
        interrupt_listeners(turn(*running).time + 1);
    }
}

// A guest wrote a register of the clock.
void Machine::update_rtc() {
    announce_interrupts();
    if (real) {
        alarm_moved.fetch_add(1, std::memory_order_seq_cst);
        ::syscall(SYS_futex, &alarm_moved, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
    } else {
        alarm = rtc.due();
        port.horizon_ = std::min(port.horizon_, alarm);
    }
}

void Machine::loop_entry(Transfer transfer) {
    fiber_is_outermost();
    fiber_bottom();
    Hart& hart = *current_hart();
    fiber_arrived(hart.loop, transfer);
    hart.machine->loop(hart);
}

// In the order in which RISC-V takes them: external, software, timer. A timer's stays pending until
// the hart arms again.
bool Machine::take_interrupt(Hart& hart, Trap& trap) {
    if (!interrupt_due(hart)) {
        return false;
    }
    Port::Turn& mine = turn(hart);
    if (interrupts.asserted()) {
        trap.kind = TrapKind::external;
    } else if (real ? hart.kicked.exchange(0, std::memory_order_seq_cst) != 0
                    : mine.kick_at <= mine.time) {
        mine.kick_at = kNever.value;
        trap.kind = TrapKind::kick;
    } else {
        trap.kind = TrapKind::timer;
    }
    return true;
}

// Inlined into the loop: a return behind a switch of stacks is always predicted wrong, and costs as
// much as the switch.
[[gnu::always_inline]] inline Trap Machine::run_user(Hart& hart, Port::Context& context) {
    for (;;) {
        if (real) {
            if (stopping) {
                leave(hart, hart.loop);
            }
            hart.signalled.store(0, std::memory_order_relaxed);
        } else if (turn(hart).time >= limit) {
            park(hart, hart.loop);
        }
        Trap trap;
        if (take_interrupt(hart, trap)) {
            context.was_call = context.again;  // a call still to be taken again stays so
            return trap;
        }
        if (context.again != 0) {
            context.again = 0;
            return {.kind = TrapKind::call};
        }
        if (context.thread == nullptr) {
            context.thread = begin(context);
        }
        context.was_call = 0;
        if (context.thread == nullptr) {
            return {.kind = TrapKind::fault, .fault = FaultKind::fetch, .address = context.entry};
        }
        windows->check_resume(hart.index, context.space);
        GuestThread& guest = *context.thread;
        guest.hart.store(&hart, std::memory_order_relaxed);
        guest.runs.store(guest.runs.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        hart.guest.store(&guest, std::memory_order_relaxed);
        if (real) {
            // Whoever kicks sees this mark, or this hart sees the kick.
            hart.where.store(Where::user, std::memory_order_seq_cst);
            if (hart.kicked.load(std::memory_order_seq_cst) != 0 || interrupts.asserted() ||
                stopping) {
                hart.where.store(Where::kernel, std::memory_order_relaxed);
                continue;
            }
        }
        fiber_switch(hart.loop, guest.fiber);
        if (real) {
            hart.where.store(Where::kernel, std::memory_order_relaxed);
        }
        hart.guest.store(nullptr, std::memory_order_relaxed);
        switch (guest.why.load(std::memory_order_relaxed)) {
        case Why::call: context.was_call = 1; return {.kind = TrapKind::call};
        case Why::fault:
            return {.kind = TrapKind::fault,
                    .fault = guest.fault.load(std::memory_order_relaxed),
                    .address = guest.address.load(std::memory_order_relaxed)};
        case Why::interrupt: break;
        }
    }
}

Trap Machine::idle(Hart& hart) {
    for (;;) {
        Trap trap;
        if (real) {
            if (stopping) {
                leave(hart, hart.loop);
            }
            const u32 seen = hart.events.load(std::memory_order_seq_cst);
            if (take_interrupt(hart, trap)) {
                return trap;
            }
            sleep(hart, seen, turn(hart).armed);
        } else {
            Port::Turn& mine = turn(hart);
            if (mine.time >= limit) {
                park(hart, hart.loop);
            }
            if (take_interrupt(hart, trap)) {
                return trap;
            }
            block(hart, hart.loop, std::min({mine.armed, mine.kick_at, limit}), true);
        }
    }
}

void Machine::loop(Hart& hart) {
    Port::Context* next =
        hart.index.value == 0 ? boot(*kernel, *program) : hart_online(*kernel, hart.index);
    for (;;) {
        const Trap trap = next != nullptr ? run_user(hart, *next) : idle(hart);
        hart.entries.store(hart.entries.load(std::memory_order_relaxed) + 1,
                           std::memory_order_relaxed);
        if (!real) {
            // Every entry takes time, whatever the cost model says.
            Port::Turn& mine = turn(hart);
            if (++mine.time > port.horizon_) {
                block(hart, hart.loop, mine.time, false);
            }
        }
        next = enter(*kernel, hart.index, trap);
    }
}

// The host's side of a thread that runs for the first time; null if its entry is no code, so that
// it faults instead.
GuestThread* Machine::begin(Port::Context& context) {
    const std::uintptr_t address = image().base + context.entry;
    if (context.entry > ~image().base || address < image().text || address >= image().text_end) {
        return nullptr;
    }
    GuestThread* thread = stacks.take(guest_entry);
    if (thread == nullptr) {
        panic("the host has no room for another guest stack (vm.max_map_count?)");
    }
    thread->context = &context;
    return thread;
}

}  // namespace ravelin::hosted
