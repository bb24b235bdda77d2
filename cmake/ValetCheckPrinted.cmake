# SPDX-License-Identifier: BSD-3-Clause

# cmake -DSOURCE=<file> -P ValetCheckPrinted.cmake -- <command>...: the command, which runs the program of this
# source on 4 ranks, prints what the first comment of the source says: the lines behind "mpirun -n 4".
cmake_minimum_required(VERSION 3.22)
set(command "")
set(is_command FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(k RANGE ${last})
  if(is_command)
    list(APPEND command "${CMAKE_ARGV${k}}")
  elseif(CMAKE_ARGV${k} STREQUAL "--")
    set(is_command TRUE)
  endif()
endforeach()
list(POP_BACK command program)
get_filename_component(name "${program}" NAME_WE)

set(mark "(//| [*]|!)   ")
file(READ "${SOURCE}" text)
if(NOT text MATCHES "\n${mark}mpirun -n 4 ${name}\n((${mark}[^\n]+\n)+)")
  message(FATAL_ERROR "${SOURCE} does not say what `mpirun -n 4 ${name}` prints")
endif()
string(REGEX REPLACE "(^|\n)${mark}" "\\1" wanted "${CMAKE_MATCH_2}")

execute_process(COMMAND ${command} "${program}" RESULT_VARIABLE result OUTPUT_VARIABLE output)
if(NOT result EQUAL 0 OR NOT output STREQUAL wanted)
  message(FATAL_ERROR "${name} ends with ${result} and prints\n${output}in place of\n${wanted}")
endif()
message(STATUS "as in ${SOURCE}:\n${output}")
