// libFuzzer target: any bytes as a device tree, read by ours and by libfdt. Ends at the first
// difference, and under the sanitizers at the first access out of bounds.

#include "tests/fdt/reference.h"

#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string wrong = ravelin::fdt::test::disagreement({data, data + size});
    if (!wrong.empty()) {
        std::fprintf(stderr, "ours and libfdt differ: %s\n", wrong.c_str());
        std::abort();
    }
    return 0;
}
