// Prints every fault that can be planted in a whole kernel, one a line: "row NAME" or "rule NAME".
#include <cstdio>

#include "tests/planted/plant.h"

int main() {
    using namespace ravelin::planted;
    for (std::size_t row = 1; row < kRowNames.size(); ++row)
        std::printf("row %s\n", kRowNames[row].data());
    for (auto rule = static_cast<std::size_t>(kFirstOfKernel); rule < kRuleNames.size(); ++rule)
        std::printf("rule %s\n", kRuleNames[rule].data());
}
