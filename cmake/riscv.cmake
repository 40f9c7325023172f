# Toolchain for RAVELIN_PORT=rv64 and rv32: clang-19 and lld-19, libc++'s freestanding headers over
# picolibc's C headers, and the GNU toolchain's libgcc. Nothing of a C library is linked.

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RAVELIN_PORT)

if(RAVELIN_PORT STREQUAL "rv64")
    set(_target riscv64-unknown-elf)
    set(_arch rv64imac)
    set(_abi lp64)
    set(_model "-mcmodel=medany")
    set(_class ELF64)
elseif(RAVELIN_PORT STREQUAL "rv32")
    set(_target riscv32-unknown-elf)
    set(_arch rv32imac)
    set(_abi ilp32)
    set(_model "")
    set(_class ELF32)
else()
    message(FATAL_ERROR "cmake/riscv.cmake serves RAVELIN_PORT=rv64 and rv32, not '${RAVELIN_PORT}'")
endif()

foreach(_language C CXX ASM)
    set(CMAKE_${_language}_COMPILER_TARGET ${_target})
    set(CMAKE_${_language}_FLAGS_INIT "-march=${_arch}_zicsr_zifencei -mabi=${_abi} ${_model}")
endforeach()
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_CXX_COMPILER clang++-19)
set(CMAKE_ASM_COMPILER clang-19)
set(CMAKE_AR llvm-ar-19)
set(CMAKE_RANLIB llvm-ranlib-19)
set(CMAKE_OBJCOPY llvm-objcopy-19)
set(CMAKE_OBJDUMP llvm-objdump-19)

# -fno-unwind-tables: nothing unwinds, and the tables would count in the image.
# _LIBCPP_REMOVE_TRANSITIVE_INCLUDES: without it <span> drags in <functional> and with that the
# locale headers, which need a C library.
string(APPEND CMAKE_C_FLAGS_INIT
    " -ffreestanding -fno-unwind-tables -fno-asynchronous-unwind-tables"
    " -isystem /usr/lib/picolibc/riscv64-unknown-elf/include")
string(APPEND CMAKE_CXX_FLAGS_INIT
    " -ffreestanding -fno-unwind-tables -fno-asynchronous-unwind-tables"
    " -nostdinc++ -D_LIBCPP_HAS_NO_THREADS -D_LIBCPP_REMOVE_TRANSITIVE_INCLUDES"
    " -isystem /usr/lib/llvm-19/include/c++/v1"
    " -isystem /usr/lib/picolibc/riscv64-unknown-elf/include")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-fuse-ld=lld-19 -nostdlib -static")

# RAVELIN_LIBGCC: the arithmetic helpers (64-bit division on rv32). Without -misa-spec=2.2 the
# driver silently answers with the libgcc of another width, so what it answered is looked at.
execute_process(
    COMMAND riscv64-unknown-elf-gcc -misa-spec=2.2 -march=${_arch} -mabi=${_abi}
            -print-libgcc-file-name
    OUTPUT_VARIABLE RAVELIN_LIBGCC
    OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
execute_process(
    COMMAND readelf -h "${RAVELIN_LIBGCC}"
    OUTPUT_VARIABLE _header
    ERROR_QUIET)
if(NOT _header MATCHES "Class: +${_class}")
    message(FATAL_ERROR "${RAVELIN_LIBGCC} is not a libgcc for ${RAVELIN_PORT} (${_class})")
endif()
