# SPDX-License-Identifier: BSD-3-Clause

include(CMakePackageConfigHelpers)
set(VALET_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/Valet")
set(VALET_MODULE_DIR "${CMAKE_CURRENT_LIST_DIR}")
# Below 1.0 a minor version may break compatibility, so the SONAME includes it.
set(VALET_SOVERSION ${Valet_VERSION_MAJOR})
if(Valet_VERSION_MAJOR EQUAL 0)
  string(APPEND VALET_SOVERSION ".${Valet_VERSION_MINOR}")
endif()

# valet_install_library(<target> EXPORT_NAME <name> HEADERS_DIR <directory>)
#
# Makes <target> public: alias Valet::<name>, include root <directory> (which contains valet/), SONAME,
# install rules for the library and its headers. Each library has its own export set, so a consumer
# without Kokkos or Zoltan can still load the core.
function(valet_install_library target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXPORT_NAME;HEADERS_DIR" "")
  if(NOT arg_EXPORT_NAME OR NOT arg_HEADERS_DIR OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "valet_install_library(<target> EXPORT_NAME <name> HEADERS_DIR <directory>)")
  endif()
  get_filename_component(headers "${arg_HEADERS_DIR}" ABSOLUTE)

  if(NOT TARGET Valet::${arg_EXPORT_NAME})
    add_library(Valet::${arg_EXPORT_NAME} ALIAS ${target})
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set(scope INTERFACE)
  else()
    set(scope PUBLIC)
    set_target_properties(
      ${target}
      PROPERTIES VERSION ${Valet_VERSION}
                 SOVERSION ${VALET_SOVERSION}
                 INSTALL_RPATH "$ORIGIN")
    # MPI calls the library back when a communicator is freed, which may be long after a plugin that uses
    # it has been closed: the code stays where it is. A static library is part of what it is linked into.
    if(NOT APPLE)
      set(linked PRIVATE)
      if(type STREQUAL "STATIC_LIBRARY")
        set(linked INTERFACE)
      endif()
      target_link_options(${target} ${linked} "LINKER:-z,nodelete")
    endif()
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${arg_EXPORT_NAME})
  target_include_directories(${target} ${scope} "$<BUILD_INTERFACE:${headers}>"
                             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  if(NOT VALET_INSTALL)
    return()
  endif()

  install(
    TARGETS ${target}
    EXPORT valet_${arg_EXPORT_NAME}
    RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  # Includes the headers in detail/, because public headers include them.
  install(
    DIRECTORY "${headers}/valet"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILES_MATCHING
    PATTERN "*.hpp"
    PATTERN "*.h")
  install(
    EXPORT valet_${arg_EXPORT_NAME}
    FILE ValetTargets_${arg_EXPORT_NAME}.cmake
    NAMESPACE Valet::
    DESTINATION "${VALET_PACKAGE_DIR}")
  set_property(GLOBAL APPEND PROPERTY VALET_INSTALLED_LIBRARIES ${arg_EXPORT_NAME})
endfunction()

# valet_install_program(<target>): installs it to bin/ with an RPATH to our libraries.
function(valet_install_program target)
  file(RELATIVE_PATH to_libraries "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${to_libraries}")
  if(VALET_INSTALL)
    install(TARGETS ${target} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  endif()
endfunction()

# valet_use_header_only(<target> <imported target>...): compiles against header-only libraries without
# linking them, so consumers do not need them, even with a static Valet.
function(valet_use_header_only target)
  foreach(library IN LISTS ARGN)
    target_link_libraries(${target} PRIVATE "$<BUILD_INTERFACE:${library}>")
  endforeach()
endfunction()

# Installs package config, version file, pkg-config files and a module file; called once, after all libraries are known.
function(valet_install_package)
  get_property(VALET_INSTALLED_LIBRARIES GLOBAL PROPERTY VALET_INSTALLED_LIBRARIES)
  set(VALET_ZOLTAN_USES_KOKKOS FALSE)
  if(TARGET valet_zoltan AND TARGET valet_kokkos)
    get_target_property(libraries valet_zoltan INTERFACE_LINK_LIBRARIES)
    if(libraries MATCHES "valet_kokkos|Valet::kokkos")
      set(VALET_ZOLTAN_USES_KOKKOS TRUE)
    endif()
  endif()

  valet_mpi_family(VALET_MPI_FAMILY)
  set(generated "${PROJECT_BINARY_DIR}/package")
  configure_package_config_file(
    "${VALET_MODULE_DIR}/ValetConfig.cmake.in" "${generated}/ValetConfig.cmake"
    INSTALL_DESTINATION "${VALET_PACKAGE_DIR}")
  # Below 1.0 a minor version may break compatibility.
  write_basic_package_version_file("${generated}/ValetConfigVersion.cmake"
                                   COMPATIBILITY SameMinorVersion)
  install(
    FILES "${generated}/ValetConfig.cmake" "${generated}/ValetConfigVersion.cmake"
          "${VALET_MODULE_DIR}/ValetImportedTargets.cmake" "${VALET_MODULE_DIR}/ValetFindZoltan.cmake"
          "${VALET_MODULE_DIR}/ValetEnableZoltan.cmake" "${VALET_MODULE_DIR}/ValetMpiFamily.cmake"
          "${VALET_MODULE_DIR}/FindP4est.cmake"
    DESTINATION "${VALET_PACKAGE_DIR}")

  # The licence, and the examples as a separate project.
  set(documents "${CMAKE_INSTALL_DATAROOTDIR}/doc/valet")
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${documents}")
  install(
    DIRECTORY "${PROJECT_SOURCE_DIR}/examples"
    DESTINATION "${documents}"
    FILES_MATCHING
    REGEX "\\.(c|h|cpp|hpp|f90|py)$|/(CMakeLists|one_door)\\.txt$"
    PATTERN "__pycache__" EXCLUDE)

  valet_install_pkgconfig()
  valet_install_modulefile()
endfunction()

# Installs valet.pc, and a .pc file for every other library that is usable without CMake.
function(valet_install_pkgconfig)
  set(pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
  if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
    set(VALET_PC_PREFIX "${CMAKE_INSTALL_PREFIX}")
    set(VALET_PC_INCLUDEDIR "${CMAKE_INSTALL_FULL_INCLUDEDIR}")
    set(VALET_PC_LIBDIR "${CMAKE_INSTALL_FULL_LIBDIR}")
  else()
    # Relative to the .pc file, so that the installed tree can be moved.
    file(RELATIVE_PATH up "/${pc_dir}" "/")
    string(REGEX REPLACE "/$" "" up "${up}")
    set(VALET_PC_PREFIX "\${pcfiledir}/${up}")
    set(VALET_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
    set(VALET_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  endif()
  set(packages valet)
  if(TARGET valet_fortran)
    list(APPEND packages valet_fortran)
  endif()
  if(TARGET valet_zoltan)
    valet_zoltan_link_flags(VALET_PC_ZOLTAN_CFLAGS VALET_PC_ZOLTAN_LIBS)
    list(APPEND packages valet_zoltan)
  endif()
  if(TARGET valet_zoltan_fortran)
    list(APPEND packages valet_zoltan_fortran)
  endif()
  set(generated "${PROJECT_BINARY_DIR}/package")
  foreach(package IN LISTS packages)
    configure_file("${VALET_MODULE_DIR}/${package}.pc.in" "${generated}/${package}.pc" @ONLY)
    install(FILES "${generated}/${package}.pc" DESTINATION "${pc_dir}")
  endforeach()
endfunction()

# Installs a module file for `module load valet`, named by the version as such files are.
function(valet_install_modulefile)
  set(VALET_MODULEFILES "${CMAKE_INSTALL_DATAROOTDIR}/valet/modulefiles")
  if(IS_ABSOLUTE "${CMAKE_INSTALL_DATAROOTDIR}")
    set(up "${CMAKE_INSTALL_PREFIX}")
  else()
    file(RELATIVE_PATH up "/${VALET_MODULEFILES}/valet" "/")
  endif()
  set(generated "${PROJECT_BINARY_DIR}/package/modulefile")
  configure_file("${VALET_MODULE_DIR}/modulefile.in" "${generated}" @ONLY)
  install(FILES "${generated}" DESTINATION "${VALET_MODULEFILES}/valet" RENAME "${Valet_VERSION}")
endfunction()
