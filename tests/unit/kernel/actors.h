// Threads of several processes that a test plays in any order: a machine with a hart for each.
#pragma once

#include <array>

#include "core/memory/table.h"
#include "core/object/handle.h"
#include "core/object/shootdown.h"
#include "tests/unit/kernel/machine.h"

namespace ravelin::test {

/// What a call left in a thread's registers.
struct Given {
    abi::Status status{};
    std::array<u64, abi::kCallRegisters> at{};

    u64 pair(unsigned place) const {
        return sizeof(Word) == 8 ? at[place] : at[place] | at[place + 1] << 32;
    }
    u64 word(unsigned index) const { return pair(abi::kWordRegister + 2 * index); }
    u64 message() const { return pair(abi::kMessageRegister); }
    u64 badge() const { return pair(abi::kBadgeRegister); }
    u64 account() const { return pair(abi::kAccountRegister); }
};

class Actors : public Machine {
  public:
    Actors() : Machine(kMaxHarts) {
        // While one hart waits for others to answer a shootdown, they do.
        port.on_wait_data = &kernel;
        port.on_wait = [](Port& machine, HartIndex) {
            auto& waited = *static_cast<Kernel*>(machine.on_wait_data);
            for (Hart& hart : waited.harts)
                serve_shootdown(waited, hart);
        };
        for (u32 hart = 1; hart < kMaxHarts; ++hart)
            running[hart] = hart_online(kernel, HartIndex{hart});
        first_ = &thread_of(*running[0]);
        root_page_ = map(*first_);
    }

    /// The first program's thread, in root's budget.
    Thread& first() { return *first_; }

    /// A page of the process's own memory, readable and writable.
    u64 map(Thread& thread, u32 pages = 1) {
        Given given =
            run(thread, abi::Call::map_anon, {u64{pages} * kPageSize, abi::kRead | abi::kWrite});
        EXPECT_EQ(given.status, abi::Status::ok);
        return given.at[1];
    }

    /// A budget below the one that handle `parent` of the first program names: gives its handle.
    u64 budget(u64 parent, const abi::BudgetSpec& spec) {
        put(first(), root_page_, spec);
        Given given = run(first(), abi::Call::budget_create, {parent, root_page_});
        EXPECT_EQ(given.status, abi::Status::ok);
        return given.at[1];
    }

    static abi::BudgetSpec spec(u64 account = 0, std::vector<u64> labels = {}, u64 pages = 64) {
        abi::BudgetSpec made{};
        made.pages = pages;
        made.processes = 2;
        made.weight = 100;
        made.account = account;
        made.deadline = abi::kForever;
        made.label_count = labels.size();
        for (std::size_t i = 0; i < labels.size(); ++i)
            made.labels[i] = labels[i];
        return made;
    }

    /// A process in the budget, with copies of the first program's `handles`, whose first thread runs.
    Thread& process(u64 budget, std::vector<u64> handles = {}, u64 exits = 0) {
        Given made = run(first(), abi::Call::process_create, {budget, exits});
        EXPECT_EQ(made.status, abi::Status::ok);
        HandleSlot* slot = find_handle(*first().process, static_cast<Word>(made.at[1]));
        auto& process = *reinterpret_cast<Process*>(slot->object);
        for (std::size_t i = 0; i < handles.size(); ++i)
            put(first(), root_page_ + 8 * i, handles[i]);
        Given started = run(first(), abi::Call::process_start,
                            {made.at[1], 0x2000, 0, 0, root_page_, handles.size()});
        EXPECT_EQ(started.status, abi::Status::ok);
        return *process.threads[1];
    }

    /// Another thread of a thread's process.
    Thread& beside(Thread& thread) {
        Given given = run(thread, abi::Call::thread_create, {0x3000, 0, 0});
        EXPECT_EQ(given.status, abi::Status::ok);
        return *thread.process->threads[given.at[1]];
    }

    /// The thread makes a call. Call registers 8 and up come from `words` and `message`.
    void make(Thread& thread, abi::Call number, std::vector<u64> arguments = {},
              std::array<u64, 4> words = {}, u64 message = 0) {
        make_raw(thread, abi::kCallBase + static_cast<u64>(number), arguments, words, message);
    }

