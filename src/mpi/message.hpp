// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/channel.hpp"
#include <valet/export.hpp>
#include <valet/storage_backend.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace valet::mpi {

/// Nonblocking messages of any number of bytes: past 2 GiB they go as one element of a datatype
/// made for their size. `memory` stays untouched until the request completes. `request` is idle
/// before.
VALET_EXPORT void post_send(const Channel& channel, const void* memory, std::uint64_t bytes,
                            int destination, int tag, MPI_Request& request);
VALET_EXPORT void post_receive(const Channel& channel, void* memory, std::uint64_t bytes,
                               int source, int tag, MPI_Request& request);

/// Returns when all ranks have called it. Collective.
void barrier(const Channel& channel);
/// Nonblocking: completes when all ranks have posted it. Collective.
void post_barrier(const Channel& channel, MPI_Request& request);

/// Pieces for one message, with the arrays that MPI wants; made once and used again and again.
struct PieceList {
  explicit PieceList(Ledger& ledger) : pieces(ledger), lengths(ledger), displacements(ledger) {}

  /// Room for `count` pieces below half a gibibyte each, so that no message allocates.
  void reserve(std::size_t count) {
    pieces.reserve(count);
    lengths.reserve(count);
    displacements.reserve(count);
  }

  /// What that takes.
  [[nodiscard]] static constexpr std::uint64_t bytes_for(std::size_t count) {
    return count * (sizeof(MemoryPiece) + sizeof(int) + sizeof(MPI_Aint));
  }

  Vector<MemoryPiece> pieces;
  Vector<int> lengths;
  Vector<MPI_Aint> displacements;
};

/// One message from pieces all over the memory; it arrives as consecutive bytes.
void post_send_pieces(const Channel& channel, PieceList& list, int destination, int tag,
                      MPI_Request& request);

/// What completed, and the status of it.
struct Completion {
  std::size_t index = 0;
  MPI_Status status{};
};

/// A fixed number of requests, waited for together.
class VALET_EXPORT Requests {
 public:
  /// @param channel  Of its messages; must outlive this. Its hooks are called when wait_any() has
  ///                 blocked and when a request completes; its limit holds for every wait.
  Requests(Ledger& ledger, std::size_t count, const Channel& channel);

  /// The request to post into; must be idle.
  [[nodiscard]] MPI_Request& operator[](std::size_t index) { return requests_[index]; }
  [[nodiscard]] bool idle(std::size_t index) const { return requests_[index] == MPI_REQUEST_NULL; }

  /// Blocks until one request completes; nothing when none is outstanding. Where one thread calls
  /// MPI, never a polling loop of our own: that would take the core from an oversubscribed
  /// neighbour. With a limit, and under MPI_THREAD_MULTIPLE, it tests, and yields between:
  /// MPI_Waitany of Open MPI 4.1.4 once read the request of number MPI_UNDEFINED there. Such a call
  /// has been woken with nothing complete, probably by a request of the call before that completed
  /// in another thread.
  std::optional<Completion> wait_any();
  /// Blocks until one request completes, whatever becomes of the others.
  void wait(std::size_t index);
  /// A request that has completed already; nothing when there is none.
  std::optional<Completion> test_any();
  /// Withdraws a pending receive. False when a message had been matched: it has then arrived.
  bool withdraw(std::size_t index, MPI_Status& status);

 private:
  bool test(Completion& completion, int& index);
  std::optional<Completion> completed(Completion completion, int index) const;

  Array<MPI_Request> requests_;
  const Channel& channel_;
};

}  // namespace valet::mpi
