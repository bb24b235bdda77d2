# SPDX-License-Identifier: BSD-3-Clause

# Defines SimGrid::smpi, SimGrid's simulated MPI, which replaces the real MPI, and SimGrid_SMPIRUN, which
# starts programs on a simulated machine. Debian ships no CMake package.
find_path(SimGrid_INCLUDE_DIR smpi/smpi.h)
find_library(SimGrid_LIBRARY simgrid)
find_program(SimGrid_SMPIRUN smpirun)
mark_as_advanced(SimGrid_INCLUDE_DIR SimGrid_LIBRARY SimGrid_SMPIRUN)

set(SimGrid_VERSION "")
if(SimGrid_INCLUDE_DIR AND EXISTS "${SimGrid_INCLUDE_DIR}/simgrid/version.h")
  set(pattern "^#define SIMGRID_VERSION_(MAJOR|MINOR) +([0-9]+)")
  file(STRINGS "${SimGrid_INCLUDE_DIR}/simgrid/version.h" lines REGEX "${pattern}")
  list(TRANSFORM lines REPLACE "${pattern}.*" "\\2")
  list(JOIN lines "." SimGrid_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  SimGrid
  REQUIRED_VARS SimGrid_LIBRARY SimGrid_INCLUDE_DIR SimGrid_SMPIRUN
  VERSION_VAR SimGrid_VERSION)

if(SimGrid_FOUND AND NOT TARGET SimGrid::smpi)
  # Its mpi.h must precede that of any other MPI.
  add_library(SimGrid::smpi INTERFACE IMPORTED)
  set_target_properties(
    SimGrid::smpi
    PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${SimGrid_INCLUDE_DIR}/smpi;${SimGrid_INCLUDE_DIR}"
               INTERFACE_LINK_LIBRARIES "${SimGrid_LIBRARY}")
endif()
