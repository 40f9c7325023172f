// What a trap saves and a return restores: a thread's 31 registers and its pc. trap.S knows this
// layout (layout.h).
#pragma once

#include "core/abi/calls.h"
#include "core/types.h"

namespace ravelin::riscv {

struct Context {
    Word x[32];       ///< x[0] is the pc, the others are the registers of that number
    Word after_call;  ///< 1: it entered by an ecall that x[0] is already behind

    /// Call register to register number: a0 to a7, t0 to t6, s2 to s8.
    static constexpr u8 kNumbers[abi::kCallRegisters] = {
        10, 11, 12, 13, 14, 15, 16, 17, 5, 6, 7, 28, 29, 30, 31, 18, 19, 20, 21, 22, 23, 24};
    static constexpr unsigned kStackRegister = 2, kArgumentRegister = 10;
    static constexpr Word kCallBytes = 4;  ///< of an ecall, which has no compressed form

    Word reg(unsigned place) const noexcept { return x[kNumbers[place]]; }
    void set_reg(unsigned place, Word value) noexcept { x[kNumbers[place]] = value; }
    void retake() noexcept {
        x[0] -= after_call * kCallBytes;
        after_call = 0;
    }
};

}  // namespace ravelin::riscv
