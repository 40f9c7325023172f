// libFuzzer target: the call decoder. Two harts' threads of four processes, in budgets with and without
// labels, trap with any registers and any bytes in their records; time passes, devices fire, accesses
// fault. After each entry the kernel's books must balance (tests/differential/kernel_view.h), and a
// refused call must have changed nothing. The kernel is a checked one: its assertions and audits run.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/assert.h"
#include "tests/differential/by_hand.h"
#include "tests/differential/kernel_view.h"
#include "tests/fuzz/bytes.h"

namespace ravelin {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    std::abort();
}

namespace {

using abi::Call;
using abi::Status;
using differential::ByHand;
using differential::View;
using fuzz::Bytes;

using Registers = std::array<u64, abi::kCallRegisters>;

constexpr Word kOwnPage = 0x2000'0000;  ///< where each process begins with kOwnPages of memory
constexpr u32 kOwnPages = 4;
constexpr u32 kMostSteps = 64;

[[noreturn]] void wrong(const std::string& what) {
    std::fprintf(stderr, "calls-fuzz: %s\n", what.c_str());
    std::abort();
}

class World : public ByHand {
  public:
    World() : ByHand(2) {
        first_ = thread(0);
        make(Call::map_anon, {16 * kPageSize, abi::kRead | abi::kWrite});
        page_ = result();
        make(Call::endpoint_create, {});
        const u64 endpoint = result();
        make(Call::mint, {static_cast<u64>(abi::MintSource::handle), endpoint, 0, 9});
        const u64 minted = result();
        const u64 labelled = budget(abi::kBootUsers, 6, 1);
        const u64 plain = budget(abi::kBootUsers, 0, 0);
        const u64 trusted = budget(abi::kBootSystem, 0, 0);
        for (const u64 in : {labelled, plain, trusted})
            process(in, endpoint, {endpoint, minted, in, abi::kBootDevices, abi::kBootDevices + 1});
    }

    void step(Bytes& bytes) {
        const u8 kind = bytes.byte();
        const u32 hart = kind >> 7;
        // What is due is answered first, so that a refused call is seen to change nothing.
        enter(hart, {.kind = TrapKind::kick});
        if (thread(hart) == nullptr) {
            if (!next_timer()) port.clock += Ticks{kTicksPerMs};
            return;
        }
        switch (kind % 16) {
        case 0: return pass(hart, bytes);
        case 1: return fault(hart, bytes);
        case 2: return interrupt(hart);
        case 3:
        case 4: return poke(hart, bytes);
        default: return call(hart, bytes);
        }
    }

  private:
    static constexpr u64 kTicksPerMs = 10'000;

    void make(Call number, std::initializer_list<u64> arguments) {
        Registers registers{};
        registers[0] = abi::kCallBase + static_cast<u64>(number);
        unsigned place = 0;
        for (const u64 argument : arguments)
            registers[++place] = argument;
        ByHand::call(0, registers);
        follow();
        if (thread(0) != first_ || running[0]->reg(0) != 0) wrong("the world cannot be made");
    }
    u64 result() { return running[0]->reg(1); }

    template <class T>
    void put(Process& process, u64 address, const T& value) {
        static_cast<void>(
            copy_out(memory(process), static_cast<Word>(address), &value, sizeof value));
    }

    u64 budget(u64 parent, u64 account, u64 labels) {
        const abi::BudgetSpec spec{.pages = 96,
                                   .processes = 4,
                                   .weight = 1000,
                                   .label_count = labels,
                                   .labels = {7},
                                   .account = account,
                                   .deadline = abi::kForever};
        put(*first_->process, page_, spec);
        make(Call::budget_create, {parent, page_});
        return result();
    }

    void process(u64 in, u64 exits, const std::array<u64, 5>& handles) {
        make(Call::process_create, {in, exits});
        const u64 made = result();
        make(Call::map_anon, {kOwnPages * kPageSize, abi::kRead | abi::kWrite});
        make(Call::process_map,
             {made, result(), kOwnPage, kOwnPages * kPageSize, abi::kRead | abi::kWrite});
        put(*first_->process, page_, handles);
        make(Call::process_start, {made, 0x2000, 0, 0, page_, handles.size()});
    }

    void pass(u32 hart, Bytes& bytes) {
        port.clock += Ticks{u64{bytes.byte()} * 100};
        enter(hart, {.kind = TrapKind::timer});
        check();
    }

