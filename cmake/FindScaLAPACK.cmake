# SPDX-License-Identifier: BSD-3-Clause

# Defines ScaLAPACK::scalapack, built for the selected MPI: Debian has a separate library for each.
include(ValetMpiFamily)
valet_mpi_family(family)
set(names scalapack)
if(family STREQUAL "Open MPI")
  list(PREPEND names scalapack-openmpi)
elseif(family STREQUAL "MPICH")
  list(PREPEND names scalapack-mpich)
endif()
find_library(ScaLAPACK_LIBRARY NAMES ${names})
mark_as_advanced(ScaLAPACK_LIBRARY)
valet_find_foreign_mpi(ScaLAPACK_FOREIGN_MPI "${ScaLAPACK_LIBRARY}")
set(ScaLAPACK_FITS_MPI TRUE)
if(ScaLAPACK_FOREIGN_MPI)
  set(ScaLAPACK_FITS_MPI FALSE)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  ScaLAPACK REQUIRED_VARS ScaLAPACK_LIBRARY ScaLAPACK_FITS_MPI
  REASON_FAILURE_MESSAGE "${ScaLAPACK_FOREIGN_MPI}")

if(ScaLAPACK_FOUND AND NOT TARGET ScaLAPACK::scalapack)
  add_library(ScaLAPACK::scalapack INTERFACE IMPORTED)
  set_target_properties(ScaLAPACK::scalapack PROPERTIES INTERFACE_LINK_LIBRARIES
                                                        "${ScaLAPACK_LIBRARY}")
endif()
