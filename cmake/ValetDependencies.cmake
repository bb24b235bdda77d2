# SPDX-License-Identifier: BSD-3-Clause

# Finds the dependencies. Sets VALET_WITH_KOKKOS and VALET_WITH_ZOLTAN if the adapters are built, and
# VALET_WITH_P4EST if the example and the tests that need p4est are built; VALET_WITH_PETSC likewise.
# Included by the top level: imported targets are visible in the directory that finds them and below.

# Debian's Kokkos requires extensions to be off and prints a warning unless this is set.
set(CMAKE_CXX_EXTENSIONS OFF)

find_package(MPI REQUIRED COMPONENTS C CXX)
find_package(xxHash REQUIRED)
find_package(nlohmann_json REQUIRED)
if(VALET_BUILD_TOOLS STREQUAL "AUTO" AND NOT VALET_BUILD_EXAMPLES)
  find_package(CLI11 QUIET)
  if(NOT CLI11_FOUND)
    set(VALET_BUILD_TOOLS OFF)
    message(STATUS "Valet: valet-bench and valet-plan are left out: CLI11 was not found (libcli11-dev)")
  endif()
elseif(VALET_BUILD_TOOLS OR VALET_BUILD_EXAMPLES)
  find_package(CLI11 REQUIRED)
endif()

# Sets valet_reason, why a package is not used.
macro(valet_why_not_found package)
  set(valet_reason "${package} was not found")
  if(${package}_FOREIGN_MPI)
    set(valet_reason "${${package}_FOREIGN_MPI}")
  elseif(${package}_BROKEN)
    set(valet_reason "${${package}_BROKEN}")
  endif()
endmacro()

# Finds an optional package of a tool. Prints a status line; ON is an error if the package is missing.
macro(valet_find_for_tool tool package option target debian_package)
  if(VALET_BUILD_TOOLS AND ${option})
    find_package(${package} QUIET)
    valet_why_not_found(${package})
    if(NOT ${package}_FOUND AND NOT ${option} STREQUAL "AUTO")
      message(FATAL_ERROR "Valet: ${option}=${${option}}, but ${valet_reason} "
                          "(Debian and Ubuntu: ${debian_package}).")
    endif()
  endif()
  if(VALET_BUILD_TOOLS)
    if(TARGET ${target})
      message(STATUS "Valet: ${tool} is built with ${package}")
    elseif(${option})
      message(STATUS "Valet: ${tool} is built without ${package}: ${valet_reason}")
    else()
      message(STATUS "Valet: ${tool} is built without ${package} (${option}=${${option}})")
    endif()
  endif()
endmacro()

# valet-plan proves minimum numbers of phases with CBC if available.
set(VALET_CBC AUTO CACHE STRING "Build valet-plan with the solver CBC: AUTO, ON or OFF")
# valet-bench compares layouts with ScaLAPACK's pdgemr2d if available.
set(VALET_SCALAPACK AUTO CACHE STRING "Build valet-bench with ScaLAPACK: AUTO, ON or OFF")
set_property(CACHE VALET_CBC VALET_SCALAPACK PROPERTY STRINGS AUTO ON OFF)
valet_find_for_tool(valet-plan Cbc VALET_CBC Cbc::cbc coinor-libcbc-dev)
valet_find_for_tool(valet-bench ScaLAPACK VALET_SCALAPACK ScaLAPACK::scalapack
                    libscalapack-openmpi-dev)

# For the target docs of this project, not of a parent project.
if(VALET_DOCS AND PROJECT_IS_TOP_LEVEL)
  find_package(Doxygen 1.9.4 QUIET)
  if(NOT DOXYGEN_FOUND AND NOT VALET_DOCS STREQUAL "AUTO")
    message(FATAL_ERROR "Valet: VALET_DOCS=${VALET_DOCS}, but Doxygen 1.9.4 or later was not found "
                        "(Debian and Ubuntu: doxygen).")
  endif()
endif()

# For the Fortran module, if there is a Fortran compiler.
if(VALET_FORTRAN)
  include(CheckLanguage)
  check_language(Fortran)
  if(CMAKE_Fortran_COMPILER)
    enable_language(Fortran)
  elseif(NOT VALET_FORTRAN STREQUAL "AUTO")
    message(FATAL_ERROR "Valet: VALET_FORTRAN=${VALET_FORTRAN}, but there is no Fortran compiler.")
  endif()
endif()

include(ValetImportedTargets)
include(ValetFindZoltan)
include(ValetEnableZoltan)

