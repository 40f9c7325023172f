// The guest side of the conformance suite: one thread function that does what the kernel orders.
//
// It makes a call, finds an order in the registers the call gives, carries it out and makes the
// next call with the result. Registers of a call: 0 kReady, 1 the result, 2 how often it got an
// order, all others 0, unless the order says otherwise. An order: 1 what, 2 and 3 its operands.
#pragma once

#include "user/rt/types.h"

namespace ravelin::conformance {

enum class Order : unsigned {
    load = 1,  ///< result: the word at user address 2
    store,     ///< puts 3 at user address 2; result 3
    fetch,     ///< jumps to user address 2
    illegal,   ///< an instruction that is none
    work,      ///< spins for 2 ticks
    clock,     ///< result: the clock
    pattern,   ///< the call has all registers but 0 in a pattern from 2; result: the first place
               ///< whose answer is not in the pattern from 3, or kCallRegisters
    keep,      ///< keeps values over 2 calls with result kKept; result: how many got lost
    writes,    ///< 3 writes of 32 bits from user address 2 on: pairs of offset and value from 4 on
    finish,    ///< returns from the thread's function
};

inline constexpr rt::Word kReady = 0x7ead;
inline constexpr rt::Word kKept = 0x6ee9;

/// What a register at `place` holds in the pattern from `seed`: a different word at every place,
/// with high bits in it.
constexpr rt::Word pattern(rt::Word seed, unsigned place) {
    return (seed + place + 1) * static_cast<rt::Word>(0x9e3779b97f4a7c15u);
}

/// The thread's function; `argument` is the result of its first call.
void guest(rt::Word argument);

}  // namespace ravelin::conformance
