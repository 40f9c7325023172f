// The ramdisk's image and the first program in it.
//
// Rule: nothing of the image is trusted. Its sums, every offset and every size are checked before they
// are used; a program is mapped only if its segments lie where programs may, apart from each other, none
// writable and executable, with the entry in code. What is wrong is one line and the end of the machine.
// Bound: the image's bytes once for the sums, the first program's once for the copy; kMostSegments.

#include <cstring>

#include "core/memory/space.h"
#include "port-riscv/image.h"
#include "port-riscv/machine.h"

namespace ravelin::riscv {

namespace {

constexpr u32 kMostSegments = 8;

// The first program's stack: where a copy of a program has its own (user/rt/riscv/launch.cpp).
constexpr Word kStackBase = 0x2000'0000;
constexpr u32 kStackPages = 4;

// What an ELF file of this machine's width consists of.
struct FileHead {
    u8 ident[16];
    u16 type, machine;
    u32 version;
    Word entry, program_heads, section_heads;
    u32 flags;
    u16 size, program_head_size, program_heads_count, section_head_size, sections, names;
};

#if __riscv_xlen == 64
constexpr u8 kClass = 2;
struct ProgramHead {
    u32 type, flags;
    u64 offset, address, physical, file_bytes, memory_bytes, align;
};
#else
constexpr u8 kClass = 1;
struct ProgramHead {
    u32 type, offset, address, physical, file_bytes, memory_bytes, flags, align;
};
#endif

constexpr u16 kExecutableFile = 2, kRiscv = 243;
constexpr u32 kLoad = 1, kDynamic = 2, kInterpreter = 3;
constexpr u32 kMayExecute = 1, kMayWrite = 2, kMayRead = 4;

struct Loader {
    Port& port;
    std::string_view name;
    std::span<const u8> file;
    FrameNumber next;  ///< of the frames that the copy takes, one after the other
    u32 left = 0;
    u32 count = 0;

    [[noreturn]] void refuse_program(std::string_view what) const {
        riscv::refuse(Line{}.text("program ").text(name).text(": ").text(what).view());
    }

