# What every room's CMakeLists.txt builds with:
#
#   ravelin-warnings          interface target: the warnings all our code is clean under
#   ravelin-freestanding      interface target: no exceptions, no RTTI, no guarded statics
#   ravelin-profile           interface target: the definitions of this build's profile
#   ravelin_core(PORT DIR)    the core, compiled once for the port whose ravelin_port.h is in DIR
#   ravelin_test(NAME SUITE)  one test of a suite, in ctest and, if it asks, in the sanitizer lanes

include_guard(GLOBAL)

set(RAVELIN_PORT "hosted" CACHE STRING "The port the core is built for: hosted, rv64 or rv32")
set_property(CACHE RAVELIN_PORT PROPERTY STRINGS hosted rv64 rv32)
option(RAVELIN_CHECKED "Assertions, trace and audits" ON)
set(RAVELIN_SANITIZE "" CACHE STRING "Sanitizer lane: empty, address (with undefined) or thread")
set_property(CACHE RAVELIN_SANITIZE PROPERTY STRINGS "" address thread)
option(RAVELIN_ARM_UNDER_LOCK "For tests: timers are armed under the kernel lock; checked builds only" OFF)
option(RAVELIN_COVERAGE "Count the branches that run in the core" OFF)
set(RAVELIN_SLICE_US "1000" CACHE STRING "Length of a slice in microseconds")

if(NOT RAVELIN_PORT MATCHES "^(hosted|rv64|rv32)$")
    message(FATAL_ERROR "unknown RAVELIN_PORT '${RAVELIN_PORT}': hosted, rv64 or rv32")
endif()
if(NOT RAVELIN_SANITIZE MATCHES "^(address|thread)?$")
    message(FATAL_ERROR "unknown RAVELIN_SANITIZE '${RAVELIN_SANITIZE}': address, thread or empty")
endif()
if(NOT RAVELIN_SLICE_US MATCHES "^[1-9][0-9]*$")
    message(FATAL_ERROR "RAVELIN_SLICE_US must be a positive number of microseconds, "
                        "not '${RAVELIN_SLICE_US}'")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Debug information is in every profile; checked builds are for a debugger first.
foreach(_language C CXX ASM)
    set(CMAKE_${_language}_FLAGS_RELEASE "-O2 -g -DNDEBUG")
endforeach()
if(RAVELIN_PORT STREQUAL "hosted")
    set(_checked_flags "-Og -g -fno-omit-frame-pointer")
else()
    set(_checked_flags "-O2 -g")
endif()
if(RAVELIN_SANITIZE)
    set(_checked_flags "-O1 -g -fno-omit-frame-pointer")
endif()
set(CMAKE_C_FLAGS_DEBUG "${_checked_flags}")
set(CMAKE_CXX_FLAGS_DEBUG "${_checked_flags}")

if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(RAVELIN_CCACHE ccache)
    if(RAVELIN_CCACHE)
        set(CMAKE_C_COMPILER_LAUNCHER ${RAVELIN_CCACHE})
        set(CMAKE_CXX_COMPILER_LAUNCHER ${RAVELIN_CCACHE})
    endif()
endif()

# A sanitizer covers everything in its build tree: half-instrumented programs give false answers.
if(RAVELIN_SANITIZE STREQUAL "address")
    add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr
                        -fno-sanitize-recover=undefined)
    add_link_options(-fsanitize=address,undefined)
elseif(RAVELIN_SANITIZE STREQUAL "thread")
    add_compile_options(-fsanitize=thread)
    add_link_options(-fsanitize=thread)
endif()

add_library(ravelin-warnings INTERFACE)
target_compile_options(ravelin-warnings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX,C>:-Wall -Wextra -Wconversion -Wshadow -Werror>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:Clang>>:-Wthread-safety>)

add_library(ravelin-freestanding INTERFACE)
target_compile_options(ravelin-freestanding INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti -fno-threadsafe-statics>)

