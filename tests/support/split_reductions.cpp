// SPDX-License-Identifier: BSD-3-Clause

// An MPI_Allreduce that applies operations of the application to one element after the other, as an
// MPI may. Linked into a test program, it is called by the libraries too.

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>

extern "C" int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type,
                             MPI_Op operation, MPI_Comm communicator) {
  const std::array known{MPI_SUM, MPI_MAX, MPI_MIN,  MPI_PROD, MPI_LAND,   MPI_BAND,
                         MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
  if (std::ranges::find(known, operation) != known.end())
    return PMPI_Allreduce(from, to, count, type, operation, communicator);
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(type, &low, &extent);
  int code = MPI_SUCCESS;
  for (int k = 0; k < count && code == MPI_SUCCESS; ++k) {
    const void* const own =
        from == MPI_IN_PLACE ? from : static_cast<const std::byte*>(from) + k * extent;
    code = PMPI_Allreduce(own, static_cast<std::byte*>(to) + k * extent, 1, type, operation,
                          communicator);
  }
  return code;
}
