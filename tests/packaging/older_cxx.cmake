# SPDX-License-Identifier: BSD-3-Clause

# Every public header of the core, alone, says one sentence to a compiler for C++17 and stops it; those of
# C serve C++11. Arguments: COMPILER, INCLUDES (the first of them Valet's), DIRECTORY.
list(GET INCLUDES 0 root)
list(TRANSFORM INCLUDES PREPEND "-I")
file(GLOB_RECURSE headers RELATIVE "${root}" "${root}/valet/*.hpp")
# Of macros and MPI alone.
list(REMOVE_ITEM headers valet/export.hpp valet/mpi.hpp valet/version.hpp)
list(LENGTH headers count)
if(count LESS 20)
  message(FATAL_ERROR "only ${count} headers in ${root}")
endif()

# compile(<standard> <header>): sets `code` and `output`.
macro(compile standard header)
  file(WRITE "${DIRECTORY}/older.cpp" "#include <${header}>\n")
  execute_process(COMMAND "${COMPILER}" -std=${standard} -fsyntax-only ${INCLUDES} "${DIRECTORY}/older.cpp"
                  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
endmacro()

foreach(header IN LISTS headers)
  compile(c++17 ${header})
  string(REGEX MATCHALL "error: " errors "${output}")
  list(LENGTH errors number)
  if(code EQUAL 0 OR number GREATER 2 OR NOT output MATCHES "Valet needs C\\+\\+20: compile with -std=c\\+\\+20")
    message(SEND_ERROR "${header} with C++17: exit code ${code}, ${number} errors\n${output}")
  endif()
endforeach()
file(GLOB headers RELATIVE "${root}" "${root}/valet/*.h")
foreach(header IN LISTS headers)
  compile(c++11 ${header})
  if(NOT code EQUAL 0)
    message(SEND_ERROR "${header} with C++11:\n${output}")
  endif()
endforeach()
