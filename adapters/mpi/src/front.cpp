// SPDX-License-Identifier: BSD-3-Clause

/// MPI's functions, defined once more, in a library that is preloaded: the program reaches these,
/// and MPI's own are the next ones behind. By their PMPI names, too: so call profilers that stand
/// in front, and the Fortran of Open MPI.

#include "check.hpp"
#include "communicator.hpp"
#include "segments.hpp"
#include "swaps.hpp"

#include <dlfcn.h>
#include <new>

namespace valet::preload {
namespace {

/// @param stock  Calls MPI's own function.
template <class Stock>
int serve(const void* send_buffer, Segments segments, MPI_Comm program, const Stock& stock) {
  if (send_buffer != MPI_IN_PLACE || !is_served(program)) return stock();
  try {
    int size = 0;
    check_told(PMPI_Comm_size(program, &size));
    if (!segments.are_valid(size)) return stock();
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

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace valet::preload

#define VALET_NEXT(function)                                                                       \
  [] {                                                                                             \
    static auto* const found = valet::preload::next<decltype(PMPI_##function)>("PMPI_" #function); \
    return found;                                                                                  \
  }()

extern "C" {

int PMPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm) {
  return valet::preload::serve(sendbuf, {recvbuf, recvcount, recvtype}, comm, [&] {
    return VALET_NEXT(Alltoall)(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
  });
}

int PMPI_Alltoallv(const void* sendbuf, const int* sendcounts, const int* sdispls,
                   MPI_Datatype sendtype, void* recvbuf, const int* recvcounts, const int* rdispls,
                   MPI_Datatype recvtype, MPI_Comm comm) {
  return valet::preload::serve(sendbuf, {recvbuf, recvcounts, rdispls, recvtype}, comm, [&] {
    return VALET_NEXT(Alltoallv)(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                 rdispls, recvtype, comm);
  });
}

int PMPI_Alltoallw(const void* sendbuf, const int* sendcounts, const int* sdispls,
                   const MPI_Datatype* sendtypes, void* recvbuf, const int* recvcounts,
                   const int* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm) {
  return valet::preload::serve(sendbuf, {recvbuf, recvcounts, rdispls, recvtypes}, comm, [&] {
    return VALET_NEXT(Alltoallw)(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                 rdispls, recvtypes, comm);
  });
}

int MPI_Alltoall(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                 int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
    __attribute__((alias("PMPI_Alltoall")));
int MPI_Alltoallv(const void* sendbuf, const int* sendcounts, const int* sdispls,
                  MPI_Datatype sendtype, void* recvbuf, const int* recvcounts, const int* rdispls,
                  MPI_Datatype recvtype, MPI_Comm comm) __attribute__((alias("PMPI_Alltoallv")));
int MPI_Alltoallw(const void* sendbuf, const int* sendcounts, const int* sdispls,
                  const MPI_Datatype* sendtypes, void* recvbuf, const int* recvcounts,
                  const int* rdispls, const MPI_Datatype* recvtypes, MPI_Comm comm)
    __attribute__((alias("PMPI_Alltoallw")));
}
