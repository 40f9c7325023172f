// One line of text for a person, built in place: the port's only formatting.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core/types.h"

namespace ravelin::riscv {

/// Text beyond the room is dropped; the last byte stays free for the line's end.
class Line {
  public:
    Line& text(std::string_view words) noexcept {
        for (const char byte : words) {
            put(byte);
        }
        return *this;
    }

    Line& number(u64 value) noexcept { return digits(value, 10, 1); }

    /// With "0x", at least `least` digits.
    Line& hex(u64 value, unsigned least = 1) noexcept {
        return text("0x").digits(value, 16, least);
    }

    /// The words so far.
    std::string_view view() const noexcept { return {bytes_, count_}; }

    /// The line with its end.
    std::span<const char> end() noexcept {
        bytes_[count_] = '\n';
        return {bytes_, count_ + 1};
    }

  private:
    static constexpr std::size_t kRoom = 200;

    void put(char byte) noexcept {
        if (count_ + 1 < kRoom) {
            bytes_[count_++] = byte;
        }
    }

    Line& digits(u64 value, u32 base, unsigned least) noexcept {
        char reversed[20];
        unsigned count = 0;
        for (; value != 0 || count < least; value /= base) {
            reversed[count++] = "0123456789abcdef"[value % base];
        }
        while (count != 0) {
            put(reversed[--count]);
        }
        return *this;
    }

    char bytes_[kRoom];
    std::size_t count_ = 0;
};

}  // namespace ravelin::riscv
