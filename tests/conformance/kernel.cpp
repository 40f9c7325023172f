// The suite's kernel: upcalls, driver, page tables and frames. See kernel.h.

#include "tests/conformance/kernel.h"

namespace ravelin {

using namespace conformance;

namespace {

// Where stacks of the suite's threads lie, and their size. A hosted port ignores them.
constexpr Word kStacks = 0x3000'0000;
constexpr u32 kStackPages = 4;

constexpr u32 kFirstSpace = 2;

// Longer than a kick takes on any machine.
constexpr Ticks kSettle{5'000};

}  // namespace

void Kernel::print(const char* text) {
    std::size_t length = 0;
    while (text[length] != 0) {
        ++length;
    }
    port.console(kBootHart, {text, length});
}

void Kernel::print(u64 number) {
    char digits[20];
    std::size_t at = sizeof digits;
    do {
        digits[--at] = static_cast<char>('0' + number % 10);
        number /= 10;
    } while (number != 0);
    port.console(kBootHart, {digits + at, sizeof digits - at});
}

void Kernel::expect(bool good, const char* what) {
    if (good) {
        return;
    }
    check_failed = true;
    print("FAIL ");
    print(check->name);
    print(" at step ");
    print(u64{step});
    print(": ");
    print(what);
    print("\n");
}

FrameNumber Kernel::take_frame() {
    if (next_frame == end_frame) {
        print("FAIL: out of frames\n");
        port.reset(kBootHart, ResetKind::off_failed);
    }
    const FrameNumber taken = next_frame;
    ++next_frame.value;
    Word* memory = words(taken);
    for (unsigned i = 0; i < kPageSize / sizeof(Word); ++i) {
        memory[i] = 0;
    }
    return taken;
}

Port::Format::Entry& Kernel::table_entry(const Space& in, Word address) {
    using Format = Port::Format;
    FrameNumber table = in.root;
    for (unsigned level = Format::kLevels; level-- > 1;) {
        const u64 place = u64{address} / kPageSize >> level * Format::kIndexBits;
        auto* entries = static_cast<Format::Entry*>(port.frame_pointer(table));
        Format::Entry& entry = entries[place & ((1u << Format::kIndexBits) - 1)];
        if (!Format::is_valid(entry)) {
            entry = Format::table(take_frame());
        }
        table = Format::frame(entry);
    }
    auto* entries = static_cast<Format::Entry*>(port.frame_pointer(table));
    return entries[address / kPageSize & ((1u << Format::kIndexBits) - 1)];
}

Space Kernel::make_space(u32 number) {
    const Space made{take_frame(), number};
    for (const BootProgram::Segment& segment : program.segments) {
        for (u32 page = 0; page < segment.count; ++page) {
            map(made, segment.address + Word{page} * kPageSize, {segment.first.value + page},
                segment.rights);
        }
    }
    for (unsigned slot = 0; slot < 4; ++slot) {
        for (u32 page = 0; page < kStackPages; ++page) {
            const Word address = kStacks + (Word{slot} * 2 * kStackPages + page) * kPageSize;
            map(made, address, take_frame(), abi::kRead | abi::kWrite);
        }
    }
    return made;
}

Port::Context* Kernel::make_thread(unsigned slot, const Space& in, Word argument) {
    return make_thread_at(slot, in, program.entry, argument);
}

Port::Context* Kernel::make_thread_at(unsigned slot, const Space& in, Word entry, Word argument) {
    Port::Context* context = threads[slot];
    const ContextStart start{.entry = entry,
                             .stack = kStacks + (Word{slot} * 2 + 1) * kStackPages * kPageSize,
                             .argument = argument,
                             .space = in.number};
    expect(port.make_context(kBootHart, *context, start), "make_context has room");
    activate(in);
    return context;
}

Port::Context* Kernel::order(Port::Context* thread, Order what, Word first, Word second) {
    thread->set_reg(0, 0);
    thread->set_reg(1, static_cast<Word>(what));
    thread->set_reg(2, first);
    thread->set_reg(3, second);
    return thread;
}

Port::Context* Kernel::set_line(Port::Context* thread, bool high) {
    if (device.set_line != nullptr) {
        device.set_line(*this, high);
        return order(thread, Order::work, 1);
    }
    const std::span<const TestDevice::Write> writes = high ? device.raise : device.lower;
    order(thread, Order::writes, kDevicePage, static_cast<Word>(writes.size()));
    for (unsigned i = 0; i < writes.size(); ++i) {
        thread->set_reg(4 + 2 * i, writes[i].offset);
        thread->set_reg(5 + 2 * i, writes[i].value);
    }
    return thread;
}

bool Kernel::answered(const Trap& trap, const Port::Context* thread, Word result) {
    return trap.kind == TrapKind::call && thread->reg(0) == kReady && thread->reg(1) == result;
}

Port::Context* Kernel::drive(const Trap* trap) {
    constexpr std::span<const Check> (*kGroups[])() = {system_checks, time_checks, context_checks,
                                                       memory_checks, hart_checks, interrupt_checks,
                                                       machine_checks};
    for (;;) {
        if (settling) {
            // What a check left pending is no part of the next one: kicks are taken until the
            // timer.
            if (trap->kind != TrapKind::timer || now() < mark) {
                port.arm(kBootHart, mark);
                return nullptr;
            }
            port.disarm(kBootHart);
            settling = false;
        } else if (check != nullptr) {
            Port::Context* next = check->run(*this, trap);
            ++step;
            if (!finished) {
                return next;
            }
            ++(check_failed ? failed : passed);
            if (!check_failed) {
                print("ok ");
                print(check->name);
                print("\n");
            }
            role.store(nullptr);
            group = group.subspan(1);
            settling = true;
            mark = now() + kSettle;
            port.arm(kBootHart, mark);
            return nullptr;
        }
        while (group.empty()) {
            if (groups_done == std::size(kGroups)) {
                print("conformance: ");
                print(u64{passed});
                print(" passed, ");
                print(u64{failed});
                print(" failed, ");
                print(u64{skipped});
                print(" skipped\n");
                port.reset(kBootHart,
                           failed == 0 && passed != 0 ? ResetKind::off : ResetKind::off_failed);
            }
            group = kGroups[groups_done++]();
        }
        check = &group.front();
        const bool too_few = port.facts().harts < check->harts;
        if (too_few || (check->device && device.source == 0)) {
            print("skip ");
            print(check->name);
            print(too_few ? ": more harts needed\n" : ": a device needed\n");
            ++skipped;
            check = nullptr;
            group = group.subspan(1);
            continue;
        }
        step = 0;
        finished = false;
        check_failed = false;
        trap = nullptr;
    }
}

Port::Context* boot(Kernel& kernel, const BootProgram& program) {
    kernel.program = program;
    const BoardFacts& facts = kernel.port.facts();
    RamRun largest;
    for (const RamRun& run : facts.ram) {
        largest = run.count > largest.count ? run : largest;
    }
    kernel.next_frame = largest.first;
    kernel.end_frame = {largest.first.value + largest.count};
    for (const BootProgram::Segment& segment : program.segments) {
        const u32 end = segment.first.value + segment.count;
        if (segment.first < kernel.end_frame && end > kernel.next_frame.value) {
            kernel.next_frame.value = end;  // the program was loaded at the run's start
        }
    }
    static_assert(sizeof(Port::Context) <= kPageSize / 4);
    for (unsigned slot = 0; slot < 4; ++slot) {
        kernel.threads[slot] =
            static_cast<Port::Context*>(kernel.port.frame_pointer(kernel.take_frame()));
    }
    kernel.space = kernel.make_space(kFirstSpace);
    kernel.device = test_device(kernel);
    if (kernel.device.source != 0 && kernel.device.set_line == nullptr) {
        kernel.map(kernel.space, kDevicePage, {static_cast<u32>(kernel.device.address / kPageSize)},
                   abi::kRead | abi::kWrite);
    }
    return kernel.drive(nullptr);
}

Port::Context* hart_online(Kernel& kernel, HartIndex hart) {
    if (kernel.port.now(hart).value < kernel.shared_time.load()) {
        kernel.flag.store(1);
    }
    kernel.online.fetch_or(HartMask::of(hart).bits);
    return nullptr;
}

Port::Context* enter(Kernel& kernel, HartIndex hart, const Trap& trap) {
    if (hart == kBootHart) {
        return kernel.drive(&trap);
    }
    const Role role = kernel.role.load();
    return role == nullptr ? nullptr : role(kernel, hart, trap);
}

}  // namespace ravelin
