// See guest.h. Runs in user mode on the port under test, through the same runtime as every program.

#include "tests/conformance/guest.h"

#include "user/rt/trap.h"

namespace ravelin::conformance {

namespace {

using rt::Registers;
using rt::Word;

// A value the compiler cannot know, so that it has to be kept where values are kept.
template <class T>
T opaque(T value) {
    asm volatile("" : "+m"(value));
    return value;
}

// A sanitizer would look at the function's head before it calls it.
__attribute__((no_sanitize("undefined"))) void jump(Word address) {
    reinterpret_cast<void (*)()>(rt::user_memory(address))();
}

Word check_pattern(Word asked, Word answered) {
    Registers registers;
    registers.at[0] = kReady;
    for (unsigned place = 1; place < abi::kCallRegisters; ++place) {
        registers.at[place] = pattern(asked, place);
    }
    rt::trap(registers);
    for (unsigned place = 0; place < abi::kCallRegisters; ++place) {
        if (registers.at[place] != pattern(answered, place)) {
            return place;
        }
    }
    return abi::kCallRegisters;
}

Word keep(Word calls) {
    constexpr unsigned kValues = 24;  // more than any machine has registers that calls keep
    Word kept[kValues];
    for (unsigned i = 0; i < kValues; ++i) {
        kept[i] = opaque(pattern(77, i));
    }
    const Word a = opaque<Word>(11), b = opaque<Word>(22), c = opaque<Word>(33),
               d = opaque<Word>(44);
    const double fraction = opaque(1.25);
    for (Word i = 0; i < calls; ++i) {
        Registers registers;
        registers.at[0] = kReady;
        registers.at[1] = kKept;
        rt::trap(registers);
    }
    Word lost = 0;
    for (unsigned i = 0; i < kValues; ++i) {
        lost += kept[i] != pattern(77, i) ? 1 : 0;
    }
    return lost + (a != 11) + (b != 22) + (c != 33) + (d != 44) + (fraction != 1.25);
}

}  // namespace

void guest(Word argument) {
    Registers registers;
    registers.at[1] = argument;
    for (Word orders = 0;; ++orders) {
        registers.at[0] = kReady;
        registers.at[2] = orders;
        rt::trap(registers);
        const Word first = registers.at[2];
        const Word second = registers.at[3];
        Word result = 0;
        switch (static_cast<Order>(registers.at[1])) {
        case Order::load: result = *rt::user_object<volatile Word>(first); break;
        case Order::store: *rt::user_object<volatile Word>(first) = result = second; break;
        case Order::fetch: jump(first); break;
        case Order::illegal: asm volatile("" ::: "memory"); __builtin_trap();
        case Order::work: rt::work({first}); break;
        case Order::clock: result = static_cast<Word>(rt::clock().value); break;
        case Order::pattern: result = check_pattern(first, second); break;
        case Order::keep: result = keep(first); break;
        case Order::writes:
            for (Word i = 0; i < second; ++i) {
                *rt::user_object<volatile rt::u32>(first + registers.at[4 + 2 * i]) =
                    static_cast<rt::u32>(registers.at[5 + 2 * i]);
            }
            break;
        case Order::finish: return;
        }
        registers = {};
        registers.at[1] = result;
    }
}

}  // namespace ravelin::conformance
