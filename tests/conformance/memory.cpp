// Memory: frames, the table format, and that what was flushed is gone. A check that faults resumes
// or drops its thread; every page it maps it also takes away.

#include "tests/conformance/kernel.h"

namespace ravelin::conformance {

namespace {

using Format = Port::Format;

constexpr u32 kReadWrite = abi::kRead | abi::kWrite;

Port::Context* frames(Kernel& kernel, const Trap*) {
    for (const RamRun& run : kernel.port.facts().ram) {
        for (const u32 value :
             {run.first.value, run.first.value + run.count / 2, run.first.value + run.count - 1}) {
            auto* start = static_cast<std::byte*>(kernel.port.frame_pointer({value}));
            kernel.expect(kernel.port.frame_number(start).value == value,
                          "frame_number undoes frame_pointer");
            kernel.expect(kernel.port.frame_number(start + kPageSize - 1).value == value,
                          "within the frame");
        }
    }
    for (const RamRun& run : kernel.port.facts().ram) {
        const auto* start = static_cast<std::byte*>(kernel.port.frame_pointer(run.first));
        const FrameNumber last{run.first.value + run.count - 1};
        kernel.expect(kernel.port.frame_pointer(last) ==
                          start + std::size_t{run.count - 1} * kPageSize,
                      "a run's frames lie one after another");
    }
    const FrameNumber first = kernel.take_frame();
    const FrameNumber second = kernel.take_frame();
    kernel.words(first)[0] = 1;
    kernel.words(second)[0] = 2;
    kernel.expect(kernel.words(first)[0] == 1, "frames are apart");
    return kernel.done();
}

Port::Context* format(Kernel& kernel, const Trap*) {
    static_assert(Format::kUserEnd % kPageSize == 0);
    const FrameNumber frame = kernel.port.facts().ram.back().first;
    kernel.expect(!Format::is_valid({}), "an entry of zeros is not valid");
    kernel.expect(Format::is_valid(Format::table(frame)) && !Format::is_leaf(Format::table(frame)),
                  "a table pointer is no leaf");
    kernel.expect(Format::frame(Format::table(frame)) == frame, "a table pointer has its frame");
    for (const u32 rights :
         {abi::kRead, abi::kRead | abi::kWrite, abi::kRead | abi::kExecute, abi::kExecute}) {
        const Format::Entry leaf = Format::leaf(frame, rights);
        kernel.expect(Format::is_valid(leaf) && Format::is_leaf(leaf), "a leaf is one");
        kernel.expect(Format::rights(leaf) == rights, "a leaf has its rights");
        kernel.expect(Format::frame(leaf) == frame, "a leaf has its frame");
        kernel.expect(!Format::is_lent(leaf), "a leaf is not lent");
        const Format::Entry lent = Format::with_valid(Format::with_lent(leaf, true), false);
        kernel.expect(!Format::is_valid(lent) && Format::is_lent(lent),
                      "a lent leaf that is not valid is");
        kernel.expect(Format::frame(lent) == frame && Format::rights(lent) == rights,
                      "and keeps the rest");
        kernel.expect(Format::with_lent(Format::with_valid(lent, true), false) == leaf,
                      "and comes back");
    }
    return kernel.done();
}

bool is_fault(const Trap& trap, FaultKind kind, Word address) {
    return trap.kind == TrapKind::fault && trap.fault == kind && trap.address == address;
}

void unmap(Kernel& kernel, const Space& space, Word address) {
    kernel.table_entry(space, address) = {};
    kernel.port.flush(kBootHart, space.number, address, 1);
}

// A translation may be kept as refused, so a new one needs a flush too.
void show(Kernel& kernel, const Space& space, Word address, FrameNumber frame, u32 rights) {
    kernel.map(space, address, frame, rights);
    kernel.port.flush(kBootHart, space.number, address, 1);
}

// Map, use, unmap, flush, fault; then the same address with another frame.
Port::Context* unmap_faults(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    switch (kernel.step) {
    case 0:
        kernel.frame = kernel.take_frame();
        kernel.other_frame = kernel.take_frame();
        kernel.words(kernel.other_frame)[0] = 0x0dd;
        show(kernel, kernel.space, kTestPage, kernel.frame, kReadWrite);
        return kernel.make_thread(0, kernel.space, 1);
    case 1: return kernel.order(thread, Order::store, kTestPage, 0x111);
    case 2:
        kernel.expect(kernel.answered(*trap, thread, 0x111), "a mapped page can be written");
        kernel.expect(kernel.words(kernel.frame)[0] == 0x111, "the frame has what user mode wrote");
        kernel.words(kernel.frame)[0] = 0x222;
        return kernel.order(thread, Order::load, kTestPage);
    case 3:
        kernel.expect(kernel.answered(*trap, thread, 0x222),
                      "user mode reads what the kernel wrote");
        unmap(kernel, kernel.space, kTestPage);
        return kernel.order(thread, Order::load, kTestPage);
    case 4:
        kernel.expect(is_fault(*trap, FaultKind::load, kTestPage), "what was flushed is gone");
        show(kernel, kernel.space, kTestPage, kernel.other_frame, abi::kRead);
        return thread;
    default:
        kernel.expect(kernel.answered(*trap, thread, 0x0dd), "the new frame is read");
        unmap(kernel, kernel.space, kTestPage);
        kernel.drop_thread(0);
        return kernel.done();
    }
}

// Rights one by one, and never execute with write.
Port::Context* rights(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    const auto set = [&](u32 bits) { show(kernel, kernel.space, kTestPage, kernel.frame, bits); };
    switch (kernel.step) {
    case 0:
        kernel.frame = kernel.take_frame();
        set(kReadWrite);
        return kernel.make_thread(0, kernel.space, 1);
    case 1: return kernel.order(thread, Order::store, kTestPage, 5);
    case 2:
        kernel.expect(kernel.answered(*trap, thread, 5), "read and write: a store is made");
        return kernel.order(thread, Order::fetch, kTestPage);
    case 3:
        kernel.expect(is_fault(*trap, FaultKind::fetch, kTestPage), "read and write: no fetch");
        kernel.drop_thread(0);
        set(abi::kRead);
        return kernel.make_thread(0, kernel.space, 1);
    case 4: return kernel.order(thread, Order::load, kTestPage);
    case 5:
        kernel.expect(kernel.answered(*trap, thread, 5), "read: a load is made");
        return kernel.order(thread, Order::store, kTestPage, 6);
    case 6:
        kernel.expect(is_fault(*trap, FaultKind::store, kTestPage), "read: no store");
        kernel.expect(kernel.words(kernel.frame)[0] == 5, "nothing was stored");
        kernel.drop_thread(0);
        set(abi::kRead | abi::kExecute);
        return kernel.make_thread(0, kernel.space, 1);
    case 7: return kernel.order(thread, Order::load, kTestPage);
    case 8:
        kernel.expect(kernel.answered(*trap, thread, 5), "read and execute: a load is made");
        return kernel.order(thread, Order::store, kTestPage, 7);
    case 9:
        kernel.expect(is_fault(*trap, FaultKind::store, kTestPage), "execute: no store");
        unmap(kernel, kernel.space, kTestPage);
        kernel.drop_thread(0);
        return kernel.done();
    default: return kernel.done();
    }
}

// A right taken away while the page was in use.
Port::Context* narrow(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    switch (kernel.step) {
    case 0:
        kernel.frame = kernel.take_frame();
        show(kernel, kernel.space, kTestPage, kernel.frame, kReadWrite);
        return kernel.make_thread(0, kernel.space, 1);
    case 1: return kernel.order(thread, Order::store, kTestPage, 1);
    case 2:
        kernel.expect(kernel.answered(*trap, thread, 1), "the page can be written");
        show(kernel, kernel.space, kTestPage, kernel.frame, abi::kRead);
        return kernel.order(thread, Order::store, kTestPage, 2);
    default:
        kernel.expect(is_fault(*trap, FaultKind::store, kTestPage),
                      "the right is gone after the flush");
        unmap(kernel, kernel.space, kTestPage);
        kernel.drop_thread(0);
        return kernel.done();
    }
}

// One address, two spaces, two frames; then one of them loses the page and the other does not.
Port::Context* two_spaces(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    Port::Context* other = kernel.threads[1];
    switch (kernel.step) {
    case 0:
        kernel.frame = kernel.take_frame();
        kernel.other_frame = kernel.take_frame();
        kernel.words(kernel.frame)[0] = 0xaa;
        kernel.words(kernel.other_frame)[0] = 0xbb;
        kernel.other_space = kernel.make_space(kernel.space.number + 1);
        kernel.map(kernel.space, kTestPage, kernel.frame, abi::kRead);
        show(kernel, kernel.other_space, kTestPage, kernel.other_frame, abi::kRead);
        return kernel.make_thread(0, kernel.space, 1);
    case 1:
        kernel.expect(kernel.answered(*trap, thread, 1), "the first starts");
        return kernel.make_thread(1, kernel.other_space, 2);
    case 2:
        kernel.expect(kernel.answered(*trap, other, 2), "the second starts");
        kernel.activate(kernel.space);
        return kernel.order(thread, Order::load, kTestPage);
    case 3:
        kernel.expect(kernel.answered(*trap, thread, 0xaa), "the first reads its own frame");
        kernel.activate(kernel.other_space);
        return kernel.order(other, Order::load, kTestPage);
    case 4:
        kernel.expect(kernel.answered(*trap, other, 0xbb), "the second reads its own frame");
        unmap(kernel, kernel.other_space, kTestPage);
        return kernel.order(other, Order::load, kTestPage);
    case 5:
        kernel.expect(is_fault(*trap, FaultKind::load, kTestPage), "the second has lost its page");
        kernel.activate(kernel.space);
        return kernel.order(thread, Order::load, kTestPage);
    default:
        kernel.expect(kernel.answered(*trap, thread, 0xaa), "the first still has its own");
        unmap(kernel, kernel.space, kTestPage);
        kernel.drop_thread(0);
        kernel.drop_thread(1);
        kernel.port.release_space(kBootHart, kernel.other_space.number);
        return kernel.done();
    }
}

// A space number used for another space shows nothing of the one before.
Port::Context* reuse_number(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    constexpr unsigned kSpaces = 8;
    const unsigned round = kernel.step / 2;
    if (kernel.step % 2 == 0) {
        if (round > 0) {
            if (round == kSpaces) {
                kernel.expect(is_fault(*trap, FaultKind::load, kTestPage),
                              "an empty space has no page");
            } else {
                kernel.expect(kernel.answered(*trap, thread, round),
                              "each space shows its own frame");
            }
            kernel.drop_thread(0);
            kernel.port.activate(kBootHart, {0}, 0);
            kernel.port.release_space(kBootHart, kernel.other_space.number);
        }
        if (round == kSpaces) {
            return kernel.done();
        }
        kernel.other_space = kernel.make_space(kernel.space.number + 1);
        if (round + 1 < kSpaces) {
            const FrameNumber frame = kernel.take_frame();
            kernel.words(frame)[0] = round + 1;
            show(kernel, kernel.other_space, kTestPage, frame, abi::kRead);
        }
        return kernel.make_thread(0, kernel.other_space, 1);
    }
    return kernel.order(thread, Order::load, kTestPage);
}

// More pages than translations are kept for, in a pattern, twice over; then one flush of all of
// them.
Port::Context* many_pages(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    constexpr unsigned kPages = 300;
    if (trap == nullptr) {
        for (unsigned page = 0; page < kPages; ++page) {
            kernel.map(kernel.space, kTestPage + Word{page} * kPageSize, kernel.take_frame(),
                       kReadWrite);
        }
        kernel.port.flush(kBootHart, kernel.space.number, kTestPage, kPages);
        kernel.counter = 0;
        return kernel.make_thread(0, kernel.space, 1);
    }
    const auto at = [](u64 count) {
        return kTestPage + static_cast<Word>(count * 7 % kPages) * kPageSize;
    };
    if (kernel.counter > 0 && kernel.counter <= kPages) {
        kernel.expect(kernel.answered(*trap, thread, static_cast<Word>(kernel.counter)),
                      "each page is written");
    } else if (kernel.counter > kPages && kernel.counter <= 2 * kPages) {
        kernel.expect(kernel.answered(*trap, thread, static_cast<Word>(kernel.counter - kPages)),
                      "each page has kept its own");
    }
    const u64 count = ++kernel.counter;
    if (count <= kPages) {
        return kernel.order(thread, Order::store, at(count), static_cast<Word>(count));
    }
    if (count <= 2 * kPages) {
        return kernel.order(thread, Order::load, at(count - kPages));
    }
    if (count == 2 * kPages + 1) {
        for (unsigned page = 0; page < kPages; ++page) {
            kernel.table_entry(kernel.space, kTestPage + Word{page} * kPageSize) = {};
        }
        kernel.port.flush(kBootHart, kernel.space.number, kTestPage, kPages);
        return kernel.order(thread, Order::load, at(5));
    }
    kernel.expect(is_fault(*trap, FaultKind::load, at(5)),
                  "one flush of a range takes all of it away");
    kernel.drop_thread(0);
    return kernel.done();
}

// Instructions of the machine that the suite is compiled for: a return, and one that is none.
#if defined(__riscv)
constexpr u16 kReturn = 0x8082, kIllegal = 0;
#else
constexpr u16 kReturn = 0x00c3, kIllegal = 0x0b0f;
#endif

// Code written by the kernel is what is fetched, and so is what is written over it.
Port::Context* sync_code(Kernel& kernel, const Trap* trap) {
    Port::Context* thread = kernel.threads[0];
    const auto write = [&](u16 instruction) {
        *static_cast<volatile u16*>(kernel.port.frame_pointer(kernel.frame)) = instruction;
        kernel.port.sync_code(kBootHart);
    };
    switch (kernel.step) {
    case 0:
        kernel.frame = kernel.take_frame();
        write(kReturn);
        show(kernel, kernel.space, kTestPage, kernel.frame, abi::kRead | abi::kExecute);
        return kernel.make_thread(0, kernel.space, 1);
    case 1: return kernel.order(thread, Order::fetch, kTestPage);
    case 2:
        kernel.expect(kernel.answered(*trap, thread, 0), "code that the kernel wrote is run");
        write(kIllegal);
        return kernel.order(thread, Order::fetch, kTestPage);
    default:
        kernel.expect(trap->kind == TrapKind::fault && trap->fault == FaultKind::illegal,
                      "and what it wrote over it");
        unmap(kernel, kernel.space, kTestPage);
        kernel.drop_thread(0);
        return kernel.done();
    }
}

constexpr Check kChecks[] = {
    {"memory-sync-code", 1, sync_code},   {"memory-frames", 1, frames},
    {"memory-format", 1, format},         {"memory-unmap-faults", 1, unmap_faults},
    {"memory-rights", 1, rights},         {"memory-narrow", 1, narrow},
    {"memory-two-spaces", 1, two_spaces}, {"memory-reuse-number", 1, reuse_number},
    {"memory-many-pages", 1, many_pages},
};

}  // namespace

std::span<const Check> memory_checks() {
    return kChecks;
}

}  // namespace ravelin::conformance