    template <class T>
    T read(u64 offset, std::string_view what) const {
        if (offset > file.size() || file.size() - offset < sizeof(T)) {
            refuse_program(what);
        }
        T value;
        std::memcpy(&value, file.data() + offset, sizeof value);
        return value;
    }
};

BootProgram::Segment segments[kMostSegments + 1];

u32 rights_of(u32 flags) {
    u32 rights = 0;
    if ((flags & kMayRead) != 0) rights |= abi::kRead;
    if ((flags & kMayWrite) != 0) rights |= abi::kRead | abi::kWrite;
    if ((flags & kMayExecute) != 0) rights |= abi::kExecute;
    return rights;
}

bool within(u64 start, u64 end, u64 base, u64 limit) {
    return start >= base && end <= limit;
}

// Where a program's own pages may lie: core/memory/space.h.
bool is_programs_own(u64 start, u64 end) {
    constexpr u64 kAreasEnd = kAnonBase + u64{kAnonPages} * kPageSize;
    return within(start, end, kPageSize, kMessageBase) ||
           within(start, end, kAreasEnd, Port::Format::kUserEnd);
}

// Adds pages of zeroes from `start`, refusing them if any is taken.
void add_segment(Loader& loader, u64 start, u64 end, u32 rights) {
    for (u32 i = 0; i < loader.count; ++i) {
        const u64 other = segments[i].address;
        if (start < other + u64{segments[i].count} * kPageSize && other < end) {
            loader.refuse_program("segments overlap each other or the stack");
        }
    }
    if (loader.count == std::size(segments)) {
        loader.refuse_program("too many segments");
    }
    const u64 pages = (end - start) / kPageSize;
    if (pages > loader.left) {
        loader.refuse_program("larger than the memory");
    }
    BootProgram::Segment& segment = segments[loader.count++];
    segment = {static_cast<Word>(start), rights, loader.next, static_cast<u32>(pages)};
    std::memset(loader.port.frame_pointer(loader.next), 0, static_cast<Word>(pages) * kPageSize);
    loader.next.value += segment.count;
    loader.left -= segment.count;
}

void load_segment(Loader& loader, const ProgramHead& head) {
    const u64 from = head.offset;
    const u64 bytes = head.file_bytes;
    if (from > loader.file.size() || bytes > loader.file.size() - from) {
        loader.refuse_program("a segment lies outside the file");
    }
    if (bytes > head.memory_bytes) {
        loader.refuse_program("a segment's file part is larger than the segment");
    }
    const u64 start = u64{head.address} / kPageSize * kPageSize;
    const u64 last = u64{head.address} + head.memory_bytes;
    if (last < head.address || last > Port::Format::kUserEnd) {
        loader.refuse_program("a segment lies outside of user space");
    }
    const u64 end = (last + kPageSize - 1) / kPageSize * kPageSize;
    if (!is_programs_own(start, end)) {
        loader.refuse_program("a segment lies where programs have no pages of their own");
    }
    const u32 rights = rights_of(head.flags);
    if (rights == 0 || (rights & (abi::kWrite | abi::kExecute)) == (abi::kWrite | abi::kExecute)) {
        loader.refuse_program("a segment is writable and executable, or nothing");
    }
    const FrameNumber first = loader.next;
    add_segment(loader, start, end, rights);
    std::memcpy(static_cast<u8*>(loader.port.frame_pointer(first)) + (head.address - start),
                loader.file.data() + from, static_cast<Word>(bytes));
}

BootProgram load_file(Loader& loader) {
    const auto head = loader.read<FileHead>(0, "shorter than an ELF head");
    constexpr u8 kIdent[7] = {0x7f, 'E', 'L', 'F', kClass, 1, 1};
    if (std::memcmp(head.ident, kIdent, sizeof kIdent) != 0 || head.machine != kRiscv ||
        head.type != kExecutableFile || head.program_head_size != sizeof(ProgramHead)) {
        loader.refuse_program("no static ELF file of this machine");
    }
    add_segment(loader, kStackBase, kStackBase + u64{kStackPages} * kPageSize,
                abi::kRead | abi::kWrite);
    bool entry_in_code = false;
    for (u32 i = 0; i < head.program_heads_count; ++i) {
        const auto part =
            loader.read<ProgramHead>(u64{head.program_heads} + i * sizeof(ProgramHead),
                                     "program heads lie outside the file");
        if (part.type == kDynamic || part.type == kInterpreter) {
            loader.refuse_program("linked dynamically");
        }
        if (part.type != kLoad || part.memory_bytes == 0) {
            continue;
        }
        load_segment(loader, part);
        entry_in_code =
            entry_in_code || ((part.flags & kMayExecute) != 0 && head.entry >= part.address &&
                              head.entry - part.address < part.file_bytes && head.entry % 2 == 0);
    }
    if (!entry_in_code) {
        loader.refuse_program("the entry is not in code");
    }
    return {head.entry, kStackBase + kStackPages * kPageSize, 0, {segments, loader.count}};
}

// The first entry of a sound image.
ImageEntry first_entry(std::span<const u8> image) {
    ImageHead head;
    if (image.size() < sizeof head) {
        refuse("image: shorter than its head");
    }
    std::memcpy(&head, image.data(), sizeof head);
    if (std::memcmp(head.magic, kImageMagic, sizeof head.magic) != 0 ||
        head.version != kImageVersion) {
        refuse("image: not an image of tools/image");
    }
    if (head.bytes > image.size() || head.bytes % kImageAlign != 0 || head.bytes < sizeof head) {
        refuse("image: truncated");
    }
    const auto* words = reinterpret_cast<const u32*>(image.data() + sizeof head);
    u32 sums[2];
    image_sums({words, static_cast<std::size_t>(head.bytes - sizeof head) / sizeof(u32)}, sums);
    if (sums[0] != head.sums[0] || sums[1] != head.sums[1]) {
        refuse("image: corrupt, its sums do not match");
    }
    const u64 contents = head.bytes - sizeof head;
    if (head.count == 0 || head.count > contents / sizeof(ImageEntry)) {
        refuse("image: no programs, or more than it has room for");
    }
    ImageEntry entry;
    std::memcpy(&entry, image.data() + sizeof head, sizeof entry);
    if (entry.name[sizeof entry.name - 1] != 0 || entry.offset > head.bytes ||
        entry.bytes > head.bytes - entry.offset) {
        refuse("image: an entry lies outside the image");
    }
    return entry;
}

}  // namespace

BootProgram load_program(Port& port, std::span<const u8> image) noexcept {
    static ImageEntry entry;
    entry = first_entry(image);
    RamRun largest;
    for (const RamRun& run : port.board.ram) {
        if (run.count > largest.count) {
            largest = run;
        }
    }
    Loader loader{port, entry.name,
                  image.subspan(static_cast<std::size_t>(entry.offset),
                                static_cast<std::size_t>(entry.bytes)),
                  largest.first, largest.count};
    return load_file(loader);
}

}  // namespace ravelin::riscv
