// Words for people: near names for one that is not known, lists, regular expressions that may be wrong.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ravelin::testbench {

/// The known words that `word` may have been meant as: those it begins, and those few edits away.
std::vector<std::string> near_words(std::string_view word, std::span<const std::string> known);

/// "unknown KIND 'WORD'; did you mean: A, B", or with all known words if none is near.
std::string unknown(std::string_view kind, std::string_view word,
                    std::span<const std::string> known);

/// "a, b, c".
std::string listed(std::span<const std::string> words);

/// Does a name match a pattern of the command line: `*` and `?` as a shell takes them, else a prefix?
bool matches(std::string_view pattern, std::string_view name);

}  // namespace ravelin::testbench
