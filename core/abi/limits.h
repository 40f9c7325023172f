// The fixed sizes of the interface, shared by the kernel, its programs and every tool.
#pragma once

#include <cstdint>

namespace ravelin::abi {

/// Processes take PIDs 2 to kMaxPid: PID 1 is the kernel's, which has no process object.
inline constexpr std::uint32_t kFirstPid = 2;
inline constexpr std::uint32_t kMaxPid = 511;
inline constexpr std::uint32_t kMaxProcesses = kMaxPid - kFirstPid + 1;

/// Threads of one process; TIDs from 1.
inline constexpr std::uint32_t kMaxThreads = 255;

/// Handles of one process; index 0 is never a handle.
inline constexpr std::uint32_t kMaxHandles = 4096;

/// Levels of the budget tree below the root, which has depth 0.
inline constexpr std::uint32_t kMaxDepth = 16;

/// Labels a budget may carry.
inline constexpr std::uint32_t kMaxLabels = 16;

/// Handles copied into a process when it starts.
inline constexpr std::uint32_t kMaxStartHandles = 64;

/// Handle copies one message carries.
inline constexpr std::uint32_t kMaxMessageHandles = 4;

/// Words one message carries.
inline constexpr std::uint32_t kMessageWords = 4;

/// Pages one call may lend.
inline constexpr std::uint32_t kMaxLendPages = 16;

/// Calls a process has taken and not answered yet.
inline constexpr std::uint32_t kMaxOpenCalls = 256;

/// Messages one fairness group may queue at one endpoint.
inline constexpr std::uint32_t kWaitCap = 32;

/// Weights and pages fixed at boot: what root has, and what it keeps so that a process in it runs.
inline constexpr std::uint32_t kRootWeight = 1'000'000;
inline constexpr std::uint32_t kInitWeight = 1'000;
inline constexpr std::uint32_t kSystemWeight = 250'000;
inline constexpr std::uint32_t kInitPages = 1'024;

/// A timeout or deadline that never passes, in microseconds.
inline constexpr std::uint64_t kForever = ~std::uint64_t{0};

}  // namespace ravelin::abi
