// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// How often all ranks wait for each other: counts this process's calls of MPI_Allreduce. For one
/// source file of a program.

#include <mpi.h>

namespace valet::test {

inline int reductions = 0;

}  // namespace valet::test

extern "C" {
__attribute__((visibility("default"))) int MPI_Allreduce(const void* sent, void* received,
                                                         int count, MPI_Datatype type,
                                                         MPI_Op operation, MPI_Comm comm) {
  ++valet::test::reductions;
  return PMPI_Allreduce(sent, received, count, type, operation, comm);
}
}
