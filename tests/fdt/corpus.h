// The trees in tests/fdt/corpus, compiled by dtc when the tests are built.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ravelin::fdt::test {

/// The names of all trees, sorted.
std::vector<std::string> tree_names();

/// A tree by name; ends the process if it cannot be read.
std::vector<std::uint8_t> read_tree(const std::string& name);

}  // namespace ravelin::fdt::test
