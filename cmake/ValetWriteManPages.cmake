# SPDX-License-Identifier: BSD-3-Clause

# cmake -DHELP2MAN= -DPROGRAM= -DNAME= -DVERSION= -DDIRECTORY= -P: writes DIRECTORY/NAME.1 from what PROGRAM
# prints for --help, and DIRECTORY/NAME-SUBCOMMAND.1 for each of its subcommands. Where the program does not
# run, as a program of MPI in a build without network may not, there is one page that says no more than that.
cmake_minimum_required(VERSION 3.22)

get_filename_component(program_directory "${PROGRAM}" DIRECTORY)
get_filename_component(program "${PROGRAM}" NAME)

# write_page(<page> <description> [<subcommand>]): the page has the name that man looks for, and of the
# description what it begins with.
function(write_page page description)
  string(REGEX REPLACE "( \\(|[.,:] ).*" "" title "${description}")
  # help2man gives this to a shell: no path that may have spaces.
  string(JOIN " " command "./${program}" ${ARGN})
  execute_process(
    COMMAND "${HELP2MAN}" --no-info "--version-string=${VERSION}" "--name=${title}"
            "--manual=Valet" "--source=Valet ${VERSION}" "${command}"
    WORKING_DIRECTORY "${program_directory}"
    OUTPUT_VARIABLE text
    RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "help2man fails for ${command}")
  endif()
  string(TOUPPER "${page}" upper)
  string(REGEX REPLACE "\n\\.TH [^ ]+ " "\n.TH ${upper} " text "${text}")
  string(REGEX REPLACE "(\n\\.SH NAME\n)[^\n]* (\\\\- )" "\\1${page} \\2" text "${text}")
  file(WRITE "${DIRECTORY}/${page}.1" "${text}")
endfunction()

execute_process(
  COMMAND "${PROGRAM}" --help
  OUTPUT_VARIABLE help
  RESULT_VARIABLE failed ERROR_QUIET)
if(failed)
  message(STATUS "${NAME} --help does not run here: its manual names it, and no more")
  file(WRITE "${DIRECTORY}/${NAME}.1" ".TH ${NAME} 1\n.SH NAME\n${NAME} \\- see ${NAME} \\-\\-help\n")
  return()
endif()
string(REGEX MATCH "^[^\n]+" description "${help}")
write_page("${NAME}" "${description}")
string(FIND "${help}" "\nSubcommands:\n" at)
if(at GREATER -1)
  string(SUBSTRING "${help}" ${at} -1 help)
  string(REPLACE ";" "," help "${help}")
  string(REGEX MATCHALL "\n  [a-z]+ +[^\n]+" lines "${help}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "([a-z]+) +(.*)" line "${line}")
    write_page("${NAME}-${CMAKE_MATCH_1}" "${CMAKE_MATCH_2}" ${CMAKE_MATCH_1})
  endforeach()
endif()
