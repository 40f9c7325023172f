// What the RISC-V port's program loader needs of its machine, for a host: the null port's memory, and a
// refusal that comes back to the fuzz target instead of ending the machine.
#pragma once

#include <csetjmp>
#include <string_view>

#include "core/kernel.h"
#include "port-riscv/line.h"

namespace ravelin::riscv {

/// Where a refusal goes. Nothing between it and the loader needs a destructor.
inline std::jmp_buf refused;

[[noreturn]] inline void refuse(std::string_view, std::string_view = {}) noexcept {
    std::longjmp(refused, 1);
}

BootProgram load_program(Port& port, std::span<const u8> image) noexcept;

}  // namespace ravelin::riscv
