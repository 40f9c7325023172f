# calls-fuzz: the whole core on the null port, by raw calls.

ravelin_fuzz_corpus(calls)
file(GLOB_RECURSE core CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/core/*.cpp")
ravelin_fuzz(calls
    SOURCES "${CMAKE_CURRENT_SOURCE_DIR}/calls_fuzz.cpp"
            "${PROJECT_SOURCE_DIR}/tests/differential/kernel_view.cpp" ${core}
    HEADERS "${PROJECT_SOURCE_DIR}/core/*.h" "${PROJECT_SOURCE_DIR}/tests/null_port/*.h"
            "${PROJECT_SOURCE_DIR}/tests/differential/*.h" "${CMAKE_CURRENT_SOURCE_DIR}/*.h"
    INCLUDES "${PROJECT_SOURCE_DIR}/tests/null_port"
    DEFINES RAVELIN_CHECKED=1 RAVELIN_SLICE_US=1000
    CORPUS "${calls_corpus}"
    DEPENDS calls-fuzz-corpus
    PLANT "${PROJECT_SOURCE_DIR}/core/object/handle.cpp"
          "if (handle >= abi::kMaxHandles) return nullptr;" "")
