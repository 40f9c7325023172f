// The suite's guest as a program of a RISC-V machine: its file begins here.

#include "tests/conformance/guest.h"

extern "C" void RAVELIN_PROGRAM_ENTRY(ravelin::rt::Word argument) {
    ravelin::conformance::guest(argument);
}
