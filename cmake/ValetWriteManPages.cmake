# SPDX-License-Identifier: BSD-3-Clause

# cmake -DHELP2MAN= -DPROGRAM= -DNAME= -DVERSION= -DDIRECTORY= -P: writes DIRECTORY/NAME.1 from the output of
# PROGRAM --help, and DIRECTORY/NAME-SUBCOMMAND.1 for each subcommand. If the program does not run, for
# example an MPI program in a build without network, writes a single page that refers to --help.
cmake_minimum_required(VERSION 3.22)

get_filename_component(program_directory "${PROGRAM}" DIRECTORY)
get_filename_component(program "${PROGRAM}" NAME)

# write_page(<page> <description> [<subcommand>]): writes the page under the name that man looks for, with
# the beginning of the description as its title.
function(write_page page description)
  string(REGEX REPLACE "( \\(|[.,:] ).*" "" title "${description}")
  # help2man passes this to a shell, so it must not contain a path that may have spaces.
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
# CLI11 2.6 writes titles in capitals.
string(TOLOWER "${help}" lower)
string(FIND "${lower}" "\nsubcommands:\n" at)
if(at GREATER -1)
  string(SUBSTRING "${help}" ${at} -1 help)
  string(REPLACE ";" "," help "${help}")
  string(REGEX MATCHALL "\n  [a-z]+ +[^\n]+" lines "${help}")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "([a-z]+) +(.*)" line "${line}")
    write_page("${NAME}-${CMAKE_MATCH_1}" "${CMAKE_MATCH_2}" ${CMAKE_MATCH_1})
  endforeach()
endif()
