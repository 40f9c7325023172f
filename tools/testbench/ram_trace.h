// A machine's trace from the file that is its RAM: what of docs/trace.md the kernel leaves to who saves it,
// the seed and the digest, is filled in here. Bound: one pass over the records.
#pragma once

#include <cstdint>
#include <filesystem>

namespace ravelin::testbench {

/// Where a trace lies in a machine's memory.
struct RamTrace {
    std::uint64_t address = 0;  ///< of its head
    std::uint64_t bytes = 0;
    std::uint64_t base = 0;  ///< where RAM begins
};

/// Saves it. False if the place is not in the RAM or the file cannot be written.
bool save_trace(const std::filesystem::path& ram, const RamTrace& place, std::uint64_t seed,
                const std::filesystem::path& file);

}  // namespace ravelin::testbench
