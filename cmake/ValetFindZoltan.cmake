# SPDX-License-Identifier: BSD-3-Clause

include("${CMAKE_CURRENT_LIST_DIR}/ValetImportedTargets.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/ValetMpiFamily.cmake")

# valet_find_zoltan(): sets Zoltan_FOUND in the caller and defines Zoltan::zoltan. A Zoltan built for
# another MPI is rejected; Zoltan_FOREIGN_MPI then contains the reason.
#
# Trilinos 14 and later export this target, but Debian's has another name since Trilinos 16, so that only
# Zoltan::all_libs is common to both; older versions export a library without its include directory and list
# both in variables; a stand-alone Zoltan has no CMake package. Also installed, so that consumers
# get the same target. A macro, because find_package sets variables. MPI::MPI_CXX must exist: zoltan.h
# includes mpi.h.
macro(valet_find_zoltan)
  if(NOT TARGET Zoltan::zoltan)
    find_package(Zoltan CONFIG QUIET)
    valet_drop_missing_paths(Zoltan::zoltan ${Zoltan_LIBRARIES})
  endif()
  valet_find_foreign_mpi(Zoltan_FOREIGN_MPI Zoltan::zoltan ${Zoltan_LIBRARIES})
  if(Zoltan_FOREIGN_MPI)
    set(Zoltan_FOUND FALSE)
  elseif(TARGET Zoltan::zoltan)
    set(Zoltan_FOUND TRUE)
  else()
    if(TARGET Zoltan::all_libs)
      get_target_property(Zoltan_INCLUDE_DIRS Zoltan::all_libs INTERFACE_INCLUDE_DIRECTORIES)
    endif()
    find_path(Valet_ZOLTAN_INCLUDE_DIR zoltan.h HINTS ${Zoltan_INCLUDE_DIRS}
              PATH_SUFFIXES trilinos)
    find_library(Valet_ZOLTAN_LIBRARY NAMES zoltan trilinos_zoltan HINTS ${Zoltan_LIBRARY_DIRS})
    mark_as_advanced(Valet_ZOLTAN_INCLUDE_DIR Valet_ZOLTAN_LIBRARY)
    valet_find_foreign_mpi(Zoltan_FOREIGN_MPI "${Valet_ZOLTAN_LIBRARY}")
    set(Zoltan_FOUND FALSE)
    if(Valet_ZOLTAN_INCLUDE_DIR AND NOT Zoltan_FOREIGN_MPI AND (Zoltan_LIBRARIES
                                                                OR Valet_ZOLTAN_LIBRARY))
      set(Zoltan_FOUND TRUE)
      add_library(Zoltan::zoltan INTERFACE IMPORTED)
      set_target_properties(Zoltan::zoltan PROPERTIES INTERFACE_INCLUDE_DIRECTORIES
                                                      "${Valet_ZOLTAN_INCLUDE_DIR}")
      if(Zoltan_LIBRARIES)
        set_property(TARGET Zoltan::zoltan PROPERTY INTERFACE_LINK_LIBRARIES ${Zoltan_LIBRARIES}
                                                    MPI::MPI_CXX)
      else()
        set_property(TARGET Zoltan::zoltan PROPERTY INTERFACE_LINK_LIBRARIES
                                                    ${Valet_ZOLTAN_LIBRARY} MPI::MPI_CXX)
      endif()
    endif()
  endif()
endmacro()
