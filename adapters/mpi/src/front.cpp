// SPDX-License-Identifier: BSD-3-Clause

/// MPI's functions, defined once more, in a library that is preloaded: the program reaches these,
/// and MPI's own are the next ones behind. By their PMPI names, too: so call profilers that stand
/// in front, and the Fortran of Open MPI.

#include "segments.hpp"

#include <dlfcn.h>
#include <new>

namespace valet::preload {
namespace {

/// @param stock  Calls MPI's own function.
template <class Stock>
int serve(const void* send_buffer, Segments segments, MPI_Comm program, const Stock& stock) {
  const int ranks = send_buffer == MPI_IN_PLACE ? ranks_served(program) : 0;
  if (ranks < 2 || !segments.are_valid(ranks)) return stock();
  try {
    const Communicator& communicator = communicator_of(program);
    if (communicator.budget == 0 || !swap_segments(communicator, segments)) return stock();
    return MPI_SUCCESS;
  } catch (const Failure& failure) {
    if (!failure.is_told) PMPI_Comm_call_errhandler(program, failure.code);
    return failure.code;
  } catch (const std::bad_alloc&) {
    PMPI_Comm_call_errhandler(program, MPI_ERR_NO_MEM);
    return MPI_ERR_NO_MEM;
  }
}

}  // namespace
}  // namespace valet::preload

#define VALET_NEXT(function)                                                               \
  [] {                                                                                     \
    static auto* const found =                                                             \
        reinterpret_cast<decltype(&PMPI_##function)>(dlsym(RTLD_NEXT, "PMPI_" #function)); \
    return found;                                                                          \
  }()
#define VALET_SEGMENTS(...) \
  valet::preload::Segments { static_cast<std::byte*>(recvbuf), __VA_ARGS__ }

extern "C" {
int PMPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return valet::preload::serve(
      sendbuf, VALET_SEGMENTS(recvcount, recvtype, nullptr, nullptr, nullptr), comm, [&] {
        return VALET_NEXT(Alltoall)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                    comm);
      });
}

int PMPI_Alltoallv(const void* sendbuf, const int* sendcounts, const int* sdispls,
                   MPI_Datatype sendtype, void* recvbuf, const int* recvcounts, const int* rdispls,
                   MPI_Datatype recvtype, MPI_Comm comm) {
  return valet::preload::serve(
      sendbuf, VALET_SEGMENTS(0, recvtype, recvcounts, rdispls, nullptr), comm, [&] {
        return VALET_NEXT(Alltoallv)(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                     rdispls, recvtype, comm);
      });
}

int PMPI_Alltoallw(const void* sendbuf, const int* sendcounts, const int* sdispls,
                   const MPI_Datatype* sendtypes, void* recvbuf, const int* recvcounts,
                   const int* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm) {
  return valet::preload::serve(
      sendbuf, VALET_SEGMENTS(0, MPI_DATATYPE_NULL, recvcounts, rdispls, recvtypes), comm, [&] {
        return VALET_NEXT(Alltoallw)(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                     rdispls, recvtypes, comm);
      });
}

decltype(PMPI_Alltoall) MPI_Alltoall __attribute__((alias("PMPI_Alltoall")));
decltype(PMPI_Alltoallv) MPI_Alltoallv __attribute__((alias("PMPI_Alltoallv")));
decltype(PMPI_Alltoallw) MPI_Alltoallw __attribute__((alias("PMPI_Alltoallw")));
}
