// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// SimGrid's MPI where the core needs more of it than its version 3.32 has: included before every
/// source of the core that is simulated.
///
/// - A short message is taken at once, as MPI libraries do (SimGrid's options
///   smpi/async-small-thresh and smpi/send-is-detached-thresh), but MPI_Testany does not know its
///   request.
/// - MPI_Waitany commits to the request of an MPI_Ibarrier, and ignores all others until that
///   completes. So the barrier is made of messages without content, in ceil(log2 P) rounds: D.
///   Hensgen, R. Finkel, U. Manber, "Two Algorithms for Barrier Synchronization", Int. J. Parallel
///   Programming 17(1), 1988 (dissemination).

#include <valet/mpi.hpp>

namespace valet::simulated {

int isend(const void* memory, int count, MPI_Datatype type, int destination, int tag,
          MPI_Comm communicator, MPI_Request* request);
/// One at a time.
int ibarrier(MPI_Comm communicator, MPI_Request* request);
int wait(MPI_Request* request, MPI_Status* status);
int waitany(int count, MPI_Request* requests, int* index, MPI_Status* status);
int testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status);

}  // namespace valet::simulated

#if !defined(VALET_SIMULATED_MPI)
#define MPI_Isend valet::simulated::isend
#define MPI_Ibarrier valet::simulated::ibarrier
#define MPI_Wait valet::simulated::wait
#define MPI_Waitany valet::simulated::waitany
#define MPI_Testany valet::simulated::testany
#endif
