# sequences-fuzz: the whole core on the null port beside the reference of the calls.

ravelin_fuzz_corpus(sequences)
file(GLOB_RECURSE core CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/core/*.cpp")
ravelin_fuzz(sequences
    SOURCES "${CMAKE_CURRENT_SOURCE_DIR}/sequences_fuzz.cpp"
            "${PROJECT_SOURCE_DIR}/tests/differential/calls_beside.cpp"
            "${PROJECT_SOURCE_DIR}/tests/differential/kernel_view.cpp"
            "${PROJECT_SOURCE_DIR}/tests/model/calls.cpp"
            "${PROJECT_SOURCE_DIR}/tests/model/messages.cpp" ${core}
    HEADERS "${PROJECT_SOURCE_DIR}/core/*.h" "${PROJECT_SOURCE_DIR}/tests/null_port/*.h"
            "${PROJECT_SOURCE_DIR}/tests/differential/*.h" "${PROJECT_SOURCE_DIR}/tests/model/*.h"
    INCLUDES "${PROJECT_SOURCE_DIR}/tests/null_port"
    DEFINES RAVELIN_CHECKED=1 RAVELIN_SLICE_US=1000
    CORPUS "${sequences_corpus}"
    DEPENDS sequences-fuzz-corpus
    LENGTH 4096
    PLANT "${PROJECT_SOURCE_DIR}/core/ipc/ipc.cpp" "charge(*server.budget, 1);" "")
