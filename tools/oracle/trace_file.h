// Reading a trace file: what cannot be judged is refused here, with one line that says why.
//
// Invariant: a Trace that parse_trace gives has a head that matches its records and entry numbers
// that never decrease. Bound: one pass over the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/abi/trace.h"

namespace ravelin::oracle {

struct Trace {
    abi::TraceHead head{};
    std::vector<abi::TraceRecord> records;
};

/// Either a trace or the reason why there is none.
struct TraceResult {
    std::optional<Trace> trace;
    std::string refusal;
};

/// The digest of a trace file: FNV-1a, 64 bit, of all its bytes, those of the head's digest taken as 0.
/// `file` has a whole head.
std::uint64_t digest_of(std::span<const std::byte> file);

/// A whole file of those records: the head is brought up to date, with `records`, sums and digest.
std::vector<std::byte> file_of(abi::TraceHead head, std::span<const abi::TraceRecord> records);

/// Reads a trace from bytes. Refuses a wrong magic, version or record size, missing or extra bytes,
/// a digest or a block's sums that do not match, dropped records, decreasing entries, no pick
/// (docs/trace.md).
TraceResult parse_trace(std::span<const std::byte> bytes);

/// Reads a trace file; a file that cannot be read is refused like a malformed one.
TraceResult read_trace(const std::filesystem::path& path);

}  // namespace ravelin::oracle
