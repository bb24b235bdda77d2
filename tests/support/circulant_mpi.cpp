// SPDX-License-Identifier: BSD-3-Clause

// Overrides what Valet calls by means of MPI's profiling interface. A message is a generalized
// request, so MPI itself does the waiting; a message waits in a list until its receive is posted,
// or the receive for the message. A nonblocking barrier is over when no message waits.

#include "circulant_mpi.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <new>
#include <utility>
#include <vector>

namespace valet::test {
namespace {

// Nothing here is to be counted as Valet's: a replaced operator new must not see it.
template <class T>
struct Malloc {
  using value_type = T;
  Malloc() = default;
  template <class Other>
  explicit(false) Malloc(const Malloc<Other>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(std::malloc(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  bool operator==(const Malloc&) const = default;
};
using Bytes = std::vector<std::byte, Malloc<std::byte>>;

/// What a generalized request says when it is complete.
struct Outcome {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  int bytes = 0;
  bool cancelled = false;
  MPI_Request request = MPI_REQUEST_NULL;
};

struct Message {
  int peer = 0;
  int tag = 0;
  Bytes bytes;
};

struct Receive {
  void* memory = nullptr;
  int capacity = 0;
  int peer = 0;
  int tag = 0;
  Outcome* outcome = nullptr;
};

int ranks = 0;
std::size_t sent = 0;
std::size_t reduced = 0;
std::size_t met = 0;
std::list<Message, Malloc<Message>> messages;
std::list<Receive, Malloc<Receive>> receives;
std::vector<Outcome*, Malloc<Outcome*>> barriers;
std::vector<MPI_Comm, Malloc<MPI_Comm>> duplicates;  ///< of MPI_COMM_WORLD

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "circulant_mpi: %s\n", what);
  std::abort();
}

int query(void* state, MPI_Status* status) {
  const auto* const outcome = static_cast<Outcome*>(state);
  status->MPI_SOURCE = outcome->source;
  status->MPI_TAG = outcome->tag;
  PMPI_Status_set_elements(status, MPI_BYTE, outcome->bytes);
  PMPI_Status_set_cancelled(status, outcome->cancelled ? 1 : 0);
  return MPI_SUCCESS;
}

int destroy(void* state) {
  std::free(state);
  return MPI_SUCCESS;
}

int cancel(void* state, int complete) {
  if (complete != 0) return MPI_SUCCESS;
  auto* const outcome = static_cast<Outcome*>(state);
  receives.remove_if([&](const Receive& receive) { return receive.outcome == outcome; });
  outcome->cancelled = true;
  return PMPI_Grequest_complete(outcome->request);
}

Outcome* start(MPI_Request* request) {
  auto* const outcome = new (std::malloc(sizeof(Outcome))) Outcome;
  PMPI_Grequest_start(query, destroy, cancel, outcome, request);
  outcome->request = *request;
  return outcome;
}

void complete_barriers() {
  if (!messages.empty()) return;
  for (Outcome* outcome : barriers) PMPI_Grequest_complete(outcome->request);
  barriers.clear();
}

bool match(const Message& message, const Receive& receive) {
  return (receive.peer == MPI_ANY_SOURCE || receive.peer == message.peer) &&
         receive.tag == message.tag;
}

void deliver(const Message& message, const Receive& receive) {
  const auto bytes = static_cast<int>(message.bytes.size());
  if (bytes > receive.capacity) fail("a message is longer than its receive");
  if (bytes > 0) std::memcpy(receive.memory, message.bytes.data(), message.bytes.size());
  receive.outcome->source = message.peer;
  receive.outcome->tag = message.tag;
  receive.outcome->bytes = bytes;
  PMPI_Grequest_complete(receive.outcome->request);
}

int bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return count * size;
}

void send(const void* memory, int count, MPI_Datatype type, int peer, int tag) {
  ++sent;
  Message message{ranks - peer, tag, Bytes(static_cast<std::size_t>(bytes_of(count, type)))};
  int position = 0;
  PMPI_Pack(memory, count, type, message.bytes.data(), static_cast<int>(message.bytes.size()),
            &position, MPI_COMM_SELF);
  for (auto receive = receives.begin(); receive != receives.end(); ++receive) {
    if (!match(message, *receive)) continue;
    deliver(message, *receive);
    receives.erase(receive);
    return;
  }
  messages.push_back(std::move(message));
}

bool is_circulant(MPI_Comm communicator) {
  if (ranks == 0) return false;
  return communicator == MPI_COMM_WORLD ||
         std::ranges::find(duplicates, communicator) != duplicates.end();
}

/// What all ranks have is its own maximum, and so on; only sums grow.
void reduce(const void* own, void* result, int count, MPI_Datatype type, MPI_Op operation) {
  if (own == MPI_IN_PLACE) own = result;
  std::memmove(result, own, static_cast<std::size_t>(bytes_of(count, type)));
  if (operation != MPI_SUM) return;
  if (type != MPI_UINT64_T) fail("a sum of something else than 64-bit words");
  for (int k = 0; k < count; ++k)
    static_cast<std::uint64_t*>(result)[k] *= static_cast<std::uint64_t>(ranks);
}

}  // namespace

CirculantRanks::CirculantRanks(int count) {
  sent = reduced = met = 0;
  ranks = count;
}
CirculantRanks::~CirculantRanks() { ranks = 0; }
std::size_t CirculantRanks::messages() { return sent; }
std::size_t CirculantRanks::reductions() { return reduced; }
std::size_t CirculantRanks::barriers() { return met; }
std::size_t CirculantRanks::unmatched() { return test::messages.size() + receives.size(); }

}  // namespace valet::test

