// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/channel.hpp"
#include <valet/export.hpp>
#include <valet/storage_backend.hpp>

#include <cstdint>

namespace valet::mpi {

/// Nonblocking messages of any number of bytes: past 2 GiB they go as one element of a datatype
/// made for their size. `memory` stays untouched until the request completes. `request` is idle
/// before.
VALET_EXPORT void post_send(const Channel& channel, const void* memory, std::uint64_t bytes,
                            int destination, int tag, MPI_Request& request);
VALET_EXPORT void post_receive(const Channel& channel, void* memory, std::uint64_t bytes,
                               int source, int tag, MPI_Request& request);

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

}  // namespace valet::mpi
