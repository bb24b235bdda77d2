# SPDX-License-Identifier: BSD-3-Clause

# Runs PROGRAM with ARGUMENTS in DIRECTORY, started by MPIEXEC on RANKS ranks. Fails unless the output
# matches MESSAGE and every rank ends with the exit code CODE.
file(REMOVE_RECURSE "${DIRECTORY}")
file(MAKE_DIRECTORY "${DIRECTORY}")
# mpiexec reports the code of one rank only, so a shell around each rank shows its own.
execute_process(
  COMMAND ${MPIEXEC} sh -c "\"$0\" \"$@\"; echo \"exit=$?.\"" "${PROGRAM}" ${ARGUMENTS}
  WORKING_DIRECTORY "${DIRECTORY}"
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
message("${output}")
string(REGEX MATCHALL "exit=${CODE}\\." ends "${output}")
list(LENGTH ends ended)
if(NOT ended EQUAL RANKS)
  message(FATAL_ERROR "${ended} of ${RANKS} ranks end with exit code ${CODE}")
endif()
if(NOT output MATCHES "${MESSAGE}")
  message(FATAL_ERROR "the output does not match '${MESSAGE}'")
endif()
