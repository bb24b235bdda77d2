# SPDX-License-Identifier: BSD-3-Clause

# Defines p4est::p4est, p4est and its libsc. Distributions ship neither a CMake package nor a .pc file.
# p4est is under the GPL: only an example and tests link it, never one of our libraries.
find_path(P4est_INCLUDE_DIR p8est.h)
find_library(P4est_LIBRARY p4est)
# Not Debian's libsc-dev, which is a different toolkit.
find_path(P4est_SC_INCLUDE_DIR sc_containers.h HINTS "${P4est_INCLUDE_DIR}")
find_library(P4est_SC_LIBRARY sc)
mark_as_advanced(P4est_INCLUDE_DIR P4est_LIBRARY P4est_SC_INCLUDE_DIR P4est_SC_LIBRARY)

set(P4est_VERSION "")
if(P4est_INCLUDE_DIR)
  set(pattern "^#define P4EST_PACKAGE_VERSION +\"([0-9.]+)")
  file(STRINGS "${P4est_INCLUDE_DIR}/p4est_config.h" line REGEX "${pattern}")
  if(line MATCHES "${pattern}")
    set(P4est_VERSION "${CMAKE_MATCH_1}")
  endif()
endif()

include(ValetMpiFamily)
valet_find_foreign_mpi(P4est_FOREIGN_MPI "${P4est_LIBRARY}" "${P4est_SC_LIBRARY}")
set(P4est_FITS_MPI TRUE)
if(P4est_FOREIGN_MPI)
  set(P4est_FITS_MPI FALSE)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  P4est
  REQUIRED_VARS P4est_LIBRARY P4est_INCLUDE_DIR P4est_SC_LIBRARY P4est_SC_INCLUDE_DIR P4est_FITS_MPI
  VERSION_VAR P4est_VERSION
  REASON_FAILURE_MESSAGE "${P4est_FOREIGN_MPI}")

if(P4est_FOUND AND NOT TARGET p4est::p4est)
  add_library(p4est::p4est INTERFACE IMPORTED)
  set_target_properties(
    p4est::p4est
    PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${P4est_INCLUDE_DIR};${P4est_SC_INCLUDE_DIR}"
               INTERFACE_LINK_LIBRARIES "${P4est_LIBRARY};${P4est_SC_LIBRARY};MPI::MPI_C")
endif()
