// Ticks of the hosted port's timebase as the host counts time: seconds, and nanoseconds below a second.
#pragma once

#include <ctime>

#include "core/types.h"
#include "ravelin_hosted.h"

namespace ravelin::hosted {

inline constexpr u64 kTickNanos = 1'000'000'000 / kTimebase;

/// The host's time at a tick.
constexpr timespec host_time(u64 ticks) noexcept {
    return {.tv_sec = static_cast<time_t>(ticks / kTimebase),
            .tv_nsec = static_cast<long>(ticks % kTimebase * kTickNanos)};
}

/// The last tick that has begun at the host's time.
constexpr u64 ticks_of(const timespec& time) noexcept {
    return static_cast<u64>(time.tv_sec) * kTimebase + static_cast<u64>(time.tv_nsec) / kTickNanos;
}

}  // namespace ravelin::hosted
