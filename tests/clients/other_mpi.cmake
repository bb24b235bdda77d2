# SPDX-License-Identifier: BSD-3-Clause

# cmake -DCC= -DINCLUDE= -DLIBRARY= [-DPRELOADED=] -DLAUNCH= -DOTHER_LAUNCH= -DDIRECTORY= -P: builds other_mpi.c
# with CC, the compiler of another MPI than Valet's. The program gets an error from the core in LIBRARY. With
# PRELOADED, Valet in front of Zoltan, programs run in silence until they call Zoltan: alone, launched by LAUNCH
# if they need no MPI, and launched by OTHER_LAUNCH, of their MPI, if it is not empty.
cmake_minimum_required(VERSION 3.22)
file(MAKE_DIRECTORY "${DIRECTORY}")

# expect(<exit code> <expression for the output> <expression for the error output> <command>...)
function(expect code output_pattern error_pattern)
  execute_process(
    COMMAND ${ARGN}
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
    ERROR_VARIABLE error
    TIMEOUT 60)
  if(NOT result MATCHES "^${code}$" OR NOT output MATCHES "^${output_pattern}$" OR NOT error MATCHES
                                                                         "^${error_pattern}$")
    message(FATAL_ERROR "${ARGN}: exit code ${result}, not ${code}; or the output is not as expected:\n"
                        "${output}${error}")
  endif()
  message(STATUS "as expected: ${ARGN}")
endfunction()

set(source "${CMAKE_CURRENT_LIST_DIR}/other_mpi.c")
set(program "${DIRECTORY}/other_mpi")
get_filename_component(library_directory "${LIBRARY}" DIRECTORY)
# The linker may warn that Valet needs its own MPI.
expect(0 "" ".*" "${CC}" -std=c11 -DLINKED_TO_VALET "-I${INCLUDE}" "${source}" -o "${program}_linked" "${LIBRARY}"
       "-Wl,-rpath,${library_directory}" -ldl)
expect(0 "" "" "${CC}" -std=c11 "${source}" -o "${program}" -ldl)

set(sentence "this Valet is built for [^\n]*, but in this process MPI is [^\n]*; link or preload a Valet [^\n]*")
expect(0 "code 11: valet: ${sentence}\nsum 0\n" "" "${program}_linked" core)

if(PRELOADED)
  set(preload "${CMAKE_COMMAND}" -E env "LD_PRELOAD=${PRELOADED}")
  expect(0 "silence\n" "" ${preload} /bin/sh -c "echo silence")
  separate_arguments(launch UNIX_COMMAND "${LAUNCH}")
  expect(0 "" "" ${preload} ${launch} /bin/true)
  expect(0 "sum 0\n" "" ${preload} "${program}" mpi)
  expect(1 "calls Zoltan\n" "Zoltan ERROR in Zoltan_Create:  ${sentence}\n" ${preload} "${program}" zoltan)
  if(OTHER_LAUNCH)
    separate_arguments(launch UNIX_COMMAND "${OTHER_LAUNCH}")
    expect(0 "sum 1\nsum 1\n" "" ${launch} ${preload} "${program}" mpi)
    # The launcher may say instead that it killed the other rank, and may put the text of one rank before the end
    # of the line of the other.
    expect("[1-9][0-9]*" "calls Zoltan.*" "Zoltan ERROR in Zoltan_Create:  ${sentence}.*" ${launch} ${preload}
           "${program}" zoltan)
  endif()
endif()
