// Boot: the kernel's objects, the boot tree of budgets and the first program, which runs in the
// root budget. Bound: constant, but the frames' state, which is written a word at a time.
#include <new>
#include <string_view>

#include "core/assert.h"
#include "core/entry/panic.h"
#include "core/entry/path.h"
#include "core/object/create.h"
#include "core/object/device.h"
#include "core/object/handle.h"
#include "core/object/lifecycle.h"
#include "core/object/shootdown.h"
#include "core/sched/sched.h"
#include "core/time/timers.h"

#ifndef RAVELIN_SLICE_US
#define RAVELIN_SLICE_US 1000
#endif

namespace ravelin {

namespace {

constexpr Micros kSlice{RAVELIN_SLICE_US};

void start_trace(Kernel& kernel, const BoardFacts& facts) {
    if constexpr (trace::kOn) {
        if (facts.trace.count == 0) return;
        abi::TraceHead head{{'R', 'A', 'V', 'T', 'R', 'A', 'C', 'E'},
                            abi::kTraceVersion,
                            sizeof(abi::TraceRecord),
                            0,
                            0,
                            0,
                            kernel.ticks_per_second,
                            facts.harts,
                            static_cast<u32>(kernel.slice.value),
                            0};
        kernel.trace.init(kernel.port.frame_pointer(facts.trace.first),
                          std::size_t{facts.trace.count} * kPageSize, head);
        kernel.trace.write(HartIndex{}, trace::TraceKind::start, 0, kernel.booted.value,
                           kernel.ticks_per_second, facts.harts);
    }
}

// Root owns every frame that is left once its own object has one.
void make_root(Kernel& kernel, Hart& hart) {
    Budget& root = make_object<Budget>(kernel, hart.index, ObjectKind::budget);
    root.page_limit = kernel.frames.free();
    root.process_limit = abi::kMaxProcesses;
    root.weight_limit = abi::kRootWeight;
    root.budget_class = BudgetClass::system;
    sched::enter_tree(kernel, hart, root);
    kernel.root = &root;
}

// System gets a quarter and users the rest of what root does not keep for the first program.
void make_tree(Kernel& kernel, Hart& hart) {
    Budget& root = *kernel.root;
    constexpr u32 kSystemProcesses = abi::kMaxProcesses / 4;
    constexpr u32 kOwnPages = 2;
    if (root.page_limit < abi::kInitPages + kOwnPages + 4)
        panic(kernel, hart, "boot: RAM too small");
    u32 shared = root.page_limit - abi::kInitPages - kOwnPages;
    abi::BudgetSpec spec{};
    spec.deadline = abi::kForever;
    spec.pages = shared / 4;
    spec.processes = kSystemProcesses;
    spec.weight = abi::kSystemWeight;
    create_budget(kernel, hart, root, root, spec, kernel.system);
    spec.pages = shared - shared / 4;
    spec.processes = abi::kMaxProcesses - kSystemProcesses - 1;
    spec.weight = abi::kRootWeight - abi::kSystemWeight - abi::kInitWeight;
    create_budget(kernel, hart, root, root, spec, kernel.users);
    kernel.users->budget_class =
        BudgetClass::user;  // the one budget whose class is not its parent's (I8)
}

void give_handle(Kernel& kernel, Hart& hart, Process& process, ObjectHead& object) {
    u32 handle = 0;
    if (install_handle(kernel, process, object, *kernel.root, 0, handle) != abi::Status::ok)
        panic(kernel, hart, "boot: no room for the first handles");
}

// The reset first, so that its handle is the same on every board.
void make_devices(Kernel& kernel, Hart& hart, Process& process, const BoardFacts& facts) {
    for (bool reset : {true, false}) {
        for (const DeviceFact& fact : facts.devices) {
            if ((fact.kind == DeviceKind::reset) != reset) continue;
            Device* device = make_device(kernel, hart, fact);
            if (device == nullptr) panic(kernel, hart, "boot: no room for the devices");
            give_handle(kernel, hart, process, device->head);
        }
    }
}

void start_program(Kernel& kernel, Hart& hart, const BootProgram& program) {
    Process* process = nullptr;
    abi::Status status = create_process(kernel, hart, *kernel.root, *kernel.root, nullptr, process);
    if (status != abi::Status::ok) panic(kernel, hart, "boot: no room for the first program");
    MemoryContext memory = memory_of(kernel, hart, *process);
    for (const BootProgram::Segment& segment : program.segments) {
        Flush flush;
        status =
            map_exact(memory, segment.address, segment.first, segment.count, segment.rights, flush);
        if (status != abi::Status::ok) panic(kernel, hart, "boot: the first program does not map");
        apply(kernel, hart, *process, flush);
    }
    for (Budget* budget : {kernel.root, kernel.system, kernel.users})
        give_handle(kernel, hart, *process, budget->head);
    make_devices(kernel, hart, *process, kernel.port.facts());
    u32 tid = 0;
    status =
        create_thread(kernel, hart, *process, program.entry, program.stack, program.argument, tid);
    if (status != abi::Status::ok) panic(kernel, hart, "boot: no room for the first thread");
    process->state = ProcessState::running;
}

}  // namespace

Port::Context* boot(Kernel& kernel, const BootProgram& program) {
    constexpr HartIndex kBootHart{};
    Hart& hart = kernel.hart(kBootHart);
    const BoardFacts& facts = kernel.port.facts();
    kernel.ticks_per_second = facts.timebase;
    kernel.hart_count = facts.harts;
    kernel.online = 1;
    u32 ahead = 0;
    kernel.booted = take_lock(kernel, hart, ahead);
    kernel.slice = timers::ticks_of(kernel, kSlice);
    kernel.queue.set_slice(kernel.slice);
    for (u32 index = 0; index < kMaxHarts; ++index)
        kernel.harts[index].index = {index};
    hart.online = true;
    hart.since = kernel.booted;
    kernel.ledger.hart_came(kernel.booted);
    std::byte key[32] = {};
    kernel.port.entropy(key);
    kernel.generator.seed(key);
    for (std::byte byte : key)
        kernel.secret = (kernel.secret ^ std::to_integer<u64>(byte)) * 0x100'0000'01b3;
    start_trace(kernel, facts);
    kernel.trace.next_entry();
    kernel.trace.write(kBootHart, trace::TraceKind::enter, 0, kernel.booted.value,
                       kernel.booted.value, static_cast<u32>(abi::TraceCause::boot));
    kernel.trace.write(kBootHart, trace::TraceKind::online, 0, kernel.booted.value, 0);
    if (const char* why = unsound_devices(facts)) panic(kernel, hart, why);
    if (!kernel.frames.init(kernel.port, facts, program.segments))
        panic(kernel, hart, "boot: no RAM for the kernel's tables");
    make_root(kernel, hart);
    make_tree(kernel, hart);
    start_program(kernel, hart, program);
    Port::Context* first = leave_kernel(kernel, hart);
    bool alone = facts.harts > 1;
    for (u32 index = 1; index < facts.harts; ++index)
        alone = !kernel.port.start(kBootHart, HartIndex{index}) && alone;
    if (alone) {
        constexpr std::string_view kAlone = "ravelin: no other hart started: going on with one\n";
        kernel.port.console(kBootHart, {kAlone.data(), kAlone.size()});
    }
    return first;
}

}  // namespace ravelin
