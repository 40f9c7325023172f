// libFuzzer target: the loader of the first program, port-riscv/source/program.cpp as it is for rv64, on
// the null port's memory. The first byte says whether the rest is a whole image or a program's file in a
// sound one. What it accepts is judged by <elf.h>: segments inside the largest RAM run, apart, where
// programs may lie, none writable and executable, with the file's bytes and zeroes behind them, and the
// entry in code. RAM is full of other bytes before.
#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/assert.h"
#include "core/memory/space.h"
#include "port-riscv/image.h"
#include "port-riscv/machine.h"

namespace ravelin {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    std::abort();
}

namespace {

constexpr u32 kRamFirst = 1;
constexpr u32 kRamFrames = 64;
constexpr u32 kStale = 0xa5;

void hold(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "elf-fuzz: %s\n", what);
    std::abort();
}

std::vector<u8> image_around(std::span<const u8> file) {
    using namespace riscv;
    const std::size_t start = sizeof(ImageHead) + sizeof(ImageEntry);
    std::vector<u8> image(start + file.size());
    image.resize((image.size() + kImageAlign - 1) / kImageAlign * kImageAlign);
    ImageEntry entry{};
    std::memcpy(entry.name, "tested", 6);
    entry.offset = start;
    entry.bytes = file.size();
    std::memcpy(image.data() + sizeof(ImageHead), &entry, sizeof entry);
    if (!file.empty()) std::memcpy(image.data() + start, file.data(), file.size());
    ImageHead head{};
    std::memcpy(head.magic, kImageMagic, sizeof head.magic);
    head.version = kImageVersion;
    head.count = 1;
    head.bytes = image.size();
    std::vector<std::uint32_t> words((image.size() - sizeof head) / 4);
    std::memcpy(words.data(), image.data() + sizeof head, 4 * words.size());
    image_sums(words, head.sums);
    std::memcpy(image.data(), &head, sizeof head);
    return image;
}

u8 byte_at(Port& port, const BootProgram::Segment& segment, u64 address) {
    const u64 offset = address - segment.address;
    const auto* frame = static_cast<const u8*>(
        port.frame_pointer({segment.first.value + static_cast<u32>(offset / kPageSize)}));
    return frame[offset % kPageSize];
}

void check_places(const BootProgram& program) {
    u64 used = 0;
    for (const BootProgram::Segment& segment : program.segments) {
        const u64 end = segment.address + u64{segment.count} * kPageSize;
        hold(segment.address % kPageSize == 0 && segment.address != 0 && segment.count != 0,
             "a segment is empty, at page 0 or not whole pages");
        hold(end <= kMessageBase || (segment.address >= kAnonBase + kAnonPages * kPageSize &&
                                     end <= Port::Format::kUserEnd),
             "a segment lies where programs have no pages of their own");
        hold((segment.rights & abi::kWrite) == 0 || (segment.rights & abi::kExecute) == 0,
             "a segment is writable and executable");
        hold(segment.first.value >= kRamFirst &&
                 segment.first.value + segment.count <= kRamFirst + kRamFrames,
             "a segment lies outside of RAM");
        for (const BootProgram::Segment& other : program.segments) {
            if (&other == &segment) continue;
            hold(end <= other.address ||
                     other.address + u64{other.count} * kPageSize <= segment.address,
                 "segments overlap");
            hold(segment.first.value + segment.count <= other.first.value ||
                     other.first.value + other.count <= segment.first.value,
                 "segments share frames");
        }
        used += segment.count;
    }
    hold(used <= kRamFrames, "more than there is");
}

void check_contents(Port& port, const BootProgram& program, std::span<const u8> file) {
    Elf64_Ehdr head;
    hold(file.size() >= sizeof head, "a file without a head was accepted");
    std::memcpy(&head, file.data(), sizeof head);
    std::vector<Elf64_Phdr> parts;
    for (u32 i = 0; i < head.e_phnum; ++i) {
        const u64 at = head.e_phoff + i * sizeof(Elf64_Phdr);
        hold(at <= file.size() && file.size() - at >= sizeof(Elf64_Phdr),
             "a head outside the file");
        Elf64_Phdr part;
        std::memcpy(&part, file.data() + at, sizeof part);
        if (part.p_type == PT_LOAD && part.p_memsz != 0) parts.push_back(part);
    }
    hold(parts.size() + 1 == program.segments.size(), "segments are not the file's and a stack");
    for (const BootProgram::Segment& segment : program.segments) {
        const Elf64_Phdr* part = nullptr;
        for (const Elf64_Phdr& candidate : parts) {
            if (candidate.p_vaddr / kPageSize * kPageSize == segment.address) part = &candidate;
        }
        for (u64 offset = 0; offset < u64{segment.count} * kPageSize; ++offset) {
            const u64 address = segment.address + offset;
            u8 wanted = 0;
            if (part != nullptr && address >= part->p_vaddr &&
                address - part->p_vaddr < part->p_filesz)
                wanted = file[part->p_offset + (address - part->p_vaddr)];
            hold(byte_at(port, segment, address) == wanted, "memory is not the file and zeroes");
        }
    }
    const bool in_code = std::ranges::any_of(parts, [&](const Elf64_Phdr& part) {
        return (part.p_flags & PF_X) != 0 && program.entry >= part.p_vaddr &&
               program.entry - part.p_vaddr < part.p_filesz;
    });
    hold(in_code && program.entry == head.e_entry, "the entry is not in code");
}

// Out of the target, so that nothing that a refusal jumps over needs a destructor.
bool loads(Port& port, std::span<const u8> image, BootProgram& program) {
    if (setjmp(riscv::refused) != 0) return false;
    program = riscv::load_program(port, image);
    return true;
}

}  // namespace
}  // namespace ravelin

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ravelin;
    if (size == 0) return 0;
    const bool whole = (data[0] & 1) != 0;
    const std::span<const u8> rest(data + 1, size - 1);
    std::vector<u8> image = whole ? std::vector<u8>(rest.begin(), rest.end()) : image_around(rest);
    image.shrink_to_fit();
    static Port port;
    static const RamRun ram[] = {{{100}, 3}, {{kRamFirst}, kRamFrames}};
    port.board.ram = ram;
    std::memset(port.frame_pointer({kRamFirst}), kStale, std::size_t{kRamFrames} * kPageSize);
    BootProgram program{};
    if (!loads(port, image, program)) return 0;
    check_places(program);
    if (!whole) check_contents(port, program, rest);
    return 0;
}
