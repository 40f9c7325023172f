// Device objects: who may do what with which handle, and the order of an interrupt's steps (R5, R18).
#include "core/object/handle.h"
#include "tests/unit/kernel/machine.h"

namespace ravelin::test {
namespace {

using abi::Call;
using abi::Received;
using abi::Status;

constexpr u32 kSource = 11;
constexpr u32 kOther = 12;
constexpr u64 kWindow = u64{0x9000'0000} * kPageSize;

// Handles of the first program, in the order of the board's devices below.
constexpr u64 kRegisters = abi::kBootDevices;
constexpr u64 kInterrupt = abi::kBootDevices + 1;
constexpr u64 kOtherInterrupt = abi::kBootDevices + 2;
constexpr u64 kNothing = abi::kBootDevices + 3;

const DeviceFact kDevices[] = {
    {.kind = DeviceKind::mmio, .model = DeviceModel::goldfish_rtc, .address = kWindow, .pages = 2},
    {.kind = DeviceKind::interrupt, .model = DeviceModel::goldfish_rtc, .source = kSource},
    {.kind = DeviceKind::reset},
    {.kind = DeviceKind::interrupt, .source = kOther},
};

class Devices : public testing::Test {
  protected:
    explicit Devices(u32 harts = 1) : machine(harts, 1024, kDevices) {}

    /// The device's line rises and a hart takes what the controller has.
    void interrupt(u32 source = kSource, u32 hart = 0) {
        port().pending[source] = true;
        machine.trap({.kind = TrapKind::external}, hart);
    }

    Status receive(u64 handle, u64 timeout = ~u64{0}, u32 hart = 0) {
        return machine.call(Call::receive, {handle, timeout, timeout}, hart);
    }

    /// A hart comes online and runs what waits.
    void bring_online(u32 hart) { machine.running[hart] = hart_online(kernel(), {hart}); }

    Port& port() { return machine.port; }
    Kernel& kernel() { return machine.kernel; }
    Device& device(u64 handle) {
        return *reinterpret_cast<Device*>(
            find_handle(*machine.thread().process, static_cast<Word>(handle))->object);
    }

    Machine machine;
};

TEST_F(Devices, AreToldApartByTheFirstProgram) {
    ASSERT_EQ(machine.call(Call::device_info, {abi::kBootReset}), Status::ok);
    EXPECT_EQ(machine.result(1), static_cast<Word>(DeviceKind::reset));
    ASSERT_EQ(machine.call(Call::device_info, {kRegisters}), Status::ok);
    EXPECT_EQ(machine.result(1), static_cast<Word>(DeviceKind::mmio));
    EXPECT_EQ(machine.result(2), static_cast<Word>(DeviceModel::goldfish_rtc));
    EXPECT_EQ(read_pair(*machine.running[0], 3), kWindow);
    EXPECT_EQ(machine.result(5), 2u);
    ASSERT_EQ(machine.call(Call::device_info, {kInterrupt}), Status::ok);
    EXPECT_EQ(machine.result(1), static_cast<Word>(DeviceKind::interrupt));
    EXPECT_EQ(read_pair(*machine.running[0], 3), kSource);
    EXPECT_EQ(machine.call(Call::device_info, {kNothing}), Status::bad_handle);
    EXPECT_EQ(machine.call(Call::device_info, {abi::kBootRoot}), Status::wrong_object);
}

TEST_F(Devices, AreChargedToTheSystemBudget) {
    EXPECT_EQ(kernel().system->pages_used, 4u);
    EXPECT_EQ(device(kInterrupt).owner, kernel().system);
}

TEST_F(Devices, OnlyAWindowIsMapped) {
    EXPECT_EQ(machine.call(Call::map_device, {kInterrupt}), Status::wrong_object);
    EXPECT_EQ(machine.call(Call::map_device, {abi::kBootReset}), Status::wrong_object);
    EXPECT_EQ(machine.call(Call::map_device, {abi::kBootUsers}), Status::wrong_object);
    EXPECT_EQ(machine.call(Call::map_device, {kNothing}), Status::bad_handle);
    EXPECT_EQ(machine.call(Call::dma_alloc, {kRegisters, 1}), Status::wrong_object);
    ASSERT_EQ(machine.call(Call::map_device, {kRegisters}), Status::ok);
    EXPECT_EQ(machine.result(2), 2 * kPageSize);
}

TEST_F(Devices, AWindowIsReadWriteAndNothingElse) {
    u32 frames = kernel().frames.free();
    u32 used = kernel().root->pages_used;
    ASSERT_EQ(machine.call(Call::map_device, {kRegisters}), Status::ok);
    const Word at = machine.result(1);
    MemoryContext memory = memory_of(kernel(), kernel().harts[0], *machine.thread().process);
    EXPECT_TRUE(permits(memory, at, abi::kRead | abi::kWrite));
    EXPECT_FALSE(permits(memory, at, abi::kExecute));
    EXPECT_EQ(machine.call(Call::set_flags, {at, kPageSize, abi::kRead | abi::kExecute}),
              Status::invalid_argument);
    // No record lies in it, and it does not move to another process.
    EXPECT_EQ(machine.call(Call::budget_usage, {abi::kBootUsers, at}), Status::invalid_argument);
    const u64 budget = machine.spawn(abi::kBootUsers, 10, 0, abi::kForever, 32, 2);
    ASSERT_EQ(machine.call(Call::process_create, {budget, 0}), Status::ok);
    const u64 process = machine.result();
    EXPECT_EQ(machine.call(Call::process_map, {process, at, 0x10000, kPageSize, abi::kRead}),
              Status::invalid_argument);
    ASSERT_EQ(machine.call(Call::budget_destroy, {budget}), Status::ok);
    // The mapping outlives the handle; unmapped, nothing of it is left and its frames are not RAM.
    ASSERT_EQ(machine.call(Call::handle_close, {kRegisters}), Status::ok);
    EXPECT_TRUE(permits(memory, at + kPageSize, abi::kWrite));
    ASSERT_EQ(machine.call(Call::unmap, {at, 2 * kPageSize}), Status::ok);
    EXPECT_FALSE(permits(memory, at, abi::kRead));
    EXPECT_EQ(machine.call(Call::unmap, {at, kPageSize}), Status::invalid_argument);
    // What is left beside is the page that spawn wrote its record in, with its tables.
    EXPECT_EQ(frames - kernel().frames.free(), kernel().root->pages_used - used);
}

TEST_F(Devices, AWindowNeedsRoomForItsTables) {
    Budget& root = *kernel().root;
    const u32 limit = root.page_limit;
    root.page_limit = root.pages_used;
    EXPECT_EQ(machine.call(Call::map_device, {kRegisters}), Status::out_of_memory);
    root.page_limit = limit;
    EXPECT_EQ(machine.call(Call::map_device, {kRegisters}), Status::ok);
}

TEST_F(Devices, OnlyAnInterruptIsReceivedOn) {
    EXPECT_EQ(receive(kNothing), Status::bad_handle);
    EXPECT_EQ(receive(kRegisters), Status::wrong_object);
    EXPECT_EQ(receive(abi::kBootReset), Status::wrong_object);
    EXPECT_EQ(machine.call(Call::receive, {kInterrupt, 0, 0, 0x1000}), Status::invalid_argument);
    EXPECT_FALSE(port().enabled[kSource]) << "a refused receive unmasks nothing";
    EXPECT_EQ(machine.call(Call::send, {kInterrupt}), Status::wrong_object);
    EXPECT_EQ(machine.call(Call::mint, {2, kInterrupt, 0, 1, 0, 0}), Status::wrong_object);
    EXPECT_EQ(machine.call(Call::system_reset, {kInterrupt, 1}), Status::wrong_object);
}

TEST_F(Devices, StartMaskedAndAnInterruptBeforeTheFirstReceiveIsKeptByTheController) {
    EXPECT_FALSE(port().enabled[kSource]);
    interrupt();
    EXPECT_FALSE(device(kInterrupt).fired);
    EXPECT_EQ(receive(kInterrupt, 0), Status::timeout);
    EXPECT_TRUE(port().enabled[kSource]);
    machine.trap({.kind = TrapKind::external});
    EXPECT_TRUE(device(kInterrupt).fired);
}

// R5: completed while enabled, else the controller would ignore it and the source be stuck; then masked.
TEST_F(Devices, AnInterruptIsCompletedThenMasked) {
    ASSERT_EQ(receive(kInterrupt, 0), Status::timeout);
    interrupt();
    EXPECT_FALSE(port().claimed[kSource]);
    EXPECT_FALSE(port().enabled[kSource]);
    EXPECT_TRUE(device(kInterrupt).fired);
    // Masked until the next receive, which takes what fired and unmasks.
    port().pending[kSource] = true;
    EXPECT_EQ(port().claim({}), 0u);
    ASSERT_EQ(receive(kInterrupt, 0), Status::ok);
    EXPECT_EQ(machine.result(), static_cast<Word>(Received::interrupt));
    EXPECT_TRUE(port().enabled[kSource]);
    EXPECT_FALSE(device(kInterrupt).fired);
    machine.trap({.kind = TrapKind::external});
    ASSERT_EQ(receive(kInterrupt, 0), Status::ok);
    ASSERT_EQ(receive(kInterrupt, 0), Status::timeout);
}

TEST_F(Devices, AnInterruptWakesItsReceiverAndMasks) {
    Port::Context* driver = machine.running[0];
    receive(kInterrupt);
    EXPECT_EQ(machine.running[0], nullptr);
    EXPECT_TRUE(port().enabled[kSource]);
    interrupt();
    ASSERT_EQ(machine.running[0], driver);
    EXPECT_EQ(static_cast<Status>(machine.result(0)), Status::ok);
    EXPECT_EQ(machine.result(), static_cast<Word>(Received::interrupt));
    EXPECT_FALSE(port().enabled[kSource]);
    EXPECT_FALSE(device(kInterrupt).fired);
    EXPECT_TRUE(device(kInterrupt).waiters.empty());
}

TEST_F(Devices, AReceiveEndsAtItsTimeout) {
    receive(kInterrupt, 100);
    ASSERT_EQ(machine.running[0], nullptr);
    machine.fire_timer();
    ASSERT_NE(machine.running[0], nullptr);
    EXPECT_EQ(static_cast<Status>(machine.result(0)), Status::timeout);
    EXPECT_TRUE(device(kInterrupt).waiters.empty());
    interrupt();
    EXPECT_TRUE(device(kInterrupt).fired);
}

TEST_F(Devices, AnInterruptOnlyWakes) {
    machine.spawn(abi::kBootUsers, 100);
    Thread& driver = machine.thread();
    receive(kInterrupt);
    Port::Context* spinner = machine.running[0];
    ASSERT_NE(spinner, nullptr);
    interrupt();
    EXPECT_EQ(machine.running[0], spinner);
    EXPECT_EQ(driver.state, ThreadState::ready);
    machine.fire_timer();
    EXPECT_EQ(machine.running[0], &driver.context);
}

// Each takes one interrupt: the source is masked until somebody receives again.
TEST_F(Devices, TwoReceiversAreServedInTurn) {
    ASSERT_EQ(machine.call(Call::thread_create, {0x3000, 0, 0}), Status::ok);
    Thread& first = machine.thread();
    receive(kInterrupt);
    Thread& second = machine.thread();
    ASSERT_NE(&second, &first);
    receive(kInterrupt);
    ASSERT_EQ(machine.running[0], nullptr);
    interrupt();
    EXPECT_EQ(machine.running[0], &first.context);
    EXPECT_EQ(second.wait.kind, WaitKind::interrupt);
    port().pending[kSource] = true;
    EXPECT_EQ(port().claim({}), 0u);
    receive(kInterrupt);
    ASSERT_EQ(machine.running[0], nullptr);
    interrupt();
    EXPECT_EQ(machine.running[0], &second.context);
    EXPECT_EQ(first.wait.kind, WaitKind::interrupt);
}

TEST_F(Devices, AReceiverThatEndsLeavesTheInterruptToTheNext) {
    ASSERT_EQ(machine.call(Call::thread_create, {0x3000, 0, 0}), Status::ok);
    receive(kInterrupt);
    ASSERT_NE(machine.running[0], nullptr);
    // The other thread's fault ends the process and with it the receiver.
    machine.trap({.kind = TrapKind::fault});
    EXPECT_EQ(machine.running[0], nullptr);
    EXPECT_TRUE(kernel().sources[kSource]->waiters.empty());
    interrupt();
    EXPECT_TRUE(kernel().sources[kSource]->fired);
}

TEST_F(Devices, ASourceThatNobodyOwnsIsMaskedForGood) {
    port().enabled[40] = true;
    interrupt(40);
    EXPECT_FALSE(port().claimed[40]);
    EXPECT_FALSE(port().enabled[40]);
}

TEST_F(Devices, SourcesAreApart) {
    ASSERT_EQ(receive(kInterrupt, 0), Status::timeout);
    ASSERT_EQ(receive(kOtherInterrupt, 0), Status::timeout);
    interrupt(kOther);
    EXPECT_TRUE(port().enabled[kSource]);
    EXPECT_EQ(receive(kInterrupt, 0), Status::timeout);
    EXPECT_EQ(receive(kOtherInterrupt, 0), Status::ok);
}

// --- the end of a device object: the system budget's destruction ---

TEST_F(Devices, EndWithTheSystemBudget) {
    const u32 root_used = kernel().root->pages_used;
    const u32 given = kernel().system->page_limit + 1;
    const u32 free = kernel().frames.free();
    ASSERT_EQ(receive(kInterrupt, 0), Status::timeout);
    ASSERT_EQ(machine.call(Call::map_device, {kRegisters}), Status::ok);
    const Word at = machine.result();
    const u32 mapped = free - kernel().frames.free();
    ASSERT_EQ(machine.call(Call::budget_destroy, {abi::kBootSystem}), Status::ok);
    EXPECT_FALSE(port().enabled[kSource]);
    EXPECT_EQ(kernel().sources[kSource], nullptr);
    EXPECT_EQ(receive(kInterrupt), Status::bad_handle);
    EXPECT_EQ(machine.call(Call::map_device, {kRegisters}), Status::bad_handle);
    EXPECT_EQ(machine.call(Call::system_reset, {abi::kBootReset, 1}), Status::bad_handle);
    // Four objects and the budget's own: what was charged has frames.
    EXPECT_EQ(kernel().frames.free(), free - mapped + 5);
    EXPECT_EQ(kernel().root->pages_used, root_used + mapped - given);
    MemoryContext memory = memory_of(kernel(), kernel().harts[0], *machine.thread().process);
    EXPECT_TRUE(permits(memory, at, abi::kRead));
}

TEST_F(Devices, EndWhileMasked) {
    ASSERT_EQ(receive(kInterrupt, 0), Status::timeout);
    interrupt();
    ASSERT_FALSE(port().enabled[kSource]);
    ASSERT_EQ(machine.call(Call::budget_destroy, {abi::kBootSystem}), Status::ok);
    EXPECT_FALSE(port().enabled[kSource]);
    EXPECT_EQ(kernel().sources[kSource], nullptr);
}

TEST_F(Devices, EndTheirReceivesWithDead) {
    ASSERT_EQ(machine.call(Call::thread_create, {0x3000, 0, 0}), Status::ok);
    Thread& waiter = machine.thread();
    receive(kInterrupt);
    ASSERT_NE(&machine.thread(), &waiter);
    ASSERT_EQ(machine.call(Call::budget_destroy, {abi::kBootSystem}), Status::ok);
    EXPECT_EQ(waiter.state, ThreadState::ready);
    EXPECT_EQ(static_cast<Status>(waiter.context.reg(0)), Status::dead);
    EXPECT_EQ(waiter.wait.kind, WaitKind::none);
}

class DevicesOnTwoHarts : public Devices {
  protected:
    DevicesOnTwoHarts() : Devices(2) {}
};

TEST_F(DevicesOnTwoHarts, OneHartClaimsAndTheOtherFindsNothing) {
    machine.spawn(abi::kBootUsers, 100);
    bring_online(1);
    ASSERT_NE(machine.running[1], nullptr);
    ASSERT_EQ(receive(kInterrupt, 0), Status::timeout);
    const U128 before = kernel().system->entity.pass;
    port().cost[static_cast<unsigned>(Work::entry)] = {100};
    interrupt(kSource, 1);
    const U128 claimed = kernel().system->entity.pass;
    EXPECT_GT(claimed, before) << "the owner pays";
    // The first program pays for its user time while the other hart was in the kernel, and no more.
    const Ticks user = kernel().harts[0].pending + Ticks{100};
    machine.trap({.kind = TrapKind::external}, 0);
    EXPECT_EQ(kernel().system->entity.pass, claimed) << "nobody pays for a lost claim";
    EXPECT_EQ(kernel().harts[0].pending, user);
    EXPECT_TRUE(device(kInterrupt).fired);
}

// The source is pending when its object goes, and a hart claims it behind that.
TEST_F(DevicesOnTwoHarts, AClaimBehindTheEndFindsNoObject) {
    machine.spawn(abi::kBootUsers, 100);
    bring_online(1);
    ASSERT_EQ(receive(kInterrupt, 0), Status::timeout);
    port().pending[kSource] = true;
    ASSERT_EQ(machine.call(Call::budget_destroy, {abi::kBootSystem}), Status::ok);
    machine.trap({.kind = TrapKind::external}, 1);
    EXPECT_FALSE(port().claimed[kSource]);
    EXPECT_TRUE(port().pending[kSource]) << "masked, it stays with the controller";
}

// --- who pays ---

TEST_F(Devices, TheOwnerPaysAndTheInterruptedDoesNot) {
    machine.spawn(abi::kBootUsers, 100);
    receive(kInterrupt);
    Budget* spinner = kernel().harts[0].runner;
    ASSERT_NE(spinner, nullptr);
    port().cost[static_cast<unsigned>(Work::entry)] = {100};
    const U128 owed = spinner->entity.pass;
    const Ticks pending = kernel().harts[0].pending;
    const U128 before = kernel().system->entity.pass;
    interrupt();
    EXPECT_EQ(kernel().harts[0].runner, spinner);
    EXPECT_EQ(kernel().harts[0].pending, pending);
    EXPECT_EQ(spinner->entity.pass, owed);
    EXPECT_EQ(kernel().system->entity.pass.minus(before),
              U128{(u64{100} << 20) / kernel().system->entity.weight});
}

TEST_F(Devices, ALostClaimBehindAnItemIsTheItemsPayers) {
    machine.spawn(abi::kBootUsers, 100);
    machine.call(Call::receive, {0, 100, 0});  // root sleeps
    Budget* spinner = kernel().harts[0].runner;
    ASSERT_NE(spinner, nullptr);
    port().clock += {2'000};
    port().cost[static_cast<unsigned>(Work::expiry)] = {50};
    port().cost[static_cast<unsigned>(Work::leave)] = {70};
    const Ticks pending = kernel().harts[0].pending + Ticks{2'000};
    const U128 before = kernel().root->entity.pass;
    machine.trap({.kind = TrapKind::external});
    EXPECT_EQ(kernel().harts[0].pending, pending);
    EXPECT_GT(kernel().root->entity.pass, before);
}

// --- boards that are refused ---

struct Refused {
    std::vector<DeviceFact> devices;
    const char* says;
};

class RefusedDevices : public testing::TestWithParam<Refused> {};

TEST_P(RefusedDevices, EndTheBootWithOneLine) {
    const Refused& refused = GetParam();
    EXPECT_EXIT(Machine(1, 1024, refused.devices), testing::ExitedWithCode(42), refused.says);
}

DeviceFact window(u64 address, u32 pages) {
    return {.kind = DeviceKind::mmio, .address = address, .pages = pages};
}

DeviceFact source(u32 number) {
    return {.kind = DeviceKind::interrupt, .source = number};
}

const DeviceFact kReset{.kind = DeviceKind::reset};

INSTANTIATE_TEST_SUITE_P(
    Boards, RefusedDevices,
    testing::Values(Refused{{window(kWindow, 1)}, "has no reset"},
                    Refused{{kReset, kReset}, "has no reset, or several"},
                    Refused{{kReset, window(kWindow, 0)}, "window is empty"},
                    Refused{{kReset, window(kWindow + 4, 1)}, "not whole pages"},
                    Refused{{kReset, window(0, 1)}, "at address 0"},
                    Refused{{kReset, window(~u64{0} - kPageSize + 1, 2)}, "out of reach"},
                    Refused{{kReset, window((u64{1} << 44) - kPageSize, 2)}, "out of reach"},
                    Refused{{kReset, window(kPageSize, 1)}, "overlaps RAM"},
                    Refused{{kReset, window(Port::kFrames* u64{kPageSize} - kPageSize, 1)},
                            "overlaps RAM"},
                    Refused{{kReset, window(kWindow, 2), window(kWindow + kPageSize, 1)},
                            "two device windows overlap"},
                    Refused{{kReset, source(0)}, "source is 0 or above"},
                    Refused{{kReset, source(1024)}, "source is 0 or above"},
                    Refused{{kReset, source(5), source(5)}, "one interrupt source"}));

TEST(AcceptedDevices, TheHighestSourceAndNeighbouringWindows) {
    const DeviceFact devices[] = {kReset, source(1023), window(kWindow, 2),
                                  window(kWindow + 2 * kPageSize, 1)};
    Machine machine(1, 1024, devices);
    EXPECT_NE(machine.kernel.sources[1023], nullptr);
}

}  // namespace
}  // namespace ravelin::test
