# SPDX-License-Identifier: BSD-3-Clause

# Defines ScaLAPACK::scalapack, built for the MPI we use: Debian has one library for each. Neither its
# CMake nor its pkg-config file says for which, but the names of the libraries do.
set(names scalapack)
if(MPI_CXX_INCLUDE_DIRS MATCHES "openmpi")
  list(PREPEND names scalapack-openmpi)
elseif(MPI_CXX_INCLUDE_DIRS MATCHES "mpich")
  list(PREPEND names scalapack-mpich)
endif()
find_library(ScaLAPACK_LIBRARY NAMES ${names})
mark_as_advanced(ScaLAPACK_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ScaLAPACK REQUIRED_VARS ScaLAPACK_LIBRARY)

if(ScaLAPACK_FOUND AND NOT TARGET ScaLAPACK::scalapack)
  add_library(ScaLAPACK::scalapack INTERFACE IMPORTED)
  set_target_properties(ScaLAPACK::scalapack PROPERTIES INTERFACE_LINK_LIBRARIES
                                                        "${ScaLAPACK_LIBRARY}")
endif()
