// Where a checked kernel's broken assertion ends on the hosted port: one line and an abort, which a debugger stops at.
#include "core/assert.h"
#include "port-hosted/source/panic.h"

namespace ravelin {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    hosted::panic("%s:%d: the kernel broke its own rule: %s", file, line, expression);
}

} // namespace ravelin
