// The functions of ravelin_guest.h, and where a guest thread begins.
//
// All of it runs on the guest's own stack. A thread finds itself by its stack pointer, so it may be
// moved to another OS thread between any two instructions that run with in_user set.

#include "port-hosted/source/guest.h"

#include <cstring>

#include "port-hosted/source/panic.h"
#include "ravelin_guest.h"

namespace ravelin::hosted {

namespace {

// What lies at the return address a thread starts with.
constexpr Word kReturnAddress = 0;

Machine& machine_of(GuestThread& thread) {
    return *thread.hart.load(std::memory_order_relaxed)->machine;
}

[[gnu::always_inline]] inline GuestThread& this_thread() {
    if (current_hart() == nullptr) [[unlikely]] {
        panic("a guest's function was called by a thread that is no guest's");
    }
    return slot_thread(__builtin_frame_address(0));
}

}  // namespace

void guest_entry(Transfer transfer) {
    fiber_is_outermost();
    fiber_bottom();
    GuestThread& thread = this_thread();
    fiber_arrived(thread.fiber, transfer);
    const Word entry = thread.context->entry;
    const Word argument = thread.context->registers[0];
    auto* function = reinterpret_cast<void (*)(Word)>(image().base + entry);
    enter_user(thread);
    function(argument);
    ravelin_guest_end();
}

u64 Machine::clock(GuestThread& thread) {
    leave_user(thread);
    if (!real) {
        work_virtual(thread, 1);
    }
    const u64 now = port.now(thread.hart.load(std::memory_order_relaxed)->index).value;
    enter_user(thread);
    return now;
}

void Machine::work(GuestThread& thread, u64 ticks) {
    if (real) {
        work_real(thread, ticks);
        return;
    }
    leave_user(thread);
    work_virtual(thread, ticks);
    enter_user(thread);
}

// An access that the tables do not allow is made again for as long as the kernel resumes the thread.
u32 Machine::access_device(GuestThread& thread, Word address, FaultKind access, u32 value) {
    for (;;) {
        leave_user(thread);
        if (!real) {
            work_virtual(thread, 1);
        }
        const HartIndex hart = thread.hart.load(std::memory_order_relaxed)->index;
        const auto physical = windows->translate(hart, address, access);
        const bool there = physical && address % sizeof(u32) == 0 && *physical >= kRtcAddress &&
                           *physical - kRtcAddress < kPageSize;
        if (there) {
            const auto offset = static_cast<u32>(*physical - kRtcAddress);
            const u64 now = port.now(hart).value;
            u32 got = 0;
            if (access == FaultKind::load) {
                got = rtc.read(offset, now);
            } else {
                rtc.write(offset, value, now);
                update_rtc();
            }
            enter_user(thread);
            return got;
        }
        thread.fault.store(physical ? FaultKind::illegal : access, std::memory_order_relaxed);
        thread.address.store(address, std::memory_order_relaxed);
        switch_to_loop(thread, Why::fault);
        enter_user(thread);
    }
}

}  // namespace ravelin::hosted

using namespace ravelin::hosted;

extern "C" {

void ravelin_guest_call(std::uintptr_t* registers) {
    GuestThread& thread = this_thread();
    ravelin::Port::Context& context = *thread.context;
    std::memcpy(context.registers, registers, sizeof context.registers);
    leave_user(thread);
    switch_to_loop(thread, Why::call);
    enter_user(thread);
    std::memcpy(registers, context.registers, sizeof context.registers);
}

std::uint64_t ravelin_guest_clock(void) {
    GuestThread& thread = this_thread();
    return machine_of(thread).clock(thread);
}

void ravelin_guest_work(std::uint64_t ticks) {
    GuestThread& thread = this_thread();
    machine_of(thread).work(thread, ticks);
}

std::uint32_t ravelin_guest_load(std::uintptr_t address) {
    GuestThread& thread = this_thread();
    return machine_of(thread).access_device(thread, address, ravelin::FaultKind::load, 0);
}

void ravelin_guest_store(std::uintptr_t address, std::uint32_t value) {
    GuestThread& thread = this_thread();
    machine_of(thread).access_device(thread, address, ravelin::FaultKind::store, value);
}

std::byte* ravelin_guest_base(void) {
    GuestThread& thread = this_thread();
    if (thread.base == nullptr) {
        leave_user(thread);
        thread.base = machine_of(thread).windows->open(thread.context->space);
        enter_user(thread);
    }
    return thread.base;
}

std::uintptr_t ravelin_guest_entry(void (*function)(std::uintptr_t argument)) {
    return entry_value(function);
}

void ravelin_guest_end(void) {
    GuestThread& thread = this_thread();
    for (;;) {
        leave_user(thread);
        thread.fault.store(ravelin::FaultKind::fetch, std::memory_order_relaxed);
        thread.address.store(kReturnAddress, std::memory_order_relaxed);
        switch_to_loop(thread, Why::fault);
        enter_user(thread);
    }
}
}
