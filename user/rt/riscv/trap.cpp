// The trap, the clock and user memory of a program on RISC-V: the instructions are in trap.S.

#include "user/rt/trap.h"

extern "C" {
void ravelin_guest_call(ravelin::rt::Word* registers);
ravelin::rt::u64 ravelin_guest_clock();
}

namespace ravelin::rt {

void trap(Registers& registers) {
    ravelin_guest_call(registers.at);
}

Ticks clock() {
    return {ravelin_guest_clock()};
}

void work(Ticks length) {
    const Ticks start = clock();
    while (clock() - start < length) {
    }
}

u32 read_register(Word address) {
    return *reinterpret_cast<const volatile u32*>(address);
}

void write_register(Word address, u32 value) {
    *reinterpret_cast<volatile u32*>(address) = value;
}

Word entry_value(void (*function)(Word argument)) {
    return reinterpret_cast<Word>(function);
}

void* user_memory(Word address) {
    return reinterpret_cast<void*>(address);
}

}  // namespace ravelin::rt
