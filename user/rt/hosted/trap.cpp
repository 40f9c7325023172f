// The trap, the clock and user memory of a program that runs inside a hosted kernel's process: what the
// port gives as the functions of ravelin_guest.h.

#include "user/rt/trap.h"

#include <ravelin_guest.h>

namespace ravelin::rt {

void trap(Registers& registers) {
    ravelin_guest_call(registers.at);
}

Ticks clock() {
    return {ravelin_guest_clock()};
}

void work(Ticks length) {
    ravelin_guest_work(length.value);
}

u32 read_register(Word address) {
    return ravelin_guest_load(address);
}

void write_register(Word address, u32 value) {
    ravelin_guest_store(address, value);
}

Word entry_value(void (*function)(Word argument)) {
    return ravelin_guest_entry(function);
}

void* user_memory(Word address) {
    return ravelin_guest_base() + address;
}

}  // namespace ravelin::rt