using namespace valet::test;

// The library's calls come by here. Visible, because the header of MPICH does not say so.
#pragma GCC visibility push(default)

int MPI_Comm_size(MPI_Comm communicator, int* size) {
  if (!is_circulant(communicator)) return PMPI_Comm_size(communicator, size);
  *size = ranks;
  return MPI_SUCCESS;
}

int MPI_Comm_dup(MPI_Comm communicator, MPI_Comm* copy) {
  const int code = PMPI_Comm_dup(communicator, copy);
  if (is_circulant(communicator)) duplicates.push_back(*copy);
  return code;
}

int MPI_Comm_free(MPI_Comm* communicator) {
  std::erase(duplicates, *communicator);
  return PMPI_Comm_free(communicator);
}

int MPI_Allreduce(const void* own, void* result, int count, MPI_Datatype type, MPI_Op operation,
                  MPI_Comm communicator) {
  if (!is_circulant(communicator))
    return PMPI_Allreduce(own, result, count, type, operation, communicator);
  ++reduced;
  reduce(own, result, count, type, operation);
  return MPI_SUCCESS;
}

int MPI_Alltoall(const void* own, int, MPI_Datatype, void* result, int count, MPI_Datatype type,
                 MPI_Comm communicator) {
  if (!is_circulant(communicator)) fail("MPI_Alltoall elsewhere");
  const int bytes = bytes_of(count, type);
  for (int k = 0; k < ranks; ++k)
    std::memcpy(static_cast<std::byte*>(result) + k * bytes,
                static_cast<const std::byte*>(own) + (ranks - k) % ranks * bytes,
                static_cast<std::size_t>(bytes));
  return MPI_SUCCESS;
}

int MPI_Allgather(const void* own, int, MPI_Datatype, void* result, int count, MPI_Datatype type,
                  MPI_Comm communicator) {
  if (!is_circulant(communicator)) fail("MPI_Allgather elsewhere");
  const auto bytes = static_cast<std::size_t>(bytes_of(count, type));
  for (std::size_t k = 0; k < static_cast<std::size_t>(ranks); ++k)
    std::memcpy(static_cast<std::byte*>(result) + k * bytes, own, bytes);
  return MPI_SUCCESS;
}

int MPI_Ibarrier(MPI_Comm, MPI_Request* request) {
  ++met;
  barriers.push_back(start(request));
  complete_barriers();
  return MPI_SUCCESS;
}

int MPI_Isend(const void* memory, int count, MPI_Datatype type, int peer, int tag, MPI_Comm,
              MPI_Request* request) {
  send(memory, count, type, peer, tag);
  return PMPI_Grequest_complete(start(request)->request);
}

int MPI_Issend(const void* memory, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
               MPI_Request* request) {
  return MPI_Isend(memory, count, type, peer, tag, comm, request);
}

int MPI_Irecv(void* memory, int count, MPI_Datatype type, int peer, int tag, MPI_Comm,
              MPI_Request* request) {
  const Receive receive{memory, bytes_of(count, type), peer, tag, start(request)};
  for (auto message = messages.begin(); message != messages.end(); ++message) {
    if (!match(*message, receive)) continue;
    deliver(*message, receive);
    messages.erase(message);
    complete_barriers();
    return MPI_SUCCESS;
  }
  receives.push_back(receive);
  return MPI_SUCCESS;
}

int MPI_Exscan(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm) { return MPI_SUCCESS; }

int MPI_Sendrecv(const void* memory, int count, MPI_Datatype type, int, int, void* result, int,
                 MPI_Datatype, int, int, MPI_Comm, MPI_Status*) {
  std::memcpy(result, memory, static_cast<std::size_t>(bytes_of(count, type)));
  return MPI_SUCCESS;
}

/// Nothing can be asked: of the MPI below, what its network sends at once is of no concern here.
int MPI_T_init_thread(int, int*) { return MPI_ERR_OTHER; }

#pragma GCC visibility pop
