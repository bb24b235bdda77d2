# SPDX-License-Identifier: BSD-3-Clause

# valet_add_man_pages(<program>...): writes manual pages from the --help of the programs and of their
# subcommands to man/ of the build tree, and installs them with the programs. Does nothing without
# help2man, when cross-compiling, or with sanitizers.
function(valet_add_man_pages)
  find_program(HELP2MAN_EXECUTABLE help2man)
  mark_as_advanced(HELP2MAN_EXECUTABLE)
  if(NOT HELP2MAN_EXECUTABLE OR CMAKE_CROSSCOMPILING OR VALET_SANITIZE)
    return()
  endif()
  set(directory "${PROJECT_BINARY_DIR}/man")
  set(written "")
  foreach(program IN LISTS ARGN)
    add_custom_command(
      OUTPUT "${directory}/${program}.1"
      COMMAND
        "${CMAKE_COMMAND}" "-DHELP2MAN=${HELP2MAN_EXECUTABLE}" "-DPROGRAM=$<TARGET_FILE:${program}>"
        "-DNAME=${program}" "-DVERSION=${PROJECT_VERSION}" "-DDIRECTORY=${directory}" -P
        "${VALET_MODULE_DIR}/ValetWriteManPages.cmake"
      DEPENDS ${program} "${VALET_MODULE_DIR}/ValetWriteManPages.cmake"
      COMMENT "Writing the manual of ${program}"
      VERBATIM)
    list(APPEND written "${directory}/${program}.1")
  endforeach()
  add_custom_target(man ALL DEPENDS ${written})
  if(VALET_INSTALL)
    install(
      DIRECTORY "${directory}/"
      DESTINATION "${CMAKE_INSTALL_MANDIR}/man1"
      FILES_MATCHING
      PATTERN "*.1")
  endif()
endfunction()
