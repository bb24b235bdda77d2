# SPDX-License-Identifier: BSD-3-Clause

# The hash of the solution and the mass must not depend on ranks and options of the migration.
set(common --max-level 3 --steps 24 --every 4 --no-vtk --quiet)
set(reference "")

function(compare ranks)
  file(MAKE_DIRECTORY "${DIRECTORY}")
  execute_process(
    COMMAND "${MPIEXEC}" ${NUMPROC_FLAG} ${ranks} ${FLAGS} "${PROGRAM}" ${common} ${ARGN}
    WORKING_DIRECTORY "${DIRECTORY}"
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output
    RESULT_VARIABLE code)
  if(NOT code EQUAL 0 OR NOT output MATCHES "at the end ([^\n]*)\\.\n[^\n]*(Solution|patches)[^\n]*hash [0-9a-f]+")
    message(FATAL_ERROR "${ranks} ranks, ${ARGN}: exit code ${code}\n${output}")
  endif()
  set(solution "${CMAKE_MATCH_0}")
  if(reference STREQUAL "")
    set(reference "${solution}" PARENT_SCOPE)
    message("${solution}")
  elseif(NOT solution STREQUAL reference)
    message(FATAL_ERROR "${ranks} ranks, ${ARGN}:\n${solution}\ninstead of\n${reference}")
  endif()
endfunction()

foreach(ranks IN ITEMS 1 2 3 5)
  foreach(partitioner IN ITEMS curve hsfc graph)
    compare(${ranks} --partitioner ${partitioner})
  endforeach()
endforeach()
compare(3 --partitioner hsfc --order fill)
compare(3 --exchange out-of-place)
compare(3 --memory 29K --verify)
compare(3 --partitioner hsfc --memory 29K --verify)
compare(3 --when-full grow --capacity 1.02)

# The comparison must be able to fail: other physics, another solution.
execute_process(
  COMMAND "${MPIEXEC}" ${NUMPROC_FLAG} 2 ${FLAGS} "${PROGRAM}" ${common} --substeps 7
  WORKING_DIRECTORY "${DIRECTORY}"
  OUTPUT_VARIABLE output)
string(FIND "${output}" "${reference}" place)
if(NOT place EQUAL -1)
  message(FATAL_ERROR "other physics give the same hash")
endif()
