// What the port's own files share: the one Port of the machine, refusals, and the steps of boot.
#pragma once

#include "core/entry/enter.h"
#include "port-riscv/fdt/facts.h"
#include "port-riscv/line.h"
#include "port-riscv/ranges.h"

namespace ravelin::riscv {

/// The machine's port; made by the first step of boot.
Port& machine() noexcept;

/// The kernel, in a room of the image; once.
Kernel& make_kernel(Port& port) noexcept;

/// What the kernel has to say of its own fault; then the machine ends as failed.
[[noreturn]] void end_kernel(HartBlock& block, const char* what) noexcept;

/// The state every hart runs in: no floating point, SUM and MXR clear, user code may read the clock,
/// every interrupt enabled for user mode and for halting.
void set_hart_state() noexcept;

/// Runs the hart from what an upcall answered: the context to resume, idling until there is one.
Port::Context* settle(HartBlock& block, Port::Context* next) noexcept;

/// One line that says why this machine or image cannot run the kernel; then the machine ends as failed.
[[noreturn]] void refuse(std::string_view what, std::string_view detail = {}) noexcept;

/// Ends the machine by the firmware.
[[noreturn]] void power_off(ResetKind kind) noexcept;

/// Makes the kernel's own tables, switches the hart to them, and checks every mapping in them (W^X,
/// nothing for user code, guard pages absent). `mapped` is what the kernel reaches besides its image.
/// Refuses the board if they cannot be made.
void make_window(Port& port, Ranges& mapped) noexcept;

/// Device registers as the kernel reaches them, for make_window's tables; called before it.
Word device_window(u64 address, u64 bytes) noexcept;

/// Copies the image's first program to frames of the board's RAM. Refuses an image or a program that
/// is not sound.
BootProgram load_program(Port& port, std::span<const u8> image) noexcept;

}  // namespace ravelin::riscv

// Where the linker put the image, as the kernel addresses it.
extern "C" const char ravelin_image_start[], ravelin_code_end[], ravelin_constants_end[],
    ravelin_image_end[];
