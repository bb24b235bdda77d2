// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

namespace valet::c {

/// The communicator that Fortran knows by an integer.
inline MPI_Comm from_fortran(int communicator) {
#if MPI_VERSION >= 5
  return MPI_Comm_fromint(communicator);  // the standard ABI has no MPI_Comm_f2c
#else
  return MPI_Comm_f2c(communicator);
#endif
}

}  // namespace valet::c
