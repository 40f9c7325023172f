# elf-fuzz: the loader of the first program, from the compiled corpus on.

set(corpus "${CMAKE_CURRENT_BINARY_DIR}/elf-corpus")
file(MAKE_DIRECTORY "${corpus}")
add_custom_command(
    OUTPUT "${corpus}/sound"
    COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/elf_corpus.py" "${corpus}"
    DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/elf_corpus.py"
    VERBATIM)
add_custom_target(elf-fuzz-corpus DEPENDS "${corpus}/sound")

set(loader "${PROJECT_SOURCE_DIR}/port-riscv/source/program.cpp")
ravelin_fuzz(elf
    SOURCES "${CMAKE_CURRENT_SOURCE_DIR}/elf_fuzz.cpp" "${loader}"
    HEADERS "${CMAKE_CURRENT_SOURCE_DIR}/loader/*.h" "${PROJECT_SOURCE_DIR}/core/*.h"
            "${PROJECT_SOURCE_DIR}/tests/null_port/*.h"
            "${PROJECT_SOURCE_DIR}/port-riscv/image.h" "${PROJECT_SOURCE_DIR}/port-riscv/line.h"
    INCLUDES "${CMAKE_CURRENT_SOURCE_DIR}/loader" "${PROJECT_SOURCE_DIR}/tests/null_port"
    DEFINES RAVELIN_CHECKED=1 RAVELIN_SLICE_US=1000 __riscv_xlen=64
    CORPUS "${corpus}"
    DEPENDS elf-fuzz-corpus
    LENGTH 2048
    PLANT "${loader}" "from > loader.file.size() || bytes > loader.file.size() - from" "false")
