# fdt-fuzz: the device-tree reader against libfdt under libFuzzer, from the compiled corpus on.
# Built by clang whatever the host compiler is, in one step, so that all of it is instrumented.

set(program "${CMAKE_CURRENT_BINARY_DIR}/fdt_fuzz")
set(sources
    "${CMAKE_CURRENT_SOURCE_DIR}/fdt_fuzz.cpp"
    "${PROJECT_SOURCE_DIR}/tests/fdt/reference.cpp"
    "${PROJECT_SOURCE_DIR}/port-riscv/fdt/tree.cpp"
    "${PROJECT_SOURCE_DIR}/port-riscv/fdt/facts.cpp")
add_custom_command(
    OUTPUT "${program}"
    COMMAND clang++-19 -std=c++20 -O1 -g -fsanitize=fuzzer,address,undefined
            -fno-sanitize-recover=undefined -I "${PROJECT_SOURCE_DIR}" ${sources} -lfdt
            -o "${program}"
    DEPENDS ${sources}
            "${PROJECT_SOURCE_DIR}/tests/fdt/reference.h"
            "${PROJECT_SOURCE_DIR}/port-riscv/fdt/tree.h"
            "${PROJECT_SOURCE_DIR}/port-riscv/fdt/facts.h"
    VERBATIM)
add_custom_target(fdt-fuzz DEPENDS "${program}")

# New inputs go to the first folder, the corpus is only read.
set(found "${CMAKE_CURRENT_BINARY_DIR}/fdt-found")
file(MAKE_DIRECTORY "${found}")
ravelin_test(fuzz-fdt fuzz
    COMMAND "${program}" -max_total_time=15 -max_len=8192 -print_final_stats=1
            "-artifact_prefix=${found}/" "${found}" "${RAVELIN_FDT_CORPUS}"
    DEPENDS fdt-fuzz ravelin-fdt-corpus)