# Everything that sees a core header must see the same profile: it decides record layouts.
add_library(ravelin-profile INTERFACE)
target_compile_definitions(ravelin-profile INTERFACE
    RAVELIN_SLICE_US=${RAVELIN_SLICE_US}
    $<$<BOOL:${RAVELIN_CHECKED}>:RAVELIN_CHECKED=1>
    $<$<BOOL:${RAVELIN_ARM_UNDER_LOCK}>:RAVELIN_ARM_UNDER_LOCK=1>)

# The standard headers that the core may include do compile without a host, on every port.
file(STRINGS "${PROJECT_SOURCE_DIR}/tools/include-check/std-headers.txt" std_headers)
list(TRANSFORM std_headers REPLACE "(.+)" "#include <\\1>")
list(JOIN std_headers "\n" std_includes)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/core_headers.cpp" CONTENT "${std_includes}\n" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    "${PROJECT_SOURCE_DIR}/tools/include-check/std-headers.txt")
add_library(ravelin-core-headers OBJECT "${PROJECT_BINARY_DIR}/core_headers.cpp")
target_compile_options(ravelin-core-headers PRIVATE -ffreestanding)
target_link_libraries(ravelin-core-headers PRIVATE ravelin-warnings ravelin-freestanding)

# ravelin_core(<port> <include dir> [PLANTED])
#
# Adds the static library ravelin-core-<port>: all of core/, with `#include "ravelin_port.h"` found
# in <include dir>. Users of the library inherit the include paths and the profile. The hosted one
# is also ravelin::core. PLANTED makes ravelin-core-planted-<port> instead, in which a test can break
# what core/planted.h lists.
function(ravelin_core port include_dir)
    cmake_parse_arguments(PARSE_ARGV 2 arg "PLANTED" "" "")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/core/*.cpp")
    if(NOT sources)
        return()
    endif()
    if(arg_PLANTED)
        string(PREPEND port planted-)
    endif()
    set(target ravelin-core-${port})
    add_library(${target} STATIC ${sources})
    if(RAVELIN_COVERAGE)
        # The branches of the source once, without those that are decided at compile time.
        target_compile_options(${target} PRIVATE --coverage -Og -fno-inline)
        target_link_options(${target} PUBLIC --coverage)
    endif()
    if(arg_PLANTED)
        target_compile_definitions(${target} PUBLIC RAVELIN_PLANTED=1)
    endif()
    target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}" "${include_dir}")
    target_link_libraries(${target}
        PUBLIC ravelin-profile
        PRIVATE ravelin-warnings ravelin-freestanding)
    # One unit where it is measured, for the path of a slice end crosses four of its rooms, and where
    # only tests link it, for the time that its build takes.
    if(NOT RAVELIN_COVERAGE AND
            (NOT RAVELIN_CHECKED OR RAVELIN_SANITIZE OR arg_PLANTED OR port STREQUAL "null"))
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    endif()
    set_target_properties(${target} PROPERTIES
        ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
    if(port STREQUAL "hosted")
        add_library(ravelin::core ALIAS ${target})
    elseif(port STREQUAL "null" OR arg_PLANTED)
        # Only tests link it.
        set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL TRUE)
    endif()
endfunction()

# Adds a line to the list that `./ravelin test` builds from.
function(_ravelin_need suite preset target)
    set_property(GLOBAL APPEND PROPERTY RAVELIN_NEEDS "${suite} ${preset} ${target}")
endfunction()

# ravelin_test(<name> <suite>
#     SOURCES file...      a GoogleTest program made of these files; or
#     COMMAND word...      a command to run (targets it needs: DEPENDS)
#     [LIBRARIES lib...]   what the program links besides GoogleTest
#     [ARGUMENTS word...]  what the program is called with
#     [DEPENDS target...]  targets of this build tree that must be built first
#     [NEEDS preset:target...]  targets of other presets' build trees that must be built first
#     [LANES asan|tsan...] also run from the build trees hosted-asan, hosted-tsan
#     [ENVIRONMENT A=B...]
#     [TIMEOUT seconds]    120 unless given
#     [LONG]               only with `./ravelin test --long`
#     [SERIAL])            never beside another test
#
# <suite> is a folder of tests/ and the test's label. One ctest tree, that of hosted-checked, holds
# all tests; a lane's copy of <name> is <name>.asan or <name>.tsan there and runs the same command
# with the lane's build tree in place of this one.
function(ravelin_test name suite)
    cmake_parse_arguments(PARSE_ARGV 2 arg "LONG;SERIAL" "TIMEOUT"
        "SOURCES;COMMAND;LIBRARIES;ARGUMENTS;DEPENDS;NEEDS;LANES;ENVIRONMENT")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "ravelin_test(${name}): unknown words: ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT IS_DIRECTORY "${PROJECT_SOURCE_DIR}/tests/${suite}")
        message(FATAL_ERROR "ravelin_test(${name}): no folder tests/${suite}")
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 120)
    endif()

    set(lane "")
    if(RAVELIN_SANITIZE STREQUAL "address")
        set(lane asan)
    elseif(RAVELIN_SANITIZE STREQUAL "thread")
        set(lane tsan)
    endif()
    set(in_lane FALSE)
    if(lane AND lane IN_LIST arg_LANES)
        set(in_lane TRUE)
    endif()

    if(arg_SOURCES)
        if(arg_COMMAND)
            message(FATAL_ERROR "ravelin_test(${name}): SOURCES or COMMAND, not both")
        endif()
        find_package(GTest REQUIRED)
        add_executable(${name} ${arg_SOURCES})
        target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
        target_link_libraries(${name}
            PRIVATE ravelin-warnings ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
        # Half of a test file's compilation is the headers that its neighbours read too.
        list(LENGTH arg_SOURCES files)
        if(files GREATER 1)
            set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
        endif()
        if((lane AND NOT in_lane) OR NOT RAVELIN_CHECKED)
            set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL TRUE)
        endif()
        set(command "${CMAKE_CURRENT_BINARY_DIR}/${name}" ${arg_ARGUMENTS})
        list(APPEND arg_DEPENDS ${name})
    elseif(arg_COMMAND)
        set(command ${arg_COMMAND} ${arg_ARGUMENTS})
    else()
        message(FATAL_ERROR "ravelin_test(${name}): neither SOURCES nor COMMAND")
    endif()

    if(lane OR NOT RAVELIN_CHECKED)
        return()
    endif()

    set(labels ${suite})
    if(arg_LONG)
        list(APPEND labels long)
    endif()
    set(names ${name})
    add_test(NAME ${name} COMMAND ${command} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    foreach(target IN LISTS arg_DEPENDS)
        _ravelin_need(${suite} hosted-checked ${target})
    endforeach()
    foreach(need IN LISTS arg_NEEDS)
        if(NOT need MATCHES "^([^:]+):([^:]+)$")
            message(FATAL_ERROR "ravelin_test(${name}): NEEDS takes preset:target, not '${need}'")
        endif()
        _ravelin_need(${suite} ${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
    endforeach()
    foreach(a_lane IN LISTS arg_LANES)
        string(REPLACE "${PROJECT_BINARY_DIR}/" "${PROJECT_SOURCE_DIR}/build/hosted-${a_lane}/"
               lane_command "${command}")
        add_test(NAME ${name}.${a_lane} COMMAND ${lane_command}
                 WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
        set_tests_properties(${name}.${a_lane} PROPERTIES LABELS "${labels};${a_lane}")
        list(APPEND names ${name}.${a_lane})
        foreach(target IN LISTS arg_DEPENDS)
            _ravelin_need(${suite} hosted-${a_lane} ${target})
        endforeach()
    endforeach()
    set_tests_properties(${name} PROPERTIES LABELS "${labels}")
    set_tests_properties(${names} PROPERTIES
        TIMEOUT ${arg_TIMEOUT}
        ENVIRONMENT "${arg_ENVIRONMENT}")
    if(arg_SERIAL)
        set_tests_properties(${names} PROPERTIES RUN_SERIAL TRUE)
    endif()
endfunction()

# Writes <build>/suites.txt, one "suite preset target" a line, when all tests are registered.
function(ravelin_write_needs)
    get_property(needs GLOBAL PROPERTY RAVELIN_NEEDS)
    list(REMOVE_DUPLICATES needs)
    list(SORT needs)
    list(JOIN needs "\n" text)
    file(WRITE "${PROJECT_BINARY_DIR}/suites.txt" "${text}\n")
endfunction()
