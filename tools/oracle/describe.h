// Trace records as text, for the findings that name them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/abi/trace.h"

namespace ravelin::oracle {

using U128 = unsigned __int128;

/// The 128-bit number of a record whose x, y are its low and high half.
U128 wide(const abi::TraceRecord& record);

/// In decimal.
std::string to_text(U128 value);

/// The names of docs/trace.md; "?" for a number that has none.
std::string_view name_of(abi::TraceKind kind);
std::string_view name_of(abi::TraceCause cause);
std::string_view name_of(abi::TraceLeave leave);
std::string_view name_of(abi::TraceCharge charge);
std::string_view name_of(abi::TraceExpiry expiry);

/// One record, decoded, with its place in the file: "#120 e33 h0 pick b7 pass 1048576".
std::string describe(std::uint64_t place, const abi::TraceRecord& record);

}  // namespace ravelin::oracle
