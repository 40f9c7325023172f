// A tiny scheduler that writes traces: what the oracle's tests judge, and what the bench's tests run
// in place of a kernel.
//
// It follows docs/scheduling.md at the grain of kernel entries, with its own arithmetic and tie counters,
// and shares nothing with the oracle but the record format. One script runs in a launcher thread of
// root; every other thread spins, or alternates bursts and sleeps. Time is virtual, costs are fixed
// numbers with a spread by seed, harts take the lock in the order of their traps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/abi/trace.h"

namespace ravelin::sim {

/// A thread of a budget: runs `burst` ticks, sleeps `nap` ticks, over and over; burst 0 spins for ever.
struct Behaviour {
    std::uint64_t burst = 0;
    std::uint64_t nap = 0;
};

// Steps of the launcher's script; each is one call. Budgets are told apart by name.
struct Create {
    std::string name;
    std::string parent;
    std::uint64_t weight = 0;
    std::uint16_t account = 0;
    std::uint64_t deadline = 0;  ///< ticks from now, 0: none
};
struct Spawn {
    std::string budget;
    Behaviour behaviour;
    std::uint32_t threads = 1;           ///< of one process
    std::vector<std::string> also = {};  ///< more budgets that get such a process in the same call
};
struct Destroy {
    std::string name;
};
struct Sleep {
    std::uint64_t ticks = 0;
};
using Step = std::variant<Create, Spawn, Destroy, Sleep>;

struct Plan {
    std::uint32_t harts = 1;
    std::uint64_t seed = 1;
    std::uint64_t slice = 10'000;
    std::vector<Step> script;
    std::uint16_t end = 0;  ///< kind of the end record
    bool spread = true;     ///< costs vary by seed
    /// Ticks between a device's interrupts, 0: none. Each comes on every hart at once.
    std::uint64_t device_every = 0;
};

/// Runs a plan and gives its records. Root, system and users exist under these names.
std::vector<abi::TraceRecord> run(const Plan& plan);

/// A window around steps: marks as a program makes them.
void open_window(std::vector<Step>& script);
void close_window(std::vector<Step>& script);

/// The digest that a trace file's head must have.
std::uint64_t digest_of(std::vector<std::byte> file);

/// A trace file of those records, with a head that fits them.
std::vector<std::byte> file_of(const std::vector<abi::TraceRecord>& records, const Plan& plan);

/// Spinners in one window: budgets with account 1, 2, ... of those weights.
Plan spinners(std::uint32_t harts, const std::vector<std::uint64_t>& weights,
              std::uint64_t window_slices = 200);

}  // namespace ravelin::sim
