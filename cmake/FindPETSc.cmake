# SPDX-License-Identifier: BSD-3-Clause

# Defines PETSc::PETSc from its .pc file, also that of a PETSC_DIR and PETSC_ARCH of the environment.
# Only tests link it, never one of our libraries.
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  set(prefixes "${CMAKE_PREFIX_PATH}")
  if(DEFINED ENV{PETSC_DIR})
    list(PREPEND CMAKE_PREFIX_PATH "$ENV{PETSC_DIR}/$ENV{PETSC_ARCH}")
  endif()
  pkg_check_modules(PETSc_PC QUIET IMPORTED_TARGET PETSc)
  set(CMAKE_PREFIX_PATH "${prefixes}")
endif()
set(PETSc_INCLUDE_DIRS "${PETSc_PC_INCLUDE_DIRS}")

include(ValetMpiFamily)
valet_find_foreign_mpi(PETSc_FOREIGN_MPI ${PETSc_PC_LINK_LIBRARIES})
set(PETSc_FITS_MPI TRUE)
if(PETSc_FOREIGN_MPI)
  set(PETSc_FITS_MPI FALSE)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  PETSc
  REQUIRED_VARS PETSc_PC_LINK_LIBRARIES PETSc_INCLUDE_DIRS PETSc_FITS_MPI
  VERSION_VAR PETSc_PC_VERSION
  REASON_FAILURE_MESSAGE "${PETSc_FOREIGN_MPI}")

if(PETSc_FOUND AND NOT TARGET PETSc::PETSc)
  add_library(PETSc::PETSc INTERFACE IMPORTED)
  set_target_properties(PETSc::PETSc PROPERTIES INTERFACE_LINK_LIBRARIES "PkgConfig::PETSc_PC;MPI::MPI_C")
endif()
