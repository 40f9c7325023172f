// The firmware's conformance image: runs in S-mode, makes every call, checks results, errors and
// effects, prints one line a check, and ends the machine.
//
// Rule: the same lines under any SBI 1.0 firmware that conforms. Hart ids are never printed, since
// the hart that boots is not always the same. Checks that need more harts than there are say
// nothing. Two kinds of lines are not for every firmware: "dbcn" is an extension newer than 1.0, and
// "own" is what our firmware promises beyond the specification.

#include "tests/firmware/supervisor.h"

#include "port-riscv/firmware/board.h"

namespace ravelin::conformance {

namespace {

constexpr Word kMaxHarts = FIRMWARE_MAX_HARTS;
constexpr Word kNoHart = 1000;
constexpr Word kPageBytes = 4096;

/// What a trap left behind, by hart.
volatile Word last_fault[kMaxHarts];
volatile long timer_interrupts[kMaxHarts];
volatile long software_interrupts[kMaxHarts];

constexpr Word kInterrupt = ~(~Word{0} >> 1);

/// The machine's harts other than the boot hart.
Word peers[kMaxHarts];
int peer_count = 0;

}  // namespace

extern "C" void peer_entry();
extern "C" long call_keeps_registers();

/// Takes every S-mode trap. Interrupts are counted and switched off or taken back; faults come only
/// from the four-byte instructions of the functions below and are noted and skipped. (Spelled as
/// [[gnu::interrupt("supervisor")]], clang 19 returns with mret.)
extern "C" __attribute__((interrupt("supervisor"), aligned(4))) void on_trap() {
    const Word id = my_id();
    const Word cause = csr_read<kScause>();
    if (cause == (kInterrupt | 5)) {
        timer_interrupts[id] = timer_interrupts[id] + 1;
        csr_clear<kSie>(kTimer);
    } else if (cause == (kInterrupt | 1)) {
        software_interrupts[id] = software_interrupts[id] + 1;
        take_back_kick();
    } else {
        last_fault[id] = cause;
        csr_write<kSepc>(csr_read<kSepc>() + 4);
    }
}

namespace {

/// Runs `action` and answers the cause of the fault it took, or 0.
template <class Action>
long fault_of(Action action) noexcept {
    last_fault[my_id()] = 0;
    action();
    return static_cast<long>(last_fault[my_id()]);
}

Word try_load(Word address) noexcept {
    Word value = 0;
    asm volatile(".option push\n.option norvc\nlbu %0, 0(%1)\n.option pop"
                 : "+r"(value)
                 : "r"(address)
                 : "memory");
    return value;
}

void try_store(Word address) noexcept {
    asm volatile(".option push\n.option norvc\nsb zero, 0(%0)\n.option pop"
                 :
                 : "r"(address)
                 : "memory");
}

/// Jumps to an address that must not be executable: the fault's sepc is that address, so stvec is
/// pointed at the return for as long as it takes.
long fault_of_jump(Word address) noexcept {
    Word cause = 0;
    asm volatile("la t0, 1f\n"
                 "csrrw t0, stvec, t0\n"
                 "jr %1\n"
                 ".balign 4\n"
                 "1: csrw stvec, t0\n"
                 "csrr %0, scause\n"
                 : "=&r"(cause)
                 : "r"(address)
                 : "t0", "ra", "memory");
    return static_cast<long>(cause);
}

// --- Work on other harts: a start, a function, a stop.

struct Job {
    void (*run)(Job& job) = nullptr;
    std::atomic<Word> ready{0};
    std::atomic<Word> go{0};
    std::atomic<Word> result{0};
    Word argument = 0;
};

/// What a started hart found.
struct Arrival {
    Word a0, a1, satp, sstatus, sip;
};
volatile Arrival arrival;
/// While true, a started hart only notes its arrival and stops.
std::atomic<bool> only_arrive{false};
std::atomic<long> arrivals{0};

Result hart_start(Word id, Word opaque) noexcept {
    return call_firmware(sbi::kHsm, sbi::hsm::kStart, id, reinterpret_cast<Word>(&peer_entry),
                         opaque);
}

Result hart_status(Word id) noexcept {
    return call_firmware(sbi::kHsm, sbi::hsm::kStatus, id);
}

bool is_stopped(Word id) noexcept {
    const Result status = hart_status(id);
    return status.error == Error::success &&
           status.value == static_cast<Word>(sbi::HartStatus::stopped);
}

bool run_on(Word id, Job& job) noexcept {
    return hart_start(id, reinterpret_cast<Word>(&job)).error == Error::success &&
           eventually([&] { return job.ready.load() != 0; });
}

bool join(Word id) noexcept {
    return eventually([=] { return is_stopped(id); });
}

[[noreturn]] void stop_self() noexcept {
    call_firmware(sbi::kHsm, sbi::hsm::kStop);
    print("FAIL hart_stop returned\n");
    for (;;) {
        wait_for_interrupt();
    }
}

}  // namespace

extern "C" [[noreturn]] void peer_main(Word id, Word opaque, Word satp, Word sstatus, Word sip) {
    csr_write<kStvec>(reinterpret_cast<Word>(&on_trap));
    csr_write<kSie>(0);
    if (only_arrive.load()) {
        arrival.a0 = id;
        arrival.a1 = opaque;
        arrival.satp = satp;
        arrival.sstatus = sstatus;
        arrival.sip = sip;
        arrivals.fetch_add(1);
        stop_self();
    }
    Job& job = *reinterpret_cast<Job*>(opaque);
    job.run(job);
    stop_self();
}

namespace {

/// Some checks hold our firmware to more than the specification asks.
bool is_ours() noexcept {
    return call_firmware(sbi::kBase, sbi::base::kImplementationId).value == sbi::kOurImplementation;
}

// --- BASE

void check_base() {
    Result result = call_firmware(sbi::kBase, sbi::base::kSpecVersion);
    expect("base.spec_version.error", result.error, Error::success);
    expect("base.spec_version.major", static_cast<long>(result.value >> 24), 1);
    expect("base.spec_version.minor", static_cast<long>(result.value & 0xFFFFFF), 0);
    expect("base.implementation_id", call_firmware(sbi::kBase, sbi::base::kImplementationId).error,
           Error::success);
    expect("base.implementation_version",
           call_firmware(sbi::kBase, sbi::base::kImplementationVersion).error, Error::success);
    expect("base.vendor", call_firmware(sbi::kBase, sbi::base::kVendor).error, Error::success);
    expect("base.architecture", call_firmware(sbi::kBase, sbi::base::kArchitecture).error,
           Error::success);
    expect("base.machine", call_firmware(sbi::kBase, sbi::base::kMachine).error, Error::success);
    expect("base.unknown_function", call_firmware(sbi::kBase, 7).error, Error::not_supported);
    struct Extension {
        const char* name;
        Word id;
        bool there;
    };
    constexpr Extension kExtensions[] = {
        {"base.probe.base", sbi::kBase, true},
        {"base.probe.time", sbi::kTime, true},
        {"base.probe.ipi", sbi::kIpi, true},
        {"base.probe.rfence", sbi::kRfence, true},
        {"base.probe.hsm", sbi::kHsm, true},
        {"base.probe.srst", sbi::kSrst, true},
        {"base.probe.legacy_set_timer", sbi::kLegacySetTimer, true},
        {"base.probe.legacy_putchar", sbi::kLegacyPutchar, true},
        {"base.probe.legacy_getchar", sbi::kLegacyGetchar, true},
        {"base.probe.legacy_shutdown", sbi::kLegacyShutdown, true},
        {"base.probe.unknown", 0x0BADCA11, false},
    };
    for (const Extension& extension : kExtensions) {
        result = call_firmware(sbi::kBase, sbi::base::kProbe, extension.id);
        expect(extension.name,
               result.error == Error::success && (result.value != 0) == extension.there);
    }
    expect("call.unknown_extension", call_firmware(0x0BADCA11, 0).error, Error::not_supported);
    expect("call.unknown_high_extension", call_firmware(~Word{0}, 0).error, Error::not_supported);
    expect("call.registers_changed", call_keeps_registers(), 0);
}

// --- Traps and memory: what S-mode may do by itself

void check_privileges() {
    expect("trap.load_firmware", fault_of([] { try_load(FIRMWARE_RAM_BASE); }), 5);
    expect("trap.store_firmware", fault_of([] { try_store(FIRMWARE_RAM_BASE); }), 7);
    expect("trap.execute_firmware", fault_of_jump(FIRMWARE_RAM_BASE), 1);
    expect("trap.load_clint", fault_of([] { try_load(BOARD_CLINT_BASE + 0xBFF8); }), 5);
    expect("trap.breakpoint", fault_of([] {
               asm volatile(".option push\n.option norvc\nebreak\n.option pop" : : : "memory");
           }),
           3);
    expect("trap.illegal", fault_of([] { asm volatile(".4byte 0" : : : "memory"); }), 2);
    expect("trap.machine_csr", fault_of([] { asm volatile("csrr t0, mstatus" : : : "t0"); }), 2);
    expect("counter.time", fault_of([] { csr_read<kTimeLow>(); }), 0);
    expect("counter.cycle", fault_of([] { csr_read<kCycle>(); }), 0);
    expect("counter.instret", fault_of([] { csr_read<kInstret>(); }), 0);
    std::uint64_t last = read_clock();
    long backwards = 0;
    for (int i = 0; i < 10'000; ++i) {
        const std::uint64_t next = read_clock();
        if (next < last) ++backwards;
        last = next;
    }
    expect("counter.time_backwards", backwards, 0);
}

// --- TIME

bool timer_pending() noexcept {
    return (csr_read<kSip>() & kTimer) != 0;
}

bool timer_comes() noexcept {
    return eventually(timer_pending);
}

void check_timer() {
    expect("time.unknown_function", call_firmware(sbi::kTime, 1).error, Error::not_supported);
    expect("time.set.error", set_timer(~std::uint64_t{0}).error, Error::success);
    expect("time.off_is_not_pending", !timer_pending());

    const std::uint64_t start = read_clock();
    set_timer(start);
    expect("time.now_fires", timer_comes());
    set_timer(~std::uint64_t{0});
    expect("time.rearm_withdraws", !timer_pending());
    set_timer(start - 1);
    expect("time.past_fires", timer_comes());
    set_timer(0);
    expect("time.zero_fires", timer_comes());
    set_timer(1);
    expect("time.one_fires", timer_comes());

    const std::uint64_t soon = read_clock() + 2 * kMillisecond;
    set_timer(soon);
    bool early = false;
    const bool came = eventually([&] {
        const bool pending = timer_pending();
        if (pending && read_clock() < soon) early = true;
        return pending;
    });
    expect("time.soon_fires", came);
    expect("time.soon_is_not_early", !early);

    // Far deadlines: the low word alone is in the past, or the emulator's arithmetic might wrap.
    constexpr std::uint64_t kFar[] = {std::uint64_t{1} << 32,       std::uint64_t{7} << 32,
                                      std::uint64_t{1} << 40,       std::uint64_t{1} << 62,
                                      (std::uint64_t{1} << 63) - 1, std::uint64_t{1} << 63};
    long stray = 0;
    for (const std::uint64_t far : kFar) {
        set_timer(far);
        if (eventually(timer_pending, kMillisecond)) ++stray;
    }
    expect("time.far_strays", stray, 0);
    set_timer(read_clock() + kMillisecond);
    expect("time.near_after_far_fires", timer_comes());

    // Across a 2^32 boundary and back: one half written before the other must not show.
    long lost = 0;
    stray = 0;
    for (int i = 0; i < 10'000; ++i) {
        set_timer(((read_clock() >> 32) + 1) << 32);
        if (timer_pending()) ++stray;
        set_timer(read_clock());
        if (!timer_pending() && !timer_comes()) ++lost;
    }
    expect("time.straddle_strays", stray, 0);
    expect("time.straddle_lost", lost, 0);

    // As interrupts, halted between: each arming fires once.
    set_timer(~std::uint64_t{0});
    const Word me = my_id();
    timer_interrupts[me] = 0;
    csr_set<kSstatus>(kSupervisorInterrupts);
    for (long i = 1; i <= 100; ++i) {
        csr_set<kSie>(kTimer);
        set_timer(read_clock() + (i % 2 == 0 ? 500 : 0));
        while (timer_interrupts[me] < i) {
            wait_for_interrupt();
        }
    }
    csr_clear<kSstatus>(kSupervisorInterrupts);
    expect("time.interrupts", timer_interrupts[me], 100);
    set_timer(~std::uint64_t{0});

    const Result legacy = call_firmware(sbi::kLegacySetTimer, 0, 0, 0);
    expect("legacy.set_timer", static_cast<long>(legacy.error), 0);
    expect("legacy.set_timer_fires", timer_comes());
    set_timer(~std::uint64_t{0});
}

/// S-mode's own compare register, if the hart has it.
void check_own_compare() {
    const long fault = fault_of([] { csr_read<kStimecmp>(); });
    if (fault != 0) {
        expect("sstc.absent", fault, 2);
        return;
    }
    const auto arm = [](std::uint64_t deadline) {
        csr_write<kStimecmp>(~Word{0});
        if constexpr (sizeof(Word) == 4) csr_write<kStimecmph>(static_cast<Word>(deadline >> 32));
        csr_write<kStimecmp>(static_cast<Word>(deadline));
    };
    arm(read_clock());
    expect("sstc.now_fires", timer_comes());
    arm(~std::uint64_t{0});
    expect("sstc.off_withdraws", !timer_pending());
}

// --- IPI

Result send_ipi(Word mask, Word base) noexcept {
    return call_firmware(sbi::kIpi, 0, mask, base);
}

bool software_pending() noexcept {
    return (csr_read<kSip>() & kSoftware) != 0;
}

void await_software(Job& job) {
    take_back_kick();
    csr_set<kSie>(kSoftware);
    job.ready.store(1);
    while (!software_pending()) {
        wait_for_interrupt();
    }
    take_back_kick();
    job.result.store(1);
}

void check_self_ipi() {
    const Word me = my_id();
    expect("ipi.unknown_function", call_firmware(sbi::kIpi, 1).error, Error::not_supported);
    take_back_kick();
    expect("ipi.self.error", send_ipi(Word{1} << me, 0).error, Error::success);
    expect("ipi.self.pending", eventually(software_pending));
    take_back_kick();
    expect("ipi.self.cleared", !software_pending());
    expect("ipi.self_by_base.error", send_ipi(1, me).error, Error::success);
    expect("ipi.self_by_base.pending", eventually(software_pending));
    take_back_kick();
    expect("ipi.all.error", send_ipi(0, ~Word{0}).error, Error::success);
    expect("ipi.all.pending", eventually(software_pending));
    take_back_kick();
    expect("ipi.none.error", send_ipi(0, 0).error, Error::success);
    expect("ipi.bad_base.error", send_ipi(1, kNoHart).error, Error::invalid_param);
    expect("ipi.not_pending", !eventually(software_pending, kMillisecond));

    software_interrupts[me] = 0;
    csr_set<kSie>(kSoftware);
    csr_set<kSstatus>(kSupervisorInterrupts);
    for (long i = 1; i <= 100; ++i) {
        send_ipi(1, me);
        while (software_interrupts[me] < i) {
            wait_for_interrupt();
        }
    }
    csr_clear<kSstatus>(kSupervisorInterrupts);
    csr_clear<kSie>(kSoftware);
    expect("ipi.interrupts", software_interrupts[me], 100);
}

void check_peer_ipi() {
    if (peer_count == 0) return;
    // One by one, by mask and by base; the others must hear nothing.
    long heard = 0;
    for (int i = 0; i < peer_count; ++i) {
        Job job{.run = await_software};
        if (!run_on(peers[i], job)) continue;
        if (i % 2 == 0) {
            send_ipi(Word{1} << peers[i], 0);
        } else {
            send_ipi(1, peers[i]);
        }
        if (join(peers[i])) heard += static_cast<long>(job.result.load());
    }
    expect("ipi.peers_heard", heard, peer_count);
    expect("ipi.sender_heard", !software_pending());

    static Job jobs[kMaxHarts];
    heard = 0;
    for (int i = 0; i < peer_count; ++i) {
        jobs[i].run = await_software;
        jobs[i].ready.store(0);
        jobs[i].result.store(0);
        run_on(peers[i], jobs[i]);
    }
    send_ipi(0, ~Word{0});
    for (int i = 0; i < peer_count; ++i) {
        if (join(peers[i])) heard += static_cast<long>(jobs[i].result.load());
    }
    expect("ipi.all_peers_heard", heard, peer_count);
    expect("ipi.all_sender_heard", eventually(software_pending));
    take_back_kick();
    expect("ipi.to_stopped.error", send_ipi(1, peers[0]).error, Error::success);
    expect("ipi.to_stopped.stays_stopped", is_stopped(peers[0]));
}

// --- HSM

void check_hsm_errors() {
    const Word me = my_id();
    expect("hsm.unknown_function", call_firmware(sbi::kHsm, 100).error, Error::not_supported);
    Result result = hart_status(me);
    expect("hsm.status.self.error", result.error, Error::success);
    expect("hsm.status.self", static_cast<long>(result.value), 0);
    expect("hsm.status.no_hart", hart_status(kNoHart).error, Error::invalid_param);
    expect("hsm.status.no_hart_wide", hart_status(~Word{0}).error, Error::invalid_param);
    expect("hsm.start.no_hart", hart_start(kNoHart, 0).error, Error::invalid_param);
    expect("hsm.start.self", hart_start(me, 0).error, Error::already_available);
    expect("hsm.start.self_in_firmware",
           call_firmware(sbi::kHsm, sbi::hsm::kStart, me, FIRMWARE_RAM_BASE, 0).error,
           Error::invalid_address);
    if (peer_count == 0) return;
    expect("hsm.start.in_firmware",
           call_firmware(sbi::kHsm, sbi::hsm::kStart, peers[0], FIRMWARE_RAM_BASE + 0x100, 0).error,
           Error::invalid_address);
    expect("hsm.start.in_firmware_still_stopped", is_stopped(peers[0]));
}

void pend_and_leave(Job& job) {
    kick_self();
    set_timer(0);
    job.result.store(eventually(timer_pending) && software_pending() ? 1 : 0);
    job.ready.store(1);
}

void check_hsm_lives() {
    if (peer_count == 0) return;
    constexpr Word kPattern = static_cast<Word>(0xC0FFEE11DEADBEEFULL);
    only_arrive.store(true);
    long right = 0;
    for (int i = 0; i < peer_count; ++i) {
        arrivals.store(0);
        const Error error = hart_start(peers[i], kPattern).error;
        const bool came = eventually([] { return arrivals.load() == 1; });
        if (error == Error::success && came && arrival.a0 == peers[i] && arrival.a1 == kPattern &&
            arrival.satp == 0 && (arrival.sstatus & kSupervisorInterrupts) == 0 && join(peers[i])) {
            ++right;
        }
    }
    expect("hsm.arrivals", right, peer_count);

    // Start again at once, over and over: no start is lost, none counts twice.
    arrivals.store(0);
    long other = 0;
    constexpr long kRounds = 1000;
    for (long i = 0; i < kRounds; ++i) {
        const bool accepted = eventually([&] {
            const Error error = hart_start(peers[0], 0).error;
            // While the hart is on its way, firmware may call it available or refuse it.
            if (error != Error::success && error != Error::already_available &&
                error != Error::invalid_param) {
                ++other;
            }
            return error == Error::success;
        });
        if (!accepted || !eventually([=] { return arrivals.load() == i + 1; })) break;
    }
    expect("hsm.restarts", arrivals.load(), kRounds);
    expect("hsm.restart_odd_errors", other, 0);
    join(peers[0]);

    // What was pending in the hart's earlier life, or sent while it was stopped, is gone.
    only_arrive.store(false);
    Job job{.run = pend_and_leave};
    run_on(peers[0], job);
    join(peers[0]);
    expect("hsm.left_with_interrupts_pending", static_cast<long>(job.result.load()), 1);
    send_ipi(1, peers[0]);
    only_arrive.store(true);
    arrivals.store(0);
    hart_start(peers[0], 0);
    eventually([] { return arrivals.load() == 1; });
    if (is_ours()) {
        expect("own.hsm.arrives_with_nothing_pending", (arrival.sip & (kSoftware | kTimer)) == 0);
    }
    join(peers[0]);
    only_arrive.store(false);

    Job running{.run = await_software};
    run_on(peers[0], running);
    const Result status = hart_status(peers[0]);
    expect("hsm.status.running", static_cast<long>(status.value), 0);
    expect("hsm.start.running", hart_start(peers[0], 0).error, Error::already_available);
    send_ipi(1, peers[0]);
    expect("hsm.status.stopped", join(peers[0]));
}

// Several harts start one hart at the same moment.

struct Race {
    std::atomic<long> round{0};
    std::atomic<long> won{0};
    std::atomic<long> odd{0};
    std::atomic<long> returned{0};
    std::atomic<long> ran{0};
    Word target = 0;
    long starters = 0;
    long rounds = 0;
};
Race race;

void race_target(Job&) {
    race.ran.fetch_add(1);
    eventually([] { return race.returned.load() == race.starters; });
}

void race_once(Job& prize) noexcept {
    switch (hart_start(race.target, reinterpret_cast<Word>(&prize)).error) {
    case Error::success: race.won.fetch_add(1); break;
    case Error::already_available:
    case Error::invalid_param: break;
    default: race.odd.fetch_add(1);
    }
    race.returned.fetch_add(1);
}

Job prize{.run = race_target};

void race_starter(Job& job) {
    job.ready.store(1);
    for (long round = 1; round <= race.rounds; ++round) {
        if (!eventually([=] {
                for (int i = 0; i < 10'000; ++i) {
                    if (race.round.load() >= round) return true;
                }
                return false;
            })) {
            return;
        }
        race_once(prize);
    }
}

void check_start_race() {
    if (peer_count < 3) return;
    static Job starters[2];
    race.target = peers[2];
    race.starters = 3;
    race.rounds = 500;
    for (int i = 0; i < 2; ++i) {
        starters[i].run = race_starter;
        run_on(peers[i], starters[i]);
    }
    long good = 0;
    for (long round = 1; round <= race.rounds; ++round) {
        race.won.store(0);
        race.ran.store(0);
        race.returned.store(0);
        race.round.store(round);
        // The others have a way to come: the boot hart leaves a varying moment later.
        for (volatile long pause = (round % 50) * 20; pause > 0; pause = pause - 1) {
        }
        race_once(prize);
        const bool all = eventually([] { return race.returned.load() == race.starters; });
        if (!all || !join(race.target)) break;
        if (race.won.load() == 1 && race.ran.load() == 1) ++good;
    }
    expect("hsm.race_one_winner", good, race.rounds);
    expect("hsm.race_odd_errors", race.odd.load(), 0);
    join(peers[0]);
    join(peers[1]);
}

// --- RFENCE

Result fence(Word function, Word mask, Word base, Word start = 0, Word size = 0,
             Word asid = 0) noexcept {
    return call_firmware(sbi::kRfence, function, mask, base, start, size, asid);
}

void check_fence_results() {
    const Word me = my_id();
    expect("rfence.unknown_function", call_firmware(sbi::kRfence, 100).error, Error::not_supported);
    struct Kind {
        const char* self;
        const char* all;
        const char* none;
        const char* bad;
        Word function;
    };
    constexpr Kind kKinds[] = {
        {"rfence.fence_i.self", "rfence.fence_i.all", "rfence.fence_i.none",
         "rfence.fence_i.bad_base", sbi::rfence::kFenceI},
        {"rfence.sfence.self", "rfence.sfence.all", "rfence.sfence.none", "rfence.sfence.bad_base",
         sbi::rfence::kSfenceVma},
        {"rfence.asid.self", "rfence.asid.all", "rfence.asid.none", "rfence.asid.bad_base",
         sbi::rfence::kSfenceVmaAsid},
    };
    for (const Kind& kind : kKinds) {
        expect(kind.self, fence(kind.function, 1, me, 0x1000, 0x3000, 1).error, Error::success);
        expect(kind.all, fence(kind.function, 0, ~Word{0}, 0, ~Word{0}, 1).error, Error::success);
        expect(kind.none, fence(kind.function, 0, 0, 0, 0, 1).error, Error::success);
        expect(kind.bad, fence(kind.function, 1, kNoHart, 0, 0, 1).error, Error::invalid_param);
    }
}

// One page seen through a translation that changes under a hart: root maps the image where it is,
// and one page of a window elsewhere.

constexpr Word kWindow = 0x40000000;
constexpr Word kOutside = 0x20000000;
constexpr Word kEntries = kPageBytes / sizeof(Word);
constexpr Word kValid = 1;
constexpr Word kReadWriteExecute = 7U << 1;
constexpr Word kReadWrite = 3U << 1;
constexpr Word kAccessedDirty = 3U << 6;
constexpr Word kAsid = 5;

alignas(kPageBytes) volatile Word root[kEntries];
/// Sv39 alone has this level.
[[maybe_unused]] alignas(kPageBytes) volatile Word middle[kEntries];
alignas(kPageBytes) volatile Word leaf[kEntries];
alignas(kPageBytes) volatile unsigned char pages[2][kPageBytes];

template <class T>
Word table_entry(T& target, Word bits) noexcept {
    return (reinterpret_cast<Word>(&target) >> 12 << 10) | bits | kValid;
}

void map_window(int page) noexcept {
    leaf[0] = table_entry(pages[page], kReadWrite | kAccessedDirty);
}

Word make_tables() noexcept {
    pages[0][0] = 'A';
    pages[1][0] = 'B';
    map_window(0);
    constexpr Word kHere = kReadWriteExecute | kAccessedDirty | kValid;
    const Word root_frame = reinterpret_cast<Word>(&root) >> 12;
    if constexpr (sizeof(Word) == 8) {
        root[FIRMWARE_RAM_BASE >> 30] = (Word{FIRMWARE_RAM_BASE} >> 12 << 10) | kHere;
        root[kWindow >> 30] = table_entry(middle, 0);
        middle[0] = table_entry(leaf, 0);
        return static_cast<Word>(8ULL << 60 | std::uint64_t{kAsid} << 44) | root_frame;
    } else {
        root[FIRMWARE_NEXT_STAGE >> 22] = (Word{FIRMWARE_NEXT_STAGE} >> 12 << 10) | kHere;
        root[kWindow >> 22] = table_entry(leaf, 0);
        return Word{1} << 31 | kAsid << 22 | root_frame;
    }
}

/// Reads the window, waits, reads it again; answers both bytes.
void look_twice(Job& job) {
    csr_write<kSatp>(job.argument);
    flush_everything();
    const Word first = try_load(kWindow);
    job.ready.store(1);
    eventually([&] { return job.go.load() != 0; });
    const Word second = try_load(kWindow);
    csr_write<kSatp>(0);
    job.result.store(first << 8 | second);
}

void check_page_faults(Word satp) {
    csr_write<kSatp>(satp);
    flush_everything();
    const long load = fault_of([] { try_load(kOutside); });
    const long store = fault_of([] { try_store(kOutside); });
    const long jump = fault_of_jump(kOutside);
    csr_write<kSatp>(0);
    flush_everything();
    expect("trap.load_page", load, 13);
    expect("trap.store_page", store, 15);
    expect("trap.execute_page", jump, 12);
}

void check_remote_fences() {
    const Word satp = make_tables();
    check_page_faults(satp);
    if (peer_count == 0) return;
    struct Form {
        const char* name;
        Word function;
        Word start;
        Word size;
    };
    constexpr Form kForms[] = {
        {"rfence.remote.page", sbi::rfence::kSfenceVma, kWindow, kPageBytes},
        {"rfence.remote.part_of_page", sbi::rfence::kSfenceVma, kWindow + 8, 1},
        {"rfence.remote.long_range", sbi::rfence::kSfenceVma, kWindow, kPageBytes * 1000},
        {"rfence.remote.zero", sbi::rfence::kSfenceVma, 0, 0},
        {"rfence.remote.all_ones", sbi::rfence::kSfenceVma, 0, ~Word{0}},
        {"rfence.remote.asid_page", sbi::rfence::kSfenceVmaAsid, kWindow, kPageBytes},
        {"rfence.remote.asid_zero", sbi::rfence::kSfenceVmaAsid, 0, 0},
        {"rfence.remote.asid_all_ones", sbi::rfence::kSfenceVmaAsid, 0, ~Word{0}},
    };
    int turn = 0;
    for (const Form& form : kForms) {
        const Word peer = peers[turn++ % peer_count];
        map_window(0);
        Job job{.run = look_twice, .argument = satp};
        run_on(peer, job);
        map_window(1);
        fence(form.function, 1, peer, form.start, form.size, kAsid);
        job.go.store(1);
        join(peer);
        expect(form.name, static_cast<long>(job.result.load()), 'A' << 8 | 'B');
    }
}

constexpr long kCrossFences = 2000;

void fence_all_harts(Job& job) {
    job.ready.store(1);
    eventually([&] { return job.go.load() != 0; });
    for (long i = 0; i < kCrossFences; ++i) {
        const Word function = i % 2 == 0 ? sbi::rfence::kSfenceVma : sbi::rfence::kFenceI;
        if (fence(function, 0, ~Word{0}).error == Error::success) job.result.fetch_add(1);
    }
}

/// The boot hart and the first `count` peers fence every hart at the same time: nobody may wait for
/// one that waits.
void cross_fences(const char* name, int count) {
    static Job jobs[kMaxHarts];
    Job mine{.run = fence_all_harts};
    mine.go.store(1);
    for (int i = 0; i < count; ++i) {
        jobs[i].run = fence_all_harts;
        jobs[i].ready.store(0);
        jobs[i].go.store(0);
        jobs[i].result.store(0);
        run_on(peers[i], jobs[i]);
    }
    for (int i = 0; i < count; ++i) {
        jobs[i].go.store(1);
    }
    mine.run(mine);
    long done = static_cast<long>(mine.result.load());
    for (int i = 0; i < count; ++i) {
        if (join(peers[i])) done += static_cast<long>(jobs[i].result.load());
    }
    expect(name, done, kCrossFences * (count + 1));
}

void check_cross_fences() {
    if (peer_count == 0) return;
    cross_fences("rfence.cross_two", 1);
    // OpenSBI 1.1 loses an acknowledgement now and then, and a sender hangs for ever.
    if (is_ours()) cross_fences("own.rfence.cross_all", peer_count);
}

// --- Console

void check_console() {
    const Result put_result = call_firmware(sbi::kLegacyPutchar, 0, '.', 0x5A5);
    print("\n");
    expect("legacy.putchar", static_cast<long>(put_result.error), 0);
    expect("legacy.putchar_keeps_a1", static_cast<long>(put_result.value), 0x5A5);
    expect("legacy.getchar_empty", static_cast<long>(call_firmware(sbi::kLegacyGetchar, 0).error),
           -1);
    print("send R\n");
    Error got = Error::failed;
    eventually([&] {
        got = call_firmware(sbi::kLegacyGetchar, 0).error;
        return got != Error::failed;
    });
    expect("legacy.getchar", static_cast<long>(got), 'R');
}

void check_debug_console() {
    if (call_firmware(sbi::kBase, sbi::base::kProbe, sbi::kDbcn).value == 0) return;
    static const char kText[] = "ok   dbcn.text\n";
    constexpr Word kLength = sizeof kText - 1;
    const auto text = reinterpret_cast<Word>(kText);
    const auto dbcn = [](Word function, Word x0, Word x1, Word x2) {
        return call_firmware(sbi::kDbcn, function, x0, x1, x2);
    };
    Result result = dbcn(sbi::dbcn::kWrite, kLength, text, 0);
    expect("dbcn.write.error", result.error, Error::success);
    expect("dbcn.write.bytes", static_cast<long>(result.value), kLength);
    result = dbcn(sbi::dbcn::kWrite, 0, text, 0);
    expect("dbcn.write.nothing", result.error == Error::success && result.value == 0);
    expect("dbcn.write.high", dbcn(sbi::dbcn::kWrite, 1, text, 1).error, Error::invalid_param);
    expect("dbcn.write.firmware", dbcn(sbi::dbcn::kWrite, 1, FIRMWARE_RAM_BASE, 0).error,
           Error::invalid_param);
    expect("dbcn.write.wrap", dbcn(sbi::dbcn::kWrite, ~Word{0}, text, 0).error,
           Error::invalid_param);
    expect("dbcn.write_byte", dbcn(sbi::dbcn::kWriteByte, '\n', 0, 0).error, Error::success);
    expect("dbcn.unknown_function", dbcn(3, 0, 0, 0).error, Error::not_supported);
    static volatile char buffer[4] = {'x', 'x', 'x', 'x'};
    const auto space = reinterpret_cast<Word>(&buffer);
    result = dbcn(sbi::dbcn::kRead, 2, space, 0);
    expect("dbcn.read.empty", result.error == Error::success && result.value == 0);
    expect("dbcn.read.empty_keeps_buffer", buffer[0] == 'x');
    expect("dbcn.read.high", dbcn(sbi::dbcn::kRead, 1, space, 1).error, Error::invalid_param);
    expect("dbcn.read.firmware", dbcn(sbi::dbcn::kRead, 1, FIRMWARE_RAM_BASE, 0).error,
           Error::invalid_param);
    print("send V\n");
    eventually([&] {
        result = dbcn(sbi::dbcn::kRead, 2, space, 0);
        return result.value != 0;
    });
    expect("dbcn.read.bytes", static_cast<long>(result.value), 1);
    expect("dbcn.read.byte", buffer[0], 'V');
    expect("dbcn.read.no_more", buffer[1] == 'x');
}

// --- SRST

void check_reset_errors() {
    expect("srst.unknown_function", call_firmware(sbi::kSrst, 1).error, Error::not_supported);
    const auto refused = [](Word type, Word reason) {
        const Error error = call_firmware(sbi::kSrst, 0, type, reason).error;
        return error == Error::invalid_param || error == Error::not_supported;
    };
    expect("srst.bad_type", refused(3, 0));
    expect("srst.vendor_type", refused(0xF0000000, 0));
    expect("srst.bad_reason", refused(0, 2));
}

}  // namespace

extern "C" [[noreturn]] void boot_main(Word id, Word tree) {
    csr_write<kStvec>(reinterpret_cast<Word>(&on_trap));
    csr_write<kSie>(0);
    print("\nconformance begins\n");
    expect("boot.hart", id < kMaxHarts);
    expect("boot.tree", *reinterpret_cast<const volatile std::uint32_t*>(tree) == 0xEDFE0DD0);
    expect("boot.interrupts_off", (csr_read<kSstatus>() & kSupervisorInterrupts) == 0);
    expect("boot.untranslated", csr_read<kSatp>() == 0);
    long elsewhere = 0;
    for (Word hart = 0; hart < kMaxHarts; ++hart) {
        if (hart == id || hart_status(hart).error != Error::success) continue;
        peers[peer_count++] = hart;
        if (is_stopped(hart)) ++elsewhere;
    }
    print("harts: ");
    print(static_cast<long>(peer_count) + 1);
    print("\n");
    expect("boot.others_stopped", elsewhere, peer_count);
    check_base();
    check_privileges();
    check_timer();
    check_own_compare();
    check_self_ipi();
    check_hsm_errors();
    check_hsm_lives();
    check_start_race();
    check_peer_ipi();
    check_fence_results();
    check_remote_fences();
    check_cross_fences();
    check_console();
    check_debug_console();
    check_reset_errors();
    print("conformance ends: ");
    print(checks);
    print(" checks, ");
    print(failures);
    print(" failures\n");
    call_firmware(sbi::kSrst, 0, sbi::srst::kShutdown,
                  failures == 0 ? sbi::srst::kNoReason : sbi::srst::kSystemFailure);
    print("FAIL srst.shutdown returned\n");
    for (;;) {
        wait_for_interrupt();
    }
}

}  // namespace ravelin::conformance
