# SPDX-License-Identifier: BSD-3-Clause

# valet_read_version(<header> <variable>): reads MAJOR.MINOR.PATCH from the header.
function(valet_read_version header variable)
  if(NOT EXISTS "${header}")
    message(FATAL_ERROR "Valet: ${header} is missing; it defines the version number.")
  endif()
  # Reconfigure when the version changes.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
  set(version "")
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    set(pattern "^[ \t]*#[ \t]*define[ \t]+VALET_VERSION_${part}[ \t]+([0-9]+)")
    file(STRINGS "${header}" lines REGEX "${pattern}")
    if(NOT lines MATCHES "${pattern}")
      message(FATAL_ERROR "Valet: ${header} does not define VALET_VERSION_${part} as a number.")
    endif()
    list(APPEND version "${CMAKE_MATCH_1}")
  endforeach()
  list(JOIN version "." version)
  set(${variable} "${version}" PARENT_SCOPE)
endfunction()