    void make_raw(Thread& thread, u64 number, std::vector<u64> arguments = {},
                  std::array<u64, 4> words = {}, u64 message = 0) {
        u32 hart = hart_of(thread);
        Port::Context& context = thread.context;
        context.set_reg(0, static_cast<Word>(number));
        for (unsigned place = 1; place < abi::kWordRegister; ++place)
            context.set_reg(
                place, place <= arguments.size() ? static_cast<Word>(arguments[place - 1]) : 0);
        for (unsigned index = 0; index < words.size(); ++index)
            write_pair(context, abi::kWordRegister + 2 * index, words[index]);
        write_pair(context, abi::kMessageRegister, message);
        trap({.kind = TrapKind::call}, hart);
    }

    /// The same, and what it gave, which is there at once.
    Given run(Thread& thread, abi::Call number, std::vector<u64> arguments = {},
              std::array<u64, 4> words = {}, u64 message = 0) {
        make(thread, number, arguments, words, message);
        return given(thread);
    }

    /// What the thread's last call gave; it must have ended.
    Given given(Thread& thread) {
        EXPECT_NE(thread.state, ThreadState::waiting) << "it waits still";
        Given result;
        result.status = static_cast<abi::Status>(thread.context.reg(0));
        for (unsigned place = 0; place < abi::kCallRegisters; ++place)
            result.at[place] = thread.context.reg(place);
        return result;
    }

    bool waits(const Thread& thread) const { return thread.state == ThreadState::waiting; }

    /// Lets time pass, and every timer with it.
    void pass(u64 micros) {
        port.clock += Ticks{micros * 10};
        for (u32 hart = 0; hart < kMaxHarts; ++hart)
            trap({.kind = TrapKind::timer}, hart);
    }

    template <class T>
    void put(Thread& thread, u64 address, const T& value) {
        MemoryContext memory = memory_of(kernel, kernel.harts[0], *thread.process);
        ASSERT_EQ(copy_out(memory, static_cast<Word>(address), &value, sizeof value),
                  abi::Status::ok);
    }

    template <class T>
    T get(Thread& thread, u64 address) {
        T value{};
        MemoryContext memory = memory_of(kernel, kernel.harts[0], *thread.process);
        EXPECT_EQ(copy_in(memory, &value, static_cast<Word>(address), sizeof value),
                  abi::Status::ok);
        return value;
    }

    bool reaches(Thread& thread, u64 address, u32 right = abi::kWrite) {
        return permits(memory_of(kernel, kernel.harts[0], *thread.process),
                       static_cast<Word>(address), right);
    }

    /// What the thread reads at an address, borrowed or not; 0 if it cannot.
    u64 seen(Thread& thread, u64 address) {
        if (!reaches(thread, address, abi::kRead)) return 0;
        const Tables<Port::Format> tables(port, kernel.frames, thread.process->space.root);
        const auto leaf = tables.find(static_cast<u32>(address / kPageSize));
        u64 value = 0;
        __builtin_memcpy(&value,
                         static_cast<const char*>(port.frame_pointer(Port::Format::frame(leaf))) +
                             address % kPageSize,
                         sizeof value);
        return value;
    }

    /// The body record with these handles, at `address` of the thread's memory.
    void put_body(Thread& thread, u64 address, std::vector<u64> handles) {
        abi::Body body{};
        body.handle_count = handles.size();
        for (std::size_t i = 0; i < handles.size() && i < abi::kMaxMessageHandles; ++i)
            body.handles[i] = handles[i];
        put(thread, address, body);
    }

    /// The object that a handle of the thread's process names, or null.
    ObjectHead* names(Thread& thread, u64 handle) {
        HandleSlot* slot = find_handle(*thread.process, static_cast<Word>(handle));
        return slot == nullptr ? nullptr : slot->object;
    }

  private:
    // The hart that runs the thread, which is ready.
    u32 hart_of(Thread& thread) {
        for (u32 turn = 0; turn < 2 * kMaxHarts; ++turn) {
            for (u32 hart = 0; hart < kMaxHarts; ++hart) {
                if (running[hart] == &thread.context) return hart;
            }
            for (u32 hart = 0; hart < kMaxHarts; ++hart) {
                if (running[hart] == nullptr) trap({.kind = TrapKind::kick}, hart);
            }
        }
        ADD_FAILURE() << "the thread does not run";
        return 0;
    }

    Thread* first_ = nullptr;
    u64 root_page_ = 0;
};

}  // namespace ravelin::test
