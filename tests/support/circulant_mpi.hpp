// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A job of thousands of ranks in one process, without their memory. This process is rank 0, and
/// all others are taken to do at each moment exactly what it does, each relative to its own rank:
/// whatever it sends d ranks ahead comes from the rank that is d behind, and what a reduction
/// combines is the same everywhere. A test that uses it lists circulant_mpi.cpp as a source, runs
/// on one rank and exchanges as much over a distance on all ranks, as in a circulant matrix.
///
/// What is replaced is what Valet calls while it plans and exchanges by `stream`, `direct` and
/// distributed `phased`. Ranks share no memory.

#include <cstddef>

namespace valet::test {

/// Ranks of MPI_COMM_WORLD, and of its duplicates, while it lives.
class CirculantRanks {
 public:
  explicit CirculantRanks(int ranks);
  CirculantRanks(const CirculantRanks&) = delete;
  CirculantRanks& operator=(const CirculantRanks&) = delete;
  ~CirculantRanks();

  /// Messages to other ranks so far.
  [[nodiscard]] static std::size_t messages();
  /// Reductions so far, and barriers.
  [[nodiscard]] static std::size_t reductions();
  [[nodiscard]] static std::size_t barriers();
  /// Messages that nobody has received, and receives without a message.
  [[nodiscard]] static std::size_t unmatched();
};

}  // namespace valet::test