# Sets VALET_WITH_<PACKAGE>. Prints a status line per directory; ON is an error if the package is missing.
macro(valet_decide_adapter option package directory)
  string(TOUPPER "${${option}}" valet_wish)
  string(TOUPPER "VALET_WITH_${package}" valet_with)
  set(${valet_with} FALSE)
  valet_why_not_found(${package})
  if(NOT valet_wish STREQUAL "AUTO" AND NOT ${option})
    message(STATUS "Valet: ${directory} is off (${option}=${${option}})")
  elseif(NOT ${package}_FOUND)
    if(NOT valet_wish STREQUAL "AUTO")
      message(FATAL_ERROR "Valet: ${option}=${${option}}, but ${valet_reason}.")
    endif()
    message(STATUS "Valet: ${directory} skipped: ${valet_reason}")
  else()
    set(${valet_with} TRUE)
    message(STATUS "Valet: ${directory} is built")
  endif()
endmacro()

# Sets Kokkos_BROKEN to the reason where the package names files that it does not contain, as Debian's libkokkos-dev
# 5.2.2-2 does. That ends the CMake that finds it, so another one tries, each time until it is whole.
function(valet_try_kokkos)
  if(NOT DEFINED CACHE{VALET_KOKKOS_BROKEN} OR VALET_KOKKOS_BROKEN)
    set(probe "${PROJECT_BINARY_DIR}/CMakeFiles/kokkos_probe")
    file(REMOVE_RECURSE "${probe}")
    file(WRITE "${probe}/CMakeLists.txt"
         "cmake_minimum_required(VERSION 3.22)\nproject(probe CXX)\nfind_package(Kokkos CONFIG QUIET)\n")
    set(settings "")
    foreach(name IN ITEMS CMAKE_CXX_COMPILER CMAKE_TOOLCHAIN_FILE CMAKE_MAKE_PROGRAM CMAKE_PREFIX_PATH Kokkos_ROOT
                          Kokkos_DIR)
      if(DEFINED ${name})
        string(REPLACE ";" "\\;" value "${${name}}")
        list(APPEND settings "-D${name}=${value}")
      endif()
    endforeach()
    execute_process(COMMAND "${CMAKE_COMMAND}" -S "${probe}" -B "${probe}/build" -G "${CMAKE_GENERATOR}" ${settings}
                    OUTPUT_QUIET ERROR_VARIABLE error)
    set(broken "")
    if(error MATCHES "references the file[ \n]*\"([^\"]*)\"")
      set(broken "Kokkos names ${CMAKE_MATCH_1}, which its package does not contain")
    endif()
    set(VALET_KOKKOS_BROKEN "${broken}" CACHE INTERNAL "Why Kokkos cannot be found")
  endif()
  set(Kokkos_BROKEN "${VALET_KOKKOS_BROKEN}" PARENT_SCOPE)
endfunction()

if(VALET_KOKKOS)
  if(TARGET Kokkos::kokkos)
    set(Kokkos_FOUND TRUE)
  else()
    valet_try_kokkos()
    if(NOT Kokkos_BROKEN)
      find_package(Kokkos CONFIG QUIET)
    endif()
  endif()
  valet_fix_kokkos()
endif()
valet_decide_adapter(VALET_KOKKOS Kokkos adapters/kokkos)

if(VALET_ZOLTAN)
  valet_find_zoltan()
endif()
valet_decide_adapter(VALET_ZOLTAN Zoltan adapters/zoltan)

# The p4est adapter does not need p4est.
set(VALET_WITH_P4EST FALSE)
set(valet_uses_of_p4est "")
if(VALET_BUILD_EXAMPLES AND VALET_WITH_KOKKOS AND VALET_WITH_ZOLTAN)
  list(APPEND valet_uses_of_p4est examples/amr)
endif()
if(VALET_BUILD_TESTS)
  list(APPEND valet_uses_of_p4est tests/p4est)
endif()
if(valet_uses_of_p4est)
  if(VALET_P4EST)
    find_package(P4est QUIET)
  endif()
  list(JOIN valet_uses_of_p4est ", " valet_uses_of_p4est)
  valet_decide_adapter(VALET_P4EST P4est "${valet_uses_of_p4est}")
endif()

# The PETSc adapter does not need PETSc, its tests do.
set(VALET_WITH_PETSC FALSE)
if(VALET_BUILD_TESTS)
  if(VALET_PETSC)
    find_package(PETSc 3.18 QUIET)
  endif()
  valet_decide_adapter(VALET_PETSC PETSc tests/petsc)
endif()

# Only for the scale tests: the core is compiled again for SimGrid's MPI.
set(VALET_WITH_SIMGRID FALSE)
if(VALET_BUILD_TESTS)
  if(VALET_SMPI)
    find_package(SimGrid QUIET)
  endif()
  valet_decide_adapter(VALET_SMPI SimGrid tests/scale)
endif()
