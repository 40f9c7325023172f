// What the conformance image is made of: S-mode CSRs, the call instruction, the clock, printing and
// the checks themselves. Header only; one translation unit includes it.

#pragma once

#include "port-riscv/sbi.h"

#include <atomic>
#include <cstdint>

namespace ravelin::conformance {

using sbi::Error;
using sbi::Result;
using sbi::Word;

enum Csr : unsigned {
    kSstatus = 0x100,
    kSie = 0x104,
    kStvec = 0x105,
    kSepc = 0x141,
    kScause = 0x142,
    kSip = 0x144,
    kStimecmp = 0x14D,
    kStimecmph = 0x15D,
    kSatp = 0x180,
    kCycle = 0xC00,
    kTimeLow = 0xC01,
    kInstret = 0xC02,
    kTimeHigh = 0xC81,
};

inline constexpr Word kSoftware = 1U << 1;
inline constexpr Word kTimer = 1U << 5;
inline constexpr Word kInterruptsOn = 1U << 1;

template <Csr kCsr>
inline Word csr_read() noexcept {
    Word value;
    asm volatile("csrr %0, %1" : "=r"(value) : "i"(kCsr) : "memory");
    return value;
}

template <Csr kCsr>
inline void csr_write(Word value) noexcept {
    asm volatile("csrw %0, %1" : : "i"(kCsr), "r"(value) : "memory");
}

template <Csr kCsr>
inline void csr_set(Word bits) noexcept {
    asm volatile("csrs %0, %1" : : "i"(kCsr), "r"(bits) : "memory");
}

template <Csr kCsr>
inline void csr_clear(Word bits) noexcept {
    asm volatile("csrc %0, %1" : : "i"(kCsr), "r"(bits) : "memory");
}

inline void wait_for_interrupt() noexcept {
    asm volatile("wfi" : : : "memory");
}

inline void flush_everything() noexcept {
    asm volatile("sfence.vma" : : : "memory");
}

/// This hart's id; start.S keeps it in tp.
inline Word my_id() noexcept {
    Word id;
    asm volatile("mv %0, tp" : "=r"(id));
    return id;
}

/// One call with up to five arguments.
inline Result call(Word extension, Word function, Word x0 = 0, Word x1 = 0, Word x2 = 0,
                   Word x3 = 0, Word x4 = 0) noexcept {
    register Word a0 asm("a0") = x0;
    register Word a1 asm("a1") = x1;
    register Word a2 asm("a2") = x2;
    register Word a3 asm("a3") = x3;
    register Word a4 asm("a4") = x4;
    register Word a6 asm("a6") = function;
    register Word a7 asm("a7") = extension;
    asm volatile("ecall"
                 : "+r"(a0), "+r"(a1)
                 : "r"(a2), "r"(a3), "r"(a4), "r"(a6), "r"(a7)
                 : "memory");
    return {static_cast<Error>(a0), a1};
}

/// The clock, in ticks. On rv32 the high half is read again until it stood still around the low.
inline std::uint64_t now() noexcept {
    if constexpr (sizeof(Word) == 8) {
        return csr_read<kTimeLow>();
    } else {
        for (;;) {
            const Word high = csr_read<kTimeHigh>();
            const Word low = csr_read<kTimeLow>();
            if (csr_read<kTimeHigh>() == high) return std::uint64_t{high} << 32 | low;
        }
    }
}

/// A 64-bit argument goes in one register on rv64 and in two on rv32.
inline Result set_timer(std::uint64_t deadline) noexcept {
    return call(sbi::kTime, 0, static_cast<Word>(deadline), static_cast<Word>(deadline >> 32));
}

inline void put(char byte) noexcept {
    call(sbi::kLegacyPutchar, 0, static_cast<Word>(byte));
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
    const std::uint64_t start = now();
    while (!condition()) {
        if (now() - start > patience) return condition();
    }
    return true;
}

}  // namespace ravelin::conformance
