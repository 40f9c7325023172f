// The report: one page that needs nothing beside it, made of the parts in tools/testbench/page, uPlot and
// the results.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/testbench/judge.h"

namespace ravelin::testbench {

struct PageParts {
    std::filesystem::path page;      ///< tools/testbench/page
    std::filesystem::path packages;  ///< the folder that holds uplot/dist
    std::filesystem::path history;   ///< lines of earlier benches; need not exist
    std::filesystem::path recorded;  ///< the recorded result set; need not exist
};

/// Throws with the name of a part that is missing.
void check_parts(const PageParts& parts);

/// The page's text.
std::string page_of(const std::vector<Outcome>& outcomes, const std::filesystem::path& root,
                    const PageParts& parts);

}  // namespace ravelin::testbench
