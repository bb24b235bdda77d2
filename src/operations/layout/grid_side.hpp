// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What is checked of a redistribution before anything moves, and what all ranks agree on.

#include "mpi/agreement.hpp"
#include "storage/sequence_copy.hpp"
#include <valet/redistribute.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace valet::layout {

/// Ranks that a grid layout leaves out have none in its grid.
constexpr int outside = -1;

/// One side of a redistribution, seen from this rank.
struct GridSide {
  const char* name;  ///< for error texts
  const GridLayout& grid;
  int grid_rank = outside;

  GridSide(const char* side, const GridLayout& chosen, int rank);

  [[nodiscard]] const BlockCyclic& layout() const { return grid.layout; }
  [[nodiscard]] int communicator_rank(int rank_in_grid) const {
    return grid.ranks.empty() ? rank_in_grid : grid.ranks[static_cast<std::size_t>(rank_in_grid)];
  }
  /// Elements of this rank; none outside of the grid.
  [[nodiscard]] std::int64_t elements() const {
    return grid_rank == outside ? 0 : layout().local_elements(grid_rank);
  }
};

/// What is wrong with the grids or the size of an element.
/// @param seen  Room for one byte per rank of the communicator.
[[nodiscard]] std::optional<Diagnostic> check_grids(const GridSide& from, const GridSide& to,
                                                    std::size_t element_bytes,
                                                    std::span<std::uint8_t> seen);

/// Strides of an array without gaps.
[[nodiscard]] BlockCyclic::Extents adjoining_strides(const BlockCyclic::Extents& extents,
                                                     IndexOrder order);

/// What is wrong with an array of this rank, for a good grid; its strides where nothing is.
template <class Pointer>
[[nodiscard]] std::optional<Diagnostic> check_array(const GridSide& side, std::size_t element_bytes,
                                                    const LocalArray<Pointer>& array,
                                                    BlockCyclic::Extents& strides);

/// What the ranks tell each other of a call.
struct CallNumbers {
  std::size_t element_bytes = 0;                ///< the same on all ranks
  bool traced = false;                          ///< the same on all ranks
  std::optional<IndexOrder> source_order = {};  ///< of ranks outside of the grid: found out
  std::optional<IndexOrder> target_order = {};
  std::int64_t least = 0;  ///< In: of this rank. Out: of all ranks.
  bool watched = false;    ///< In: this rank has a callback. Out: some rank has.
};

/// Either all ranks come back, having given the same layouts and numbers, or all throw. Collective.
/// @param mine  What this rank has found wrong.
void agree_on_call(const mpi::Channel& channel, const std::optional<Diagnostic>& mine,
                   const GridLayout& from, const GridLayout& to, CallNumbers& numbers);

/// Bytes that an intersection takes, found without taking them; 0 outside of the grid.
[[nodiscard]] std::uint64_t intersection_bytes(const GridSide& mine, const BlockCyclic& theirs);

}  // namespace valet::layout
