// A kernel on the null port, driven by hand: the test plays the user threads and the hardware.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "core/abi/records.h"
#include "core/kernel.h"
#include "core/memory/space.h"
#include "core/object/lifecycle.h"
#include "core/object/regs.h"

namespace ravelin::test {

class Machine {
  public:
    /// `devices`: the board's, if it has others than the reset alone. `refused`: harts that do not start.
    explicit Machine(u32 harts = 1, u32 trace_frames = 1024,
                     std::span<const DeviceFact> devices = {}, HartMask refused = {})
        : port(harts, trace_frames), kernel(port) {
        if (!devices.empty()) port.board.devices = devices;
        port.refused = refused;
        running[0] = boot(kernel, BootProgram{.entry = 0x1000, .segments = {}});
    }

    Thread& thread(u32 hart = 0) { return thread_of(*running[hart]); }

    /// The thread on `hart` makes a call. Returns the status if the same thread goes on at once,
    /// else what its register 0 holds now.
    abi::Status call(abi::Call number, std::vector<u64> arguments = {}, u32 hart = 0) {
        Port::Context& context = *running[hart];
        context.set_reg(0, abi::kCallBase + static_cast<Word>(number));
        for (unsigned place = 1; place < 8; ++place) {
            context.set_reg(
                place, place <= arguments.size() ? static_cast<Word>(arguments[place - 1]) : 0);
        }
        trap({.kind = TrapKind::call}, hart);
        return static_cast<abi::Status>(context.reg(0));
    }

    Word result(unsigned place = 1, u32 hart = 0) { return running[hart]->reg(place); }

    void trap(const Trap& trap, u32 hart = 0) {
        running[hart] = enter(kernel, HartIndex{hart}, trap);
    }

    /// Lets the clock run to the hart's timer and takes its interrupt.
    void fire_timer(u32 hart = 0) {
        Ticks armed = port.harts[hart].armed;
        ASSERT_NE(armed, kNever);
        if (port.clock < armed) port.clock = armed;
        trap({.kind = TrapKind::timer}, hart);
    }

    /// Writes a record into the calling thread's process by the kernel's own path, at the first
    /// page of a fresh mapping.
    u64 record_page(u32 hart = 0) {
        EXPECT_EQ(call(abi::Call::map_anon, {kPageSize, abi::kRead | abi::kWrite}, hart),
                  abi::Status::ok);
        return result(1, hart);
    }

    template <class T>
    void poke(u64 address, const T& value, u32 hart = 0) {
        Process& process = *thread(hart).process;
        MemoryContext memory = memory_of(kernel, kernel.harts[hart], process);
        ASSERT_EQ(copy_out(memory, static_cast<Word>(address), &value, sizeof value),
                  abi::Status::ok);
    }

    template <class T>
    T peek(u64 address, u32 hart = 0) {
        T value{};
        MemoryContext memory = memory_of(kernel, kernel.harts[hart], *thread(hart).process);
        EXPECT_EQ(copy_in(memory, &value, static_cast<Word>(address), sizeof value),
                  abi::Status::ok);
        return value;
    }

    /// Makes a budget with one process of one thread, and returns the budget's handle in the
    /// running thread's process.
    u64 spawn(u64 parent, u32 weight, u64 account = 0, u64 deadline = abi::kForever, u64 pages = 32,
              u64 processes = 1) {
        abi::BudgetSpec spec{.pages = pages,
                             .processes = processes,
                             .weight = weight,
                             .label_count = 0,
                             .labels = {},
                             .account = account,
                             .deadline = deadline};
        if (page_ == 0) page_ = record_page();
        poke(page_, spec);
        EXPECT_EQ(call(abi::Call::budget_create, {parent, page_}), abi::Status::ok);
        u64 budget = result();
        if (weight == 0) return budget;
        EXPECT_EQ(call(abi::Call::process_create, {budget, 0}), abi::Status::ok);
        u64 process = result();
        EXPECT_EQ(call(abi::Call::process_start, {process, 0x2000, 0, 0, 0, 0}), abi::Status::ok);
        EXPECT_EQ(call(abi::Call::handle_close, {process}), abi::Status::ok);
        return budget;
    }

    Port port;
    Kernel kernel;
    Port::Context* running[kMaxHarts] = {};

  private:
    u64 page_ = 0;
};

}  // namespace ravelin::test
