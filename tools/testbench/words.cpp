#include "tools/testbench/words.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ravelin::testbench {

namespace {

std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) {
        row[j] = j;
    }
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t corner = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t change = corner + (a[i - 1] == b[j - 1] ? 0 : 1);
            corner = row[j];
            row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row.back();
}

bool matches_glob(std::string_view pattern, std::string_view name) {
    if (pattern.empty()) {
        return name.empty();
    }
    if (pattern[0] == '*') {
        return matches_glob(pattern.substr(1), name) ||
               (!name.empty() && matches_glob(pattern, name.substr(1)));
    }
    return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) &&
           matches_glob(pattern.substr(1), name.substr(1));
}

}  // namespace

std::vector<std::string> near_words(std::string_view word, std::span<const std::string> known) {
    std::vector<std::string> near;
    for (const std::string& candidate : known) {
        if ((!word.empty() && candidate.starts_with(word)) ||
            distance(word, candidate) <= 1 + word.size() / 4) {
            near.push_back(candidate);
        }
    }
    return near;
}

std::string listed(std::span<const std::string> words) {
    return fmt::format("{}", fmt::join(words, ", "));
}

std::string unknown(std::string_view kind, std::string_view word,
                    std::span<const std::string> known) {
    const std::vector<std::string> near = near_words(word, known);
    if (!near.empty()) {
        return fmt::format("unknown {} '{}'; did you mean: {}", kind, word, listed(near));
    }
    return fmt::format("unknown {} '{}'; known: {}", kind, word, listed(known));
}

bool matches(std::string_view pattern, std::string_view name) {
    return pattern.find_first_of("*?") == std::string_view::npos ? name.starts_with(pattern)
                                                                 : matches_glob(pattern, name);
}

}  // namespace ravelin::testbench
