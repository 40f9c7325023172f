# Checks the object files of a guest program: it keeps nothing in mutable globals, and it calls nothing
# but the four memory functions and its port.
#
#   cmake -D "OBJECTS=a.o|b.o" -D NM=nm -D OBJDUMP=objdump -D STAMP=file -P check_guest.cmake
#
# What one object lacks another may define, so OBJECTS is the program with all of rt and workload.
# Writes STAMP if all is well; else one line for each wrong symbol or section, and failure.

string(REPLACE "|" ";" OBJECTS "${OBJECTS}")
execute_process(COMMAND ${NM} -P ${OBJECTS}
    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${OBJDUMP} -h -w ${OBJECTS}
    OUTPUT_VARIABLE sections COMMAND_ERROR_IS_FATAL ANY)

set(defined "")
set(undefined "")
string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
foreach(line IN LISTS lines)
    if(line MATCHES "^([^ ]+) U")
        list(APPEND undefined "${CMAKE_MATCH_1}")
    elseif(line MATCHES "^([^ ]+) [A-Za-z] ")
        list(APPEND defined "${CMAKE_MATCH_1}")
    endif()
endforeach()
list(REMOVE_DUPLICATES undefined)
if(defined)
    list(REMOVE_ITEM undefined ${defined})
endif()

set(wrong "")
foreach(symbol IN LISTS undefined)
    if(NOT symbol MATCHES "^(mem(cpy|move|set|cmp)|ravelin_guest_[a-z_]+|_GLOBAL_OFFSET_TABLE_)$")
        string(APPEND wrong "  calls ${symbol}, which is not a guest program's to call\n")
    endif()
endforeach()
string(REGEX MATCHALL "[^\n]+" lines "${sections}")
foreach(line IN LISTS lines)
    if(line MATCHES "^ *[0-9]+ +(\\.[^ ]+) +([0-9a-f]+) ")
        set(section "${CMAKE_MATCH_1}")
        if(NOT CMAKE_MATCH_2 MATCHES "^0+$"
           AND NOT section MATCHES "^\\.data\\.rel\\.ro"
           AND section MATCHES "^\\.(s?data|s?bss|tdata|tbss|init_array|fini_array|ctors|dtors)")
            string(APPEND wrong "  section ${section} is not empty: a mutable global or a constructor\n")
        endif()
    endif()
endforeach()
if(symbols MATCHES "(^|\n)([^ ]+) C ")
    string(APPEND wrong "  common symbol ${CMAKE_MATCH_2}: a mutable global\n")
endif()

if(wrong)
    list(GET OBJECTS 0 first)
    message(FATAL_ERROR "not a guest program: ${first}\n${wrong}")
endif()
file(TOUCH "${STAMP}")
