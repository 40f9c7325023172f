// What differs between the machines a guest program runs on: the trap, the clock, spinning, and what the
// addresses of code and memory are. Beside this and launch.h, all of user/ is the same on each.
//
// Implemented in hosted/trap.cpp, and in riscv/trap.S and riscv/trap.cpp.
#pragma once

#include "core/abi/calls.h"
#include "user/rt/types.h"

namespace ravelin::rt {

/// The registers of one call by place (core/abi/calls.h says which carries what).
struct Registers {
    Word at[abi::kCallRegisters] = {};

    /// Puts a 64-bit value in the registers `place` and `place` + 1, the low half first.
    constexpr void put64(unsigned place, u64 value) {
        at[place] = static_cast<Word>(value);
        if constexpr (sizeof(Word) == 4) {
            at[place + 1] = static_cast<Word>(value >> 32);
        }
    }

    /// The 64-bit value of the registers `place` and `place` + 1.
    constexpr u64 get64(unsigned place) const {
        if constexpr (sizeof(Word) == 4) {
            return at[place] | u64{at[place + 1]} << 32;
        } else {
            return at[place];
        }
    }
};

/// Enters the kernel with these registers and returns with what it left in them.
void trap(Registers& registers);

/// The timebase clock. Costs no kernel entry.
Ticks clock();

/// Keeps the hart busy for `length` without a call. On a hosted kernel these are ticks of the calling
/// thread's own running; on RISC-V the clock is watched, so time in which the thread did not run
/// counts for what the watch saw of it: a caller that counts work does it in pieces far shorter than
/// a slice.
void work(Ticks length);

/// What thread_create and process_start take as the entry of a thread that runs `function`.
Word entry_value(void (*function)(Word argument));

/// Reads the 32-bit device register at a user address in a window of map_device. Registers are reached
/// by this and write_register alone.
u32 read_register(Word address);

/// Writes it.
void write_register(Word address, u32 value);

/// A user address as a pointer that this process can follow.
void* user_memory(Word address);

/// The object of type T at a user address of this process.
template <class T>
T* user_object(Word address) {
    return static_cast<T*>(user_memory(address));
}

}  // namespace ravelin::rt
