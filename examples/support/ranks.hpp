// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mpi.h>

namespace example {

inline int rank_of(MPI_Comm communicator) {
  int rank = 0;
  MPI_Comm_rank(communicator, &rank);
  return rank;
}

inline int size_of(MPI_Comm communicator) {
  int size = 1;
  MPI_Comm_size(communicator, &size);
  return size;
}

}  // namespace example
