// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// All calls of this process with which MPI communicates, and the bytes that it gives to them:
/// messages, reductions, gathers, everything that Valet uses. For one source file of a program.

#include <mpi.h>

#include <cstdint>
#include <map>
#include <string>

namespace valet::test {

/// Calls by name, and the bytes of all of them. What a rank contributes to a collective call counts
/// once; of an all-to-all and a scatter all that it gives to others does.
struct Communication {
  std::map<std::string, long long> calls;
  long long bytes = 0;

  [[nodiscard]] long long all_calls() const {
    long long sum = 0;
    for (const auto& [name, count] : calls) sum += count;
    return sum;
  }
  /// Those in which all ranks take part.
  [[nodiscard]] long long collective_calls() const {
    long long sum = 0;
    for (const auto& [name, count] : calls)
      if (name != "Send" && name != "Isend" && name != "Issend" && name != "Ssend") sum += count;
    return sum;
  }
};

inline Communication communication;

inline void count_call(const char* name, std::int64_t elements, MPI_Datatype type) {
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  ++communication.calls[name];
  communication.bytes += elements * bytes;
}

/// In place of the number of ranks where all of them get something.
inline int ranks_of(MPI_Comm comm) {
  int ranks = 1;
  PMPI_Comm_size(comm, &ranks);
  return ranks;
}

}  // namespace valet::test

#define VALET_COUNTED extern "C" __attribute__((visibility("default"))) int

#define VALET_COUNTED_SEND(NAME)                                                            \
  VALET_COUNTED MPI_##NAME(const void* data, int count, MPI_Datatype type, int to, int tag, \
                           MPI_Comm comm) {                                                 \
    valet::test::count_call(#NAME, count, type);                                            \
    return PMPI_##NAME(data, count, type, to, tag, comm);                                   \
  }
#define VALET_COUNTED_ISEND(NAME)                                                           \
  VALET_COUNTED MPI_##NAME(const void* data, int count, MPI_Datatype type, int to, int tag, \
                           MPI_Comm comm, MPI_Request* request) {                           \
    valet::test::count_call(#NAME, count, type);                                            \
    return PMPI_##NAME(data, count, type, to, tag, comm, request);                          \
  }
#define VALET_COUNTED_REDUCTION(NAME)                                                    \
  VALET_COUNTED MPI_##NAME(const void* data, void* result, int count, MPI_Datatype type, \
                           MPI_Op operation, MPI_Comm comm) {                            \
    valet::test::count_call(#NAME, count, type);                                         \
    return PMPI_##NAME(data, result, count, type, operation, comm);                      \
  }

VALET_COUNTED_SEND(Send)
VALET_COUNTED_SEND(Ssend)
VALET_COUNTED_ISEND(Isend)
VALET_COUNTED_ISEND(Issend)
VALET_COUNTED_REDUCTION(Allreduce)
VALET_COUNTED_REDUCTION(Exscan)
VALET_COUNTED_REDUCTION(Scan)
VALET_COUNTED_REDUCTION(Reduce_scatter_block)

VALET_COUNTED MPI_Allgather(const void* data, int count, MPI_Datatype type, void* all, int of_each,
                            MPI_Datatype all_type, MPI_Comm comm) {
  valet::test::count_call("Allgather", count, type);
  return PMPI_Allgather(data, count, type, all, of_each, all_type, comm);
}
VALET_COUNTED MPI_Alltoall(const void* data, int count, MPI_Datatype type, void* all, int of_each,
                           MPI_Datatype all_type, MPI_Comm comm) {
  valet::test::count_call("Alltoall", std::int64_t{count} * valet::test::ranks_of(comm), type);
  return PMPI_Alltoall(data, count, type, all, of_each, all_type, comm);
}
VALET_COUNTED MPI_Gather(const void* data, int count, MPI_Datatype type, void* all, int of_each,
                         MPI_Datatype all_type, int root, MPI_Comm comm) {
  valet::test::count_call("Gather", count, type);
  return PMPI_Gather(data, count, type, all, of_each, all_type, root, comm);
}
VALET_COUNTED MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  valet::test::count_call("Bcast", count, type);
  return PMPI_Bcast(data, count, type, root, comm);
}
VALET_COUNTED MPI_Barrier(MPI_Comm comm) {
  valet::test::count_call("Barrier", 0, MPI_BYTE);
  return PMPI_Barrier(comm);
}
VALET_COUNTED MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  valet::test::count_call("Ibarrier", 0, MPI_BYTE);
  return PMPI_Ibarrier(comm, request);
}

#undef VALET_COUNTED_REDUCTION
#undef VALET_COUNTED_ISEND
#undef VALET_COUNTED_SEND
