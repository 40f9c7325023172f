// The functions that the memory room wants from others, as the tests have them.
#include "tests/unit/memory/support.h"

#include <cstdio>
#include <cstdlib>

namespace ravelin {

bool charge(Budget& budget, u32 pages) {
    if (pages > budget.limit - budget.used) return false;
    budget.used += pages;
    return true;
}

void uncharge(Budget& budget, u32 pages) {
    if (pages > budget.used) std::abort();
    budget.used -= pages;
}

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    std::abort();
}

}  // namespace ravelin
