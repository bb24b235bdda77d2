# SPDX-License-Identifier: BSD-3-Clause

# cmake -DMPIEXEC=<command and arguments> -DPLAIN= -DLINKED= -DLIBRARY= -P: the same application
# stock, preloaded and linked in the right order, switched on by the environment alone.
separate_arguments(launch UNIX_COMMAND "${MPIEXEC}")

function(run result)
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env ${ARGN}
    RESULT_VARIABLE code
    OUTPUT_VARIABLE output
    ERROR_VARIABLE error)
  if(NOT code EQUAL 0 OR NOT output MATCHES "state ([0-9a-f]+) valet (yes|no)")
    message(FATAL_ERROR "failed (${code}): ${ARGN}\n${output}${error}")
  endif()
  set(${result} "${CMAKE_MATCH_1} ${CMAKE_MATCH_2}" PARENT_SCOPE)
  message(STATUS "${CMAKE_MATCH_0}")
endfunction()

# The library goes to the ranks, not to mpiexec.
set(method VALET_MIGRATE_METHOD=STREAM VALET_MIGRATE_MEMORY=20K)
run(stock ${method} ${launch} "${PLAIN}")
run(preloaded ${method} ${launch} "${CMAKE_COMMAND}" -E env "LD_PRELOAD=${LIBRARY}" "${PLAIN}")
run(linked ${method} ${launch} "${LINKED}")
run(unasked ${launch} "${LINKED}")
string(REPLACE " no" " yes" with_valet "${stock}")
if(NOT stock MATCHES " no$" OR NOT preloaded STREQUAL with_valet OR NOT linked STREQUAL with_valet
   OR NOT unasked STREQUAL stock)
  message(FATAL_ERROR "stock ${stock}, preloaded ${preloaded}, linked ${linked}, unasked ${unasked}")
endif()
