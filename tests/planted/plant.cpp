// Plants the fault that the environment variable RAVELIN_PLANT names, row or rule, before main.
#include <cstdio>
#include <cstdlib>

#include "tests/planted/plant.h"

namespace ravelin::planted {

namespace {

Plan plan_of(const char* name) {
    Plan chosen;
    if (name == nullptr) return chosen;
    if (const auto row = place_of(kRowNames, name)) {
        chosen.row = Row{static_cast<u8>(*row)};
    } else if (const auto rule = place_of(kRuleNames, name)) {
        chosen.rule = Rule{static_cast<u8>(*rule)};
    } else {
        std::fprintf(stderr, "RAVELIN_PLANT: no row or rule '%s'\n", name);
        std::_Exit(2);
    }
    return chosen;
}

}  // namespace

Plan plan = plan_of(std::getenv("RAVELIN_PLANT"));

}  // namespace ravelin::planted
