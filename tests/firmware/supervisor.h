// What the conformance image is made of: timers, printing and the checks themselves. Header only; one translation unit includes it.

#pragma once

#include "port-riscv/csr.h"

#include <atomic>
#include <cstdint>

namespace ravelin::conformance {

using sbi::Error;
using sbi::Result;
using namespace riscv;

/// This hart's id; start.S keeps it in tp.
inline Word my_id() noexcept {
    Word id;
    asm volatile("mv %0, tp" : "=r"(id));
    return id;
}

/// A 64-bit argument goes in one register on rv64 and in two on rv32.
inline Result set_timer(std::uint64_t deadline) noexcept {
    return call_firmware(sbi::kTime, 0, static_cast<Word>(deadline),
                         static_cast<Word>(deadline >> 32));
}

inline void put(char byte) noexcept {
    call_firmware(sbi::kLegacyPutchar, 0, static_cast<Word>(byte));
}

inline void print(const char* text) noexcept {
    for (; *text != '\0'; ++text) {
        put(*text);
    }
}

inline void print(long value) noexcept {
    if (value < 0) put('-');
    Word rest = value < 0 ? 0 - static_cast<Word>(value) : static_cast<Word>(value);
    char digits[20];
    int count = 0;
    do {
        digits[count++] = static_cast<char>('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    while (count > 0) {
        put(digits[--count]);
    }
}

inline long checks = 0;
inline long failures = 0;

/// One check, one line: the name and what was found, and what was wanted if that differs.
inline void expect(const char* name, long got, long want) noexcept {
    ++checks;
    const bool good = got == want;
    if (!good) ++failures;
    print(good ? "ok   " : "FAIL ");
    print(name);
    print(" = ");
    print(got);
    if (!good) {
        print(", wanted ");
        print(want);
    }
    print("\n");
}

inline void expect(const char* name, Error got, Error want) noexcept {
    expect(name, static_cast<long>(got), static_cast<long>(want));
}

inline void expect(const char* name, bool got) noexcept {
    expect(name, got ? 1L : 0L, 1L);
}

/// `virt` counts time at 10 MHz.
inline constexpr std::uint64_t kMillisecond = 10'000;
/// How long anything may take before it counts as never: the host may be slow and shared.
inline constexpr std::uint64_t kNever = 10'000 * kMillisecond;

/// Polls until `condition` holds; false if it never did.
template <class Condition>
inline bool eventually(Condition condition, std::uint64_t patience = kNever) noexcept {
    const std::uint64_t start = read_clock();
    while (!condition()) {
        if (read_clock() - start > patience) return condition();
    }
    return true;
}

}  // namespace ravelin::conformance
