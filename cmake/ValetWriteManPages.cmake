# SPDX-License-Identifier: BSD-3-Clause

# cmake -DHELP2MAN= -DPROGRAM= -DNAME= -DVERSION= -DDIRECTORY= -P: writes DIRECTORY/NAME.1 from what PROGRAM
# prints for --help, and DIRECTORY/NAME-SUBCOMMAND.1 for each of its subcommands. Where the program does not
# run, as a program of MPI in a build without network may not, the page says no more than that.
cmake_minimum_required(VERSION 3.22)

get_filename_component(program_directory "${PROGRAM}" DIRECTORY)
get_filename_component(program "${PROGRAM}" NAME)

# write_page(<page> [<subcommand>]): the page has the name that man looks for.
function(write_page page)
  execute_process(
    COMMAND "${PROGRAM}" ${ARGN} --help
    OUTPUT_VARIABLE help
    RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    message(STATUS "${NAME} ${ARGN} --help does not run here: its manual is left out")
    file(WRITE "${DIRECTORY}/${page}.1" ".TH ${page} 1\n.SH NAME\n${page} \\- see ${page} \\-\\-help\n")
    return()
  endif()
  # The first sentence of the description says what it is.
  string(REGEX MATCH "^[^\n]+" title "${help}")
  string(REGEX REPLACE "( \\(|[.,:] ).*" "" title "${title}")
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
  set(help "${help}" PARENT_SCOPE)
endfunction()

write_page("${NAME}")
string(FIND "${help}" "\nSubcommands:\n" at)
if(at GREATER -1)
  string(SUBSTRING "${help}" ${at} -1 help)
  string(REGEX MATCHALL "\n  [a-z]+ " subcommands "${help}")
  foreach(subcommand IN LISTS subcommands)
    string(STRIP "${subcommand}" subcommand)
    write_page("${NAME}-${subcommand}" ${subcommand})
  endforeach()
endif()
