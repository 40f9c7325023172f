// From the firmware's jump to the kernel's first context: the device tree, the memory map, the tables,
// the first program.
//
// Rule: what the kernel cannot do without is asked for here, and a board or an image that lacks it gets
// one line and a machine that ends as failed. Memory that anything else lies in (the firmware, what the
// tree reserves, the image, the ramdisk) is never the kernel's; the tree itself is, once it has been
// read.

#include <new>

#include "core/abi/limits.h"
#include "port-riscv/machine.h"

/// The root of the kernel's tables as satp takes an address, for harts that start (start.S).
extern "C" ravelin::Word ravelin_kernel_root;

namespace ravelin::riscv {

namespace {

constexpr u64 kPage = LAYOUT_PAGE;

// The trace ring of a checked build at most; less where that is more than half of the memory.
constexpr u64 kTraceBytes = u64{64} << 20;

fdt::Tree tree;
fdt::Facts found;
RamRun runs[Ranges::kMost];
DeviceFact devices[3];

u64 physical(const void* pointer) {
    return reinterpret_cast<Word>(pointer) - LAYOUT_OFFSET;
}

const u8* window(u64 address) {
    return reinterpret_cast<const u8*>(static_cast<Word>(address + LAYOUT_OFFSET));
}

// Whether the kernel's window reaches the range.
bool is_reachable(u64 base, u64 bytes) {
#if __riscv_xlen == 64
    constexpr u64 kLimit = u64{1} << 38;
#else
    constexpr u64 kLimit = LAYOUT_DEVICES - LAYOUT_OFFSET;
#endif
    return base >= LAYOUT_WINDOW_PHYSICAL && base <= kLimit && bytes <= kLimit - base;
}

void read_tree(u64 address) {
    constexpr u64 kHead = 8;
    if (!is_reachable(address, kHead)) {
        refuse("device tree: none");
    }
    const auto size = fdt::Tree::size_from_header({window(address), kHead});
    if (!size) {
        refuse("device tree: ", fdt::describe(fdt::Status::bad_magic));
    }
    if (!is_reachable(address, *size)) {
        refuse("device tree: ", fdt::describe(fdt::Status::truncated));
    }
    fdt::Status status = tree.open({window(address), *size});
    if (status == fdt::Status::ok) {
        status = fdt::read_facts(tree, found);
    }
    if (status != fdt::Status::ok) {
        refuse("device tree: ", fdt::describe(status));
    }
}

void read_entropy(Port& port) {
    if (found.rng_seed.size() < sizeof port.seed) {
        refuse("device tree: no rng-seed of 32 bytes");
    }
    std::memcpy(port.seed, found.rng_seed.data(), sizeof port.seed);
}

// Harts that can run the kernel, the boot hart first; those beyond kMaxHarts are left alone.
void find_harts(Port& port, u64 boot_id) {
    u32 count = 0;
    port.compare_register = true;
    const auto take = [&](const fdt::Hart& hart) {
        HartBlock& block = *new (&Port::block({count})) HartBlock{};
        block.index = {count};
        block.id = static_cast<Word>(hart.id);
        block.timer = kNever.value;
        block.plic_context = *hart.context;
        port.compare_register = port.compare_register && hart.sstc;
        ++count;
    };
    for (const fdt::Hart& hart : found.harts.view()) {
        if (hart.id == boot_id && hart.context) {
            take(hart);
        }
    }
    if (count == 0) {
        refuse("no interrupt context for the boot hart");
    }
    for (const fdt::Hart& hart : found.harts.view()) {
        if (hart.id != boot_id && hart.usable && hart.context && count < kMaxHarts) {
            take(hart);
        }
    }
    for (u32 index = count; index < kMaxHarts; ++index) {
        Port::block({index}).id = kNoHart;
    }
    port.board.harts = count;
}

// Registers of a device that programs may map: whole pages with nothing else in them that would let a
// program reach RAM or the interrupt controller.
void check_window(const fdt::Region& registers) {
    const auto meets = [&](const fdt::Region& other) {
        return registers.base < other.base + other.size &&
               other.base < registers.base + registers.size;
    };
    bool apart = !meets(found.plic->registers);
    for (const fdt::Region& bank : found.memory.view()) {
        apart = apart && !meets(bank);
    }
    if (!apart) {
        refuse("a device's registers overlap RAM or the interrupt controller");
    }
    constexpr u64 kLimit = u64{1} << (sizeof(Word) == 8 ? 56 : 34);
    if (registers.base % kPage != 0 || registers.size % kPage != 0 || registers.base >= kLimit ||
        registers.size > kLimit - registers.base) {
        refuse("a device's registers are not whole pages in the reach of its tables");
    }
}

// The reset, and the real-time clock if the board has one.
void find_devices(Port& port) {
    u32 count = 0;
    devices[count++] = {.kind = DeviceKind::reset};
    if (found.rtc) {
        const fdt::Region& registers = found.rtc->registers;
        check_window(registers);
        devices[count++] = {.kind = DeviceKind::mmio,
                            .model = DeviceModel::goldfish_rtc,
                            .address = registers.base,
                            .pages = static_cast<u32>(registers.size / kPage)};
        if (found.rtc->interrupt > found.plic->sources) {
            refuse("a device's interrupt is none of the interrupt controller's");
        }
        if (found.rtc->interrupt != 0) {
            devices[count++] = {.kind = DeviceKind::interrupt,
                                .model = DeviceModel::goldfish_rtc,
                                .source = found.rtc->interrupt};
        }
    }
    port.board.devices = {devices, count};
}

void open_controller(Port& port) {
    u32 highest = 0;
    for (u32 index = 0; index < port.board.harts; ++index) {
        const u32 context = Port::block({index}).plic_context;
        highest = context > highest ? context : highest;
    }
    const u64 bytes = Plic::bytes(highest);
    if (bytes > found.plic->registers.size) {
        refuse("interrupt controller: its registers have no room for its contexts");
    }
    // The window is in the first table on rv64 already, in none on rv32 until the tables are made.
    port.plic = Plic{device_window(found.plic->registers.base, bytes)};
}

// A range of bytes as the pages it touches.
Range pages_of(u64 base, u64 bytes) {
    return {base / kPage * kPage, (base + bytes + kPage - 1) / kPage * kPage};
}

struct Place {
    std::string_view name;
    Range range;
};

void refuse_overlaps(std::span<const Place> places) {
    for (const Place& one : places) {
        for (const Place& other : places) {
            if (&one < &other && one.range.base < other.range.end &&
                other.range.base < one.range.end) {
                refuse(
                    Line{}.text(one.name).text(" and ").text(other.name).text(" overlap").view());
            }
        }
    }
}

bool is_memory(const Range& range) {
    for (const fdt::Region& bank : found.memory.view()) {
        if (range.base >= bank.base && range.end <= bank.base + bank.size) {
            return true;
        }
    }
    return false;
}

// What of RAM the kernel may use, and what it reaches besides: `mapped` gets both, `usable` the former.
void map_memory(const Range& ramdisk, const Range& device_tree, Ranges& usable, Ranges& mapped) {
    const Range image{physical(ravelin_image_start), physical(ravelin_image_end)};
    const Range firmware{BOARD_RAM_BASE, LAYOUT_LOAD};
    const Place places[] = {{"firmware", firmware},
                            {"kernel", image},
                            {"device tree", device_tree},
                            {"ramdisk", ramdisk}};
    refuse_overlaps(places);
    if (!is_memory(image) || !is_memory(ramdisk)) {
        refuse(is_memory(image) ? "the ramdisk is not in RAM" : "the kernel is not in RAM");
    }
    bool room = true;
    for (const fdt::Region& bank : found.memory.view()) {
        Range range{(bank.base + kPage - 1) / kPage * kPage,
                    (bank.base + bank.size) / kPage * kPage};
        while (range.end > range.base && !is_reachable(range.base, range.end - range.base)) {
            // Only the part that the window reaches; RAM below it, or beyond it on rv32, is left alone.
            if (range.base < LAYOUT_WINDOW_PHYSICAL) {
                range.base = LAYOUT_WINDOW_PHYSICAL;
            } else {
                range.end -= u64{1} << LAYOUT_ROOT_SHIFT;
            }
        }
        room = room && (range.end <= range.base || mapped.add(range));
    }
    room = room && mapped.subtract(firmware) && mapped.subtract(image);
    for (const fdt::Region& region : found.reserved.view()) {
        room = room && mapped.subtract(pages_of(region.base, region.size));
    }
    usable = mapped;
    room = room && usable.subtract(ramdisk);
    if (!room) {
        refuse("memory in too many pieces");
    }
}

// The trace ring, from the end of the memory: the highest range that has all of it, else the largest.
void keep_trace(Port& port, Ranges& usable) {
    if constexpr (Port::kCounting) {
        u64 total = 0;
        for (const Range& range : usable.view()) {
            total += range.end - range.base;
        }
        const u64 half = total / 2 / kPage * kPage;
        const u64 wanted = half < kTraceBytes ? half : kTraceBytes;
        Range ring;
        for (const Range& range : usable.view()) {
            const u64 bytes = range.end - range.base < wanted ? range.end - range.base : wanted;
            if (bytes >= ring.end - ring.base) {
                ring = {range.end - bytes, range.end};
            }
        }
        static_cast<void>(usable.subtract(ring));
        port.board.trace = {{static_cast<u32>(ring.base / kPage)},
                            static_cast<u32>((ring.end - ring.base) / kPage)};
    }
}

void give_memory(Port& port, Ranges& usable) {
    keep_trace(port, usable);
    u32 count = 0;
    for (const Range& range : usable.view()) {
        runs[count++] = {{static_cast<u32>(range.base / kPage)},
                         static_cast<u32>((range.end - range.base) / kPage)};
    }
    if (count == 0) {
        refuse("no RAM outside the firmware, the kernel and the ramdisk");
    }
    port.board.ram = {runs, count};
}

bool has_extension(Word extension) {
    const sbi::Result answer = call_firmware(sbi::kBase, sbi::base::kProbe, extension);
    return answer.error == sbi::Error::success && answer.value != 0;
}

// How many bits of a space's number satp keeps.
void probe_spaces(Port& port) {
    const Word old = csr_read<kSatp>();
    const Word bits = ~Word{0} << Port::kSpaceShift & ~Port::kPaging;
    const Word all = sizeof(Word) == 8 ? bits & ~(~Word{0} << Port::kPagingShift) : bits;
    csr_write<kSatp>(old | all);
    const Word kept = (csr_read<kSatp>() & all) >> Port::kSpaceShift;
    csr_write<kSatp>(old);
    flush_everything();
    port.numbered_spaces = kept >= abi::kMaxPid;
    port.space_mask = port.numbered_spaces ? static_cast<u32>(kept) : 0;
}

void check_firmware(Port& port) {
    port.debug_console = has_extension(sbi::kDbcn);
    for (const Word extension : {sbi::kIpi, sbi::kHsm, sbi::kTime}) {
        if (!has_extension(extension)) {
            refuse("firmware: lacks one of the extensions IPI, HSM and TIME");
        }
    }
}

}  // namespace

/// The boot hart, on its own stack, under the first table. Returns what it runs first.
extern "C" Port::Context* ravelin_boot(Word hart_id, Word tree_address) noexcept {
    new (&Port::block({})) HartBlock{};
    Port& port = *new (&machine()) Port;
    set_hart_state();
    check_firmware(port);
    read_tree(tree_address);
    read_entropy(port);
    if (!found.plic) {
        refuse("device tree: no interrupt controller");
    }
    if (!found.initrd || found.initrd->size == 0 ||
        !is_reachable(found.initrd->base, found.initrd->size)) {
        refuse("no ramdisk with programs");
    }
    port.board.timebase = found.timebase;
    port.farthest = {found.timebase};
    find_harts(port, hart_id);
    find_devices(port);
    port.disarm({});

    Ranges usable;
    Ranges mapped;
    const Range ramdisk = pages_of(found.initrd->base, found.initrd->size);
    map_memory(ramdisk, pages_of(tree_address, tree.bytes().size()), usable, mapped);
    give_memory(port, usable);
    open_controller(port);
    make_window(port, mapped);
    ravelin_kernel_root = static_cast<Word>(physical(port.kernel_root));
    probe_spaces(port);
    for (u32 source = 1; source <= found.plic->sources; ++source) {
        port.plic.prioritise(source);
    }
    port.sources = found.plic->sources;
    port.open_interrupts({});

    const BootProgram program = load_program(
        port, {window(found.initrd->base), static_cast<std::size_t>(found.initrd->size)});
    Kernel& kernel = make_kernel(port);
    for (u32 index = 0; index < port.board.harts; ++index) {
        Port::block({index}).kernel = &kernel;
    }
    return settle(Port::block({}), boot(kernel, program));
}

}  // namespace ravelin::riscv
