// What a port supplies beside its class, for tests on the null port.
#include <cstdio>
#include <cstdlib>

#include "core/assert.h"

namespace ravelin {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    std::abort();
}

}  // namespace ravelin
