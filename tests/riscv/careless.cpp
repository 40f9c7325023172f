// Our firmware with the manners that others had when they start harts: refusals, harts that come late, and
// harts that come with the wrong address or argument, as OpenSBI before 1.2 may send them. The linker puts
// these functions around the firmware's own.
//
// Rule: what a hart does is fixed by its id, below. Hart 7 boots the kernel: hart 0, which the firmware chose,
// waits to be started like the others.

#include "port-riscv/firmware/firmware.h"

namespace ravelin::firmware {

namespace {

enum HartId : Word {
    kStartedAlready = 1,  ///< the firmware says so
    kBroken = 2,          ///< the start fails
    kLateInBoot = 3,      ///< long after the kernel's time-out, while it starts the others
    kAtTheEntry = 4,      ///< as if it were the boot hart
    kWrongArgument = 5,   ///< the tree where the kernel's own word should be
    kBoots = 7,
    kLateInRun = 6,  ///< just after the kernel's time-out, while programs run
};

/// Of QEMU's virt: its clock runs at 10 MHz. The kernel waits a second for a hart.
constexpr std::uint64_t kSecond = 10'000'000;
constexpr Word kTimeLow = BOARD_CLINT_BASE + 0xBFF8, kTimeHigh = kTimeLow + 4;

Word boot_tree;

std::uint64_t clock() noexcept {
    return read_halves([] { return device<std::uint32_t>(kTimeLow); },
                       [] { return device<std::uint32_t>(kTimeHigh); });
}

/// Halts for a time, with only the CLINT's timer to end it.
void pause(Word id, std::uint64_t ticks) noexcept {
    const Word compare = BOARD_CLINT_BASE + 0x4000 + id * 8;
    const std::uint64_t end = clock() + ticks;
    device<std::uint32_t>(compare + 4) = ~std::uint32_t{0};
    device<std::uint32_t>(compare) = static_cast<std::uint32_t>(end);
    device<std::uint32_t>(compare + 4) = static_cast<std::uint32_t>(end >> 32);
    const Word enabled = csr_read<kMie>();
    csr_write<kMie>(kMachineTimer);
    while (clock() < end)
        wait_for_interrupt();
    csr_write<kMie>(enabled);
    console_print(id == kLateInBoot ? "careless: late in boot\n" : "careless: late in the run\n");
}

[[noreturn]] void hand_boot_over(Word id) noexcept {
    Hart& chosen = harts[kBoots];
    chosen.start_address = FIRMWARE_NEXT_STAGE;
    chosen.opaque = boot_tree;
    chosen.state.store(RunState::ready);
    ring(kBoots);
    harts[id].state.store(RunState::stopped);
    wait_for_start(id);
}

}  // namespace

extern "C" {

[[noreturn]] void __real_firmware_enter_supervisor(Word address, Word id, Word opaque) noexcept;
void __real_firmware_trap(Frame& frame) noexcept;

[[noreturn]] void __wrap_firmware_enter_supervisor(Word address, Word id, Word opaque) noexcept {
    if (boot_tree == 0) {
        boot_tree = opaque;
        hand_boot_over(id);
    }
    if (id == kAtTheEntry) {
        address = FIRMWARE_NEXT_STAGE;
        opaque = boot_tree;
    } else if (id == kWrongArgument) {
        opaque = boot_tree;
    } else if (id == kLateInBoot) {
        pause(id, kSecond * 3 / 2);
    } else if (id == kLateInRun) {
        pause(id, kSecond * 51 / 50);
    }
    __real_firmware_enter_supervisor(address, id, opaque);
}

void __wrap_firmware_trap(Frame& frame) noexcept {
    constexpr Word kCallFromSupervisor = 9;
    const bool start = csr_read<kMcause>() == kCallFromSupervisor && frame.a[7] == sbi::kHsm &&
                       frame.a[6] == sbi::hsm::kStart;
    if (start && (frame.a[0] == kStartedAlready || frame.a[0] == kBroken)) {
        frame.a[0] = static_cast<Word>(frame.a[0] == kBroken ? sbi::Error::failed
                                                             : sbi::Error::already_available);
        frame.mepc += 4;
        return;
    }
    __real_firmware_trap(frame);
}
}

}  // namespace ravelin::firmware
