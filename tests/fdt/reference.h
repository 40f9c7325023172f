// A second reading of device trees, by libfdt, and the comparison of ours with it.
//
// Rule: what ours accepts, libfdt accepts, with the same nodes and properties; what libfdt accepts
// and ours does not is refused for one of the few reasons in which ours is stricter; and the facts
// that ours finds are the facts found here, by other means. Shares nothing with the reader but the
// types it answers in. An empty string is agreement.

#pragma once

#include "port-riscv/fdt/facts.h"
#include "port-riscv/fdt/tree.h"

#include <string>
#include <vector>

namespace ravelin::fdt::test {

using Blob = std::vector<std::uint8_t>;

/// Where ours and libfdt differ over one tree of the given bytes, in one line.
std::string disagreement(const Blob& blob);

}  // namespace ravelin::fdt::test
