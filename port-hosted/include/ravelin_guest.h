// What a program that runs inside a hosted kernel's process calls to act on its machine.
//
// Only a thread of a guest may call these; any other thread that does ends the process with a
// message. Every one of them may switch to the kernel and return on another OS thread, so a caller
// keeps no address of a thread_local across them. None of them uses the host's C library on the
// way.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

/// One call: a trap with the 22 registers of core/abi/calls.h, which hold the results afterwards.
void ravelin_guest_call(std::uintptr_t* registers);

/// The timebase clock in ticks. In virtual time a read takes one tick, and an interrupt may be
/// taken.
std::uint64_t ravelin_guest_clock(void);

/// Keeps the hart busy for `ticks` of this thread's own running; interrupts are taken as they come.
void ravelin_guest_work(std::uint64_t ticks);

/// Where this process's user address 0 lies in the host's memory: pointer = base + user address.
/// Valid addresses are below one GiB, and only what the kernel has mapped can be accessed.
std::byte* ravelin_guest_base(void);

/// A read of the 32-bit device register at a user address that map_device gave. A hosted machine has no
/// bus: these two calls are the only way to a device's registers, and any other access to them faults as
/// illegal. They go through the page tables and fault as a load or a store does, and as illegal where
/// no register is. In virtual time an access takes one tick.
std::uint32_t ravelin_guest_load(std::uintptr_t address);

/// A write of a device register.
void ravelin_guest_store(std::uintptr_t address, std::uint32_t value);

/// The entry value of a function, for thread_create and process_start.
std::uintptr_t ravelin_guest_entry(void (*function)(std::uintptr_t argument));

/// What a thread meets that returns from its first function: a jump to the return address it
/// started with, 0, where nothing can be mapped to execute. Faults for as long as the kernel
/// resumes it.
[[noreturn]] void ravelin_guest_end(void);
}
