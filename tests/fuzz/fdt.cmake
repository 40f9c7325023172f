# fdt-fuzz: the device-tree reader against libfdt, from the compiled trees and broken ones on.

set(reader "${PROJECT_SOURCE_DIR}/port-riscv/fdt")
ravelin_fuzz_corpus(fdt)
ravelin_fuzz(fdt
    SOURCES "${CMAKE_CURRENT_SOURCE_DIR}/fdt_fuzz.cpp"
            "${PROJECT_SOURCE_DIR}/tests/fdt/reference.cpp"
            "${reader}/tree.cpp" "${reader}/facts.cpp"
    HEADERS "${PROJECT_SOURCE_DIR}/tests/fdt/*.h" "${reader}/*.h"
    LIBRARIES -lfdt
    CORPUS "${RAVELIN_FDT_CORPUS}" "${fdt_corpus}"
    DEPENDS ravelin-fdt-corpus fdt-fuzz-corpus
    LENGTH 8192
    PLANT "${reader}/tree.cpp" " || total > memory.size()" "")