    void fault(u32 hart, Bytes& bytes) {
        const u64 address = value(bytes);
        enter(hart, {.kind = TrapKind::fault,
                     .fault = static_cast<FaultKind>(bytes.byte() % 4),
                     .address = static_cast<Word>(address)});
        check();
    }

    void interrupt(u32 hart) {
        port.pending[differential::kDeviceSource] = true;
        enter(hart, {.kind = TrapKind::external});
        check();
    }

    // Slots of a record in the process's memory.
    void poke(u32 hart, Bytes& bytes) {
        const u64 address = kOwnPage + 8 * u64{bytes.byte()};
        for (u32 slots = bytes.byte() % 32, slot = 0; slot < slots; ++slot)
            put(*thread(hart)->process, address + 8 * slot, value(bytes));
    }

    static u64 value(Bytes& bytes) {
        static constexpr u64 kEdges[] = {0,
                                         kOwnPage,
                                         kOwnPage + 8,
                                         kOwnPage + kPageSize,
                                         kOwnPage + kPageSize - 8,
                                         kOwnPage + kOwnPages * kPageSize - 8,
                                         kAnonBase,
                                         kAnonBase + kPageSize,
                                         kMessageBase,
                                         kPageSize,
                                         2 * kPageSize,
                                         Port::Format::kUserEnd - kPageSize,
                                         Port::Format::kUserEnd,
                                         ~u64{0} - kPageSize + 1,
                                         ~u64{0} - 7,
                                         ~u64{0},
                                         abi::kMaxHandles - 1,
                                         abi::kMaxHandles,
                                         abi::kMaxStartHandles,
                                         abi::kMaxStartHandles + 1,
                                         ~u32{0},
                                         u64{1} << 32,
                                         u64{1} << 63,
                                         1000};
        const u8 tag = bytes.byte();
        if (tag < 128) return tag;
        if (tag < 240) return kEdges[tag % std::size(kEdges)];
        return bytes.word();
    }

    void call(u32 hart, Bytes& bytes) {
        Registers registers{};
        const u8 number = bytes.byte();
        registers[0] = number < 0xf0 ? abi::kCallBase + number % 32 : bytes.word();
        for (unsigned place = 1; place < abi::kWordRegister; ++place)
            registers[place] = value(bytes);
        registers[abi::kWordRegister] = bytes.byte();
        registers[abi::kMessageRegister] = bytes.byte();
        if (ends_machine(hart, registers)) return;
        const View before = differential::view_of(kernel);
        const u64 last_id = kernel.last_id;
        const Thread* caller = thread(hart);
        const u64 caller_id = caller->head.id;
        ByHand::call(hart, registers);
        check();
        judge(registers, before, last_id, *caller, caller_id);
        follow();
        check();
    }

    // The call is over and no other hart has entered yet.
    void judge(const Registers& registers, const View& before, u64 last_id, const Thread& caller,
               u64 caller_id) {
        if (kernel.last_id < last_id) wrong("an id was given twice (I12)");
        if (caller.head.id != caller_id || caller.state == ThreadState::waiting) return;
        const auto status = static_cast<Status>(caller.context.reg(0));
        if (!abi::may_give(static_cast<Word>(registers[0]), status))
            wrong("a status that is not in the call's row");
        if (may_change(registers[0], status, caller.context.reg(3))) return;
        const std::string difference = before.difference(differential::view_of(kernel));
        if (!difference.empty()) wrong("a refused call changed something: " + difference);
    }

    // What a call that met other threads may have done to them before it was refused.
    static bool may_change(u64 number, Status status, u64 replied) {
        if (status == Status::ok) return true;
        if (number <= abi::kCallBase || number > abi::kCallBase + abi::kCallCount) return false;
        switch (static_cast<Call>(number - abi::kCallBase)) {
        case Call::call:
        case Call::send:
            return status == Status::invalid_argument || status == Status::label_denied ||
                   status == Status::refused || status == Status::timeout || status == Status::busy;
        case Call::reply_receive:
            if (replied != 0) return true;
            [[fallthrough]];
        case Call::receive: return status == Status::invalid_argument || status == Status::timeout;
        default: return false;
        }
    }

    void check() {
        const std::string broken = differential::broken_law(kernel);
        if (!broken.empty()) wrong(broken);
    }

    Thread* first_ = nullptr;
    u64 page_ = 0;
};

}  // namespace
}  // namespace ravelin

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ravelin;
    World world;
    Bytes bytes(data, size);
    for (u32 step = 0; step < kMostSteps && !bytes.empty(); ++step)
        world.step(bytes);
    return 0;
}
