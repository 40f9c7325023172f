// Where a checked kernel's broken assertion ends: one line, and the run ends as failed, so that
// what the trace has up to here can be written. A debugger stops at the function.

#include "core/assert.h"

#include <cstdio>

#include "port-hosted/source/machine.h"
#include "port-hosted/source/panic.h"

namespace ravelin {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    hosted::Hart* hart = hosted::current_hart();
    if (hart == nullptr) {
        hosted::panic("%s:%d: the kernel broke its own rule: %s", file, line, expression);
    }
    std::fprintf(stderr, "ravelin: %s:%d: the kernel broke its own rule: %s\n", file, line,
                 expression);
    hart->machine->port.reset(hart->index, ResetKind::off_failed);
}

}  // namespace ravelin
