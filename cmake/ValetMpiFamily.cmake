# SPDX-License-Identifier: BSD-3-Clause

# Programs for one MPI do not run with libraries built for another. Distributions build libraries for
# their default MPI, and the CMake and pkg-config files do not specify it. Also installed, because
# consumers may find the same libraries.

# valet_mpi_family(<variable>): the family of the MPI that find_package selected: "Open MPI", "MPICH" (and
# its derivatives), "MPI ABI" (the standard ABI of MPI 5, which both have), or "" for another.
function(valet_mpi_family variable)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(language C)
  set(source "${CMAKE_BINARY_DIR}/CMakeFiles/valet_mpi_family.c")
  if("CXX" IN_LIST languages)
    set(language CXX)
    string(APPEND source "c")
  endif()
  # Quoted, because MPICH is also a macro. As in src/mpi/family.cpp.
  file(CONFIGURE OUTPUT "${source}"
       CONTENT [[
#include <mpi.h>
#if defined(MPI_ABI_VERSION) && MPI_ABI_VERSION >= 1
"valet: MPI ABI"
#elif defined(OPEN_MPI)
"valet: Open MPI"
#elif defined(MPICH_VERSION)
"valet: MPICH"
#endif
]])
  set(includes ${MPI_${language}_INCLUDE_DIRS})
  list(TRANSFORM includes PREPEND "-I")
  # MPICH has one header for both of its ABIs, and a definition selects.
  set(definitions ${MPI_${language}_COMPILE_DEFINITIONS})
  list(TRANSFORM definitions PREPEND "-D")
  execute_process(
    COMMAND "${CMAKE_${language}_COMPILER}" ${definitions} ${includes} -E "${source}"
    OUTPUT_VARIABLE text
    ERROR_QUIET)
  set(${variable} "" PARENT_SCOPE)
  if(text MATCHES "\"valet: (MPI ABI|Open MPI|MPICH)\"")
    set(${variable} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  endif()
endfunction()

# valet_find_foreign_mpi(<variable> <library>...): a message about the first library (file or imported
# target) that is built for an MPI other than the selected one; empty if there is none.
function(valet_find_foreign_mpi variable)
  set(${variable} "" PARENT_SCOPE)
  valet_mpi_family(selected)
  set(waiting ${ARGN})
  set(seen "")
  while(waiting)
    list(POP_FRONT waiting library)
    if(library IN_LIST seen)
      continue()
    endif()
    list(APPEND seen "${library}")
    if(TARGET "${library}")
      get_target_property(imported ${library} IMPORTED)
      if(NOT imported)
        continue()
      endif()
      get_target_property(type ${library} TYPE)
      if(type STREQUAL "INTERFACE_LIBRARY")
        # A name for others, as Zoltan::all_libs.
        get_target_property(links ${library} INTERFACE_LINK_LIBRARIES)
        list(APPEND waiting ${links})
        continue()
      endif()
      get_target_property(library ${library} LOCATION)
    endif()
    if(NOT selected OR NOT EXISTS "${library}")
      continue()
    endif()
    # Open MPI's constants are symbols; MPICH's are numbers, but its library names are distinctive.
    # Not every MPIR_ symbol counts: every MPI uses this prefix for its debugger interface. A library for
    # the standard ABI needs only libmpi_abi, of whichever MPI, and works with that of any other.
    set(built_for "")
    file(STRINGS "${library}" abi LIMIT_COUNT 1 REGEX "^libmpi_abi\\.so")
    file(STRINGS "${library}" open_mpi LIMIT_COUNT 1 REGEX "^ompi_mpi_")
    file(STRINGS "${library}" mpich LIMIT_COUNT 1 REGEX "^libmpich\\.so|^libmpi\\.so\\.12|^MPIR_Err_")
    if(abi)
      set(built_for "MPI ABI")
    elseif(open_mpi)
      set(built_for "Open MPI")
    elseif(mpich)
      set(built_for "MPICH")
    endif()
    if(built_for AND NOT built_for STREQUAL selected)
      set(${variable} "${library} is built for ${built_for}, and ${selected} is selected"
          PARENT_SCOPE)
      return()
    endif()
  endwhile()
endfunction()
