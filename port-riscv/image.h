// The image of guest programs that a machine is given as its ramdisk: written by tools/image, read at
// boot. Little-endian: the head, `count` entries, then each program's file, 16-byte aligned. The first
// program runs in init's place.
#pragma once

#include <cstdint>
#include <span>

namespace ravelin::riscv {

struct ImageHead {
    char magic[8];  ///< kImageMagic
    std::uint32_t version;
    std::uint32_t count;    ///< programs, at least 1
    std::uint64_t bytes;    ///< of the whole image, a multiple of 16
    std::uint32_t sums[2];  ///< of every byte behind the head
};
static_assert(sizeof(ImageHead) == 32);

struct ImageEntry {
    char name[32];         ///< ends with a 0
    std::uint64_t offset;  ///< of the file in the image
    std::uint64_t bytes;
};
static_assert(sizeof(ImageEntry) == 48);

inline constexpr char kImageMagic[8] = {'R', 'A', 'V', 'I', 'M', 'A', 'G', 'E'};
inline constexpr std::uint32_t kImageVersion = 1;
inline constexpr std::uint32_t kImageAlign = 16;

/// Fletcher's two sums over words: a flipped bit, a swapped or a missing word changes them.
inline void image_sums(std::span<const std::uint32_t> words, std::uint32_t (&sums)[2]) {
    std::uint32_t plain = 1;
    std::uint32_t running = 0;
    for (const std::uint32_t word : words) {
        plain += word;
        running += plain;
    }
    sums[0] = plain;
    sums[1] = running;
}

}  // namespace ravelin::riscv
