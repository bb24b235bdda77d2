// SPDX-License-Identifier: BSD-3-Clause
#define VALET_SIMULATED_MPI
#include "simulated_mpi.hpp"

#include <algorithm>

namespace valet::simulated {
namespace {

constexpr int short_bytes = 65;
constexpr int barrier_tag = 14;

/// The request of a short message that has been taken.
MPI_Request taken() {
  static int word = 0;
  return reinterpret_cast<MPI_Request>(&word);
}

/// The barrier under way: its request is that of the message of this round.
struct Barrier {
  MPI_Request* request = nullptr;
  MPI_Comm communicator = MPI_COMM_NULL;
  int distance = 1;

  /// Each round goes to a rank at another distance, so its messages need no tag of their own.
  int post() {
    int rank = 0, size = 1;
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
    if (distance >= size) {
      *request = taken();
      request = nullptr;
      return MPI_SUCCESS;
    }
    const int from = (rank - distance + size) % size, to = (rank + distance) % size;
    const int code = MPI_Irecv(nullptr, 0, MPI_BYTE, from, barrier_tag, communicator, request);
    if (code != MPI_SUCCESS) return code;
    return MPI_Send(nullptr, 0, MPI_BYTE, to, barrier_tag, communicator);
  }
};
Barrier barrier;

bool complete_taken(int count, MPI_Request* requests, int* index) {
  MPI_Request* const end = requests + count;
  MPI_Request* const found = std::find(requests, end, taken());
  if (found == end) return false;
  *found = MPI_REQUEST_NULL;
  *index = static_cast<int>(found - requests);
  return true;
}

/// Whether the request at `index` is the barrier's, and its next round has begun.
bool goes_on(const MPI_Request* requests, int index) {
  if (index == MPI_UNDEFINED || requests + index != barrier.request) return false;
  barrier.distance *= 2;
  barrier.post();
  return true;
}

}  // namespace

int isend(const void* memory, int count, MPI_Datatype type, int destination, int tag,
          MPI_Comm communicator, MPI_Request* request) {
  if (type != MPI_BYTE || count >= short_bytes)
    return MPI_Isend(memory, count, type, destination, tag, communicator, request);
  *request = taken();
  return MPI_Send(memory, count, type, destination, tag, communicator);
}

int ibarrier(MPI_Comm communicator, MPI_Request* request) {
  barrier = {request, communicator, 1};
  return barrier.post();
}

int wait(MPI_Request* request, MPI_Status* status) {
  int index = 0;
  if (!complete_taken(1, request, &index)) return MPI_Wait(request, status);
  *status = {};
  return MPI_SUCCESS;
}

int waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  while (!complete_taken(count, requests, index)) {
    const int code = MPI_Waitany(count, requests, index, status);
    if (code != MPI_SUCCESS || !goes_on(requests, *index)) return code;
  }
  *status = {};
  return MPI_SUCCESS;
}

int testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  *flag = 1;
  if (complete_taken(count, requests, index)) {
    *status = {};
    return MPI_SUCCESS;
  }
  const int code = MPI_Testany(count, requests, index, flag, status);
  if (code == MPI_SUCCESS && *flag != 0 && goes_on(requests, *index)) {
    *flag = 0;
    *index = MPI_UNDEFINED;
  }
  return code;
}

}  // namespace valet::simulated
