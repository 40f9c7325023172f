// The machine's real-time clock: the registers of a goldfish RTC over the machine's own clock, with one
// alarm, whose line is that of an interrupt source.
//
// A time is nanoseconds since kEpoch's zero. Reading the low half keeps the high half for the next read
// of it. Writing the low half of the alarm arms it with the high half written before; one that is due
// fires at once. It fires once; the line stays high until the interrupt is cleared or disabled.
// The machine calls elapse when it is due. Invariant: the line is that of the registers whenever the
// lock is free. Bound: constant; one lock, held for a few instructions.
#pragma once

#include <mutex>

#include "port-hosted/source/interrupts.h"

namespace ravelin::hosted {

class Rtc {
  public:
    /// What the clock shows at tick 0 of the machine: 2020-09-13, so that nobody takes it for a count.
    static constexpr u64 kEpoch = 1'600'000'000'000'000'000;

    /// Nanoseconds a tick of the machine.
    static constexpr u64 kNanos = 100;

    static constexpr u32 kTimeLow = 0x00, kTimeHigh = 0x04, kAlarmLow = 0x08, kAlarmHigh = 0x0c,
                         kInterruptEnabled = 0x10, kClearAlarm = 0x14, kAlarmStatus = 0x18,
                         kClearInterrupt = 0x1c;

    Rtc(Interrupts& interrupts, u32 source) : interrupts_(interrupts), source_(source) {}

    u32 read(u32 offset, u64 now) {
        std::lock_guard hold(mutex_);
        switch (offset) {
        case kTimeLow: {
            const u64 time = time_of(now);
            high_ = static_cast<u32>(time >> 32);
            return static_cast<u32>(time);
        }
        case kTimeHigh: return high_;
        case kAlarmLow: return static_cast<u32>(alarm_);
        case kAlarmHigh: return static_cast<u32>(alarm_ >> 32);
        case kInterruptEnabled: return enabled_ ? 1 : 0;
        case kAlarmStatus: return armed_ ? 1 : 0;
        default: return 0;
        }
    }

    void write(u32 offset, u32 value, u64 now) {
        std::lock_guard hold(mutex_);
        constexpr u64 kLow = 0xffff'ffff;
        switch (offset) {
        case kAlarmLow:
            alarm_ = (alarm_ & ~kLow) | value;
            armed_ = true;
            fire_if_due(now);
            break;
        case kAlarmHigh: alarm_ = (alarm_ & kLow) | u64{value} << 32; break;
        case kInterruptEnabled: enabled_ = (value & 1) != 0; break;
        case kClearAlarm: armed_ = false; break;
        case kClearInterrupt: pending_ = false; break;
        default: return;
        }
        drive();
    }

    /// Fires the alarm if it is due at `now`.
    void elapse(u64 now) {
        std::lock_guard hold(mutex_);
        fire_if_due(now);
        drive();
    }

    /// The tick at which the armed alarm is due, rounded up; kNever's value: none is armed.
    u64 due() {
        std::lock_guard hold(mutex_);
        if (!armed_) {
            return kNever.value;
        }
        return alarm_ <= kEpoch ? 0 : (alarm_ - kEpoch + kNanos - 1) / kNanos;
    }

  private:
    static u64 time_of(u64 tick) { return kEpoch + tick * kNanos; }

    void fire_if_due(u64 now) {
        if (armed_ && alarm_ <= time_of(now)) {
            armed_ = false;
            pending_ = true;
        }
    }

    void drive() { interrupts_.set_line(source_, pending_ && enabled_); }

    Interrupts& interrupts_;
    u32 source_;
    std::mutex mutex_;
    u64 alarm_ = 0;
    u32 high_ = 0;
    bool armed_ = false, enabled_ = false, pending_ = false;
};

}  // namespace ravelin::hosted
