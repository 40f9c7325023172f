// libFuzzer target: sequences of calls by several threads of several processes and budgets, the input
// being what tests/differential draws at random otherwise: which hart goes on, with which call and which
// arguments, and when time passes. After every step the kernel and the reference of the calls
// (tests/model/calls.h) agree on every register, record and object.
#include <cstdio>
#include <cstdlib>

#include "core/assert.h"
#include "tests/differential/calls_beside.h"

namespace ravelin {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    std::abort();
}

}  // namespace ravelin

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ravelin;
    if (size == 0) return 0;
    differential::Choice choice(data + 1, size - 1);
    differential::CallsMet met;
    const auto parted =
        differential::run_beside(choice, 1 + data[0] % 2, model::calls::Mutation::kNone, met);
    if (parted) {
        std::fprintf(stderr, "sequences-fuzz: %s\n", parted->c_str());
        std::abort();
    }
    return 0;
}
