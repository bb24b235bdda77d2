# SPDX-License-Identifier: BSD-3-Clause

# valet_add_fortran_library(<target> EXPORT_NAME <name> [TYPE <type>] LINKS <target>... SOURCES <file>...)
#
# Builds Fortran modules, each named like its source, if there is a Fortran compiler, and makes the library
# public: alias Valet::<name>, which links these targets. Only the compiler that made a module can read it, so the
# sources are always installed: an application can add them to its own sources.
function(valet_add_fortran_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXPORT_NAME;TYPE" "LINKS;SOURCES")
  if(VALET_INSTALL)
    install(FILES ${arg_SOURCES} DESTINATION "${CMAKE_INSTALL_DATADIR}/valet")
  endif()
  if(NOT CMAKE_Fortran_COMPILER)
    return()
  endif()

  add_library(${target} ${arg_TYPE} ${arg_SOURCES})
  add_library(Valet::${arg_EXPORT_NAME} ALIAS ${target})
  set(modules "${CMAKE_CURRENT_BINARY_DIR}/modules")
  set_target_properties(
    ${target}
    PROPERTIES Fortran_MODULE_DIRECTORY "${modules}"
               EXPORT_NAME ${arg_EXPORT_NAME}
               VERSION ${Valet_VERSION}
               SOVERSION ${VALET_SOVERSION}
               INSTALL_RPATH "$ORIGIN"
               POSITION_INDEPENDENT_CODE ON)
  set(gnu "$<Fortran_COMPILER_ID:GNU>")
  target_compile_options(
    ${target} PRIVATE "$<${gnu}:-std=f2018;-Wall;-Wextra>"
                      "$<$<AND:${gnu},$<BOOL:${VALET_WARNINGS_AS_ERRORS}>>:-Werror>")
  target_include_directories(
    ${target} PUBLIC "$<BUILD_INTERFACE:${modules}>"
                     "$<INSTALL_INTERFACE:${CMAKE_INSTALL_LIBDIR}/fortran/valet>")
  target_link_libraries(${target} PUBLIC ${arg_LINKS})
  if(NOT VALET_INSTALL)
    return()
  endif()

  set_property(GLOBAL APPEND PROPERTY VALET_INSTALLED_LIBRARIES ${arg_EXPORT_NAME})
  install(
    TARGETS ${target}
    EXPORT ${target}
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(
    EXPORT ${target}
    FILE ValetTargets_${arg_EXPORT_NAME}.cmake
    NAMESPACE Valet::
    DESTINATION "${VALET_PACKAGE_DIR}")
  list(TRANSFORM arg_SOURCES REPLACE "^(.*/)?([a-z_]+)\\.f90$" "${modules}/\\2.mod")
  install(FILES ${arg_SOURCES} DESTINATION "${CMAKE_INSTALL_LIBDIR}/fortran/valet")
endfunction()
