// The goldfish real-time clock: a clock in nanoseconds and one alarm, which fires an interrupt once and
// holds its line until it is cleared; and the role of a driver that waits for it.
#pragma once

#include "user/rt/trap.h"
#include "user/workload/launcher.h"

namespace ravelin::workload {

class Alarm {
  public:
    /// Registers at the address that map_device gave. Lets the alarm interrupt.
    explicit Alarm(Word registers) : registers_(registers) { write(kInterruptEnabled, 1); }

    /// Nanoseconds.
    u64 now() const {
        const u32 low = rt::read_register(registers_ + kTimeLow);
        return low | u64{rt::read_register(registers_ + kTimeHigh)} << 32;
    }

    /// Sets the alarm; one that is past fires at once.
    void set(u64 when) {
        write(kAlarmHigh, static_cast<u32>(when >> 32));
        write(kAlarmLow, static_cast<u32>(when));
    }

    /// Lets the line fall.
    void clear() { write(kClearInterrupt, 1); }

  private:
    static constexpr Word kTimeLow = 0x00, kTimeHigh = 0x04, kAlarmLow = 0x08, kAlarmHigh = 0x0c,
                          kInterruptEnabled = 0x10, kClearInterrupt = 0x1c;

    void write(Word offset, u32 value) { rt::write_register(registers_ + offset, value); }

    Word registers_;
};

/// Waits for alarms about two milliseconds ahead, each at another phase of a slice, from ten milliseconds
/// behind the window's start on, and reports how many. Every one must come: a receive that times out
/// fails the child. Role handles: the clock's registers and its interrupt.
///   0 alarms
void drive(Child& child);

/// Starts a child that plays `drive` with the board's clock.
inline void start_driver(Launcher& launcher, const rt::Budget& budget, u64 alarms) {
    constexpr auto kClock = abi::DeviceModel::goldfish_rtc;
    launcher.start<drive>(budget, {alarms},
                          {launcher.device(abi::DeviceKind::mmio, kClock),
                           launcher.device(abi::DeviceKind::interrupt, kClock)});
}

}  // namespace ravelin::workload
