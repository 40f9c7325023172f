// How a program names its first function.
//
// Each tests/programs/NAME.cpp holds one RAVELIN_PROGRAM(fn), where fn is a function over an Env that
// the first thread runs. The build (ravelin_program in user/CMakeLists.txt) gives each program's
// object the symbol it defines; a hosted runner finds all of them in ravelin_guest_programs, and a
// RISC-V program's file starts at its symbol.
#pragma once

#include "user/rt/env.h"

/// One line of the table of programs that a hosted runner holds.
struct RavelinGuestProgram {
    const char* name;  ///< as --program names it; null in the line behind the last
    void (*entry)(ravelin::rt::Word argument);
};

/// The programs by name, in the order of their names, and a line of nulls. Written by the build.
extern "C" const RavelinGuestProgram ravelin_guest_programs[];

#ifdef RAVELIN_PROGRAM_ENTRY
#define RAVELIN_PROGRAM(fn)                                                                        \
    extern "C" void RAVELIN_PROGRAM_ENTRY(ravelin::rt::Word argument) {                            \
        ravelin::rt::thread_main<fn>(argument);                                                    \
    }
#endif
