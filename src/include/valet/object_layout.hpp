// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Block-cyclic and balanced distributions of numbered objects, and tiles of arrays of them,
/// planned without a map: destinations are computed.

#include <valet/block_cyclic.hpp>
#include <valet/export.hpp>
#include <valet/plan.hpp>

#include <cstdint>
#include <optional>

namespace valet {

/// A distribution of objects numbered 0 to N-1: the rank and slot of each object. It does not
/// include N, but for tiles. Each rank has its objects in its first slots, in ascending order.
///
///     N = 10 on 2 ranks                     rank 0           rank 1
///     cyclic(1)                             0 2 4 6 8        1 3 5 7 9
///     cyclic(3)                             0 1 2 6 7 8      3 4 5 9
///     balanced()                            0 1 2 3 4        5 6 7 8 9
///     tiles({{2, 5}, {1, 2}, {1, 2}})       0 1 4 5 6 9      2 3 7 8
struct ObjectLayout {
  /// Objects per block; blocks are assigned to the ranks in turn. 0: one block per rank, with
  /// lengths that differ by at most one object.
  std::uint64_t block_size = 0;
  /// Number of ranks that have objects, the first ones of the communicator; 0: all.
  int ranks = 0;
  /// In place of both: the objects are the elements of an array, numbered row by row (the last
  /// index varies fastest), and distributed as this has it.
  std::optional<BlockCyclic> tiling = {};

  /// Block-cyclic: with blocks of b >= 1 objects on P ranks, object g is in slot (g / (b P)) b + g
  /// mod b of rank (g / b) mod P.
  [[nodiscard]] static ObjectLayout cyclic(std::uint64_t block_size, int ranks = 0) {
    return {block_size, ranks};
  }
  /// Contiguous: rank r of P has the objects from N r / P up to but not including N (r+1) / P, both
  /// rounded to the nearest integer.
  [[nodiscard]] static ObjectLayout balanced(int ranks = 0) { return {0, ranks}; }
  /// Tiles in as many dimensions as the array has: cells of a mesh, tiles of a matrix. Each rank
  /// has its part as a local array of the same order. Rank r of the grid is rank r of the
  /// communicator.
  /// @param array      Its extents are those of all objects.
  /// @param numbering  With column_major the first index of `array` varies fastest: `tiling` then
  ///                   has its dimensions the other way round, which is the same distribution.
  [[nodiscard]] VALET_EXPORT static ObjectLayout tiles(
      const BlockCyclic& array, IndexOrder numbering = IndexOrder::row_major);
  /// Compares the parameters.
  [[nodiscard]] bool operator==(const ObjectLayout&) const = default;
};

/// Plans the move of objects to a layout, without a map. Objects are numbered by rank and slot;
/// every rank computes from the counts of all ranks what it sends to whom, and the final slots.
///
/// Collective over `communicator`, including ranks without objects; blocking. Moves nothing.
///
/// @param communicator  An intracommunicator; the first call caches a duplicate on it.
/// @param storage       The objects of this rank; bytes per object are the same on all ranks.
///                      [local]
/// @param count         Number of objects, in the first slots. [local]
/// @param to            The layout after. [global]
/// @param options       As for plan_to_ranks(); Options::order is not used.
/// @throws Error invalid_argument (including a layout that differs between ranks, has no blocks or
///         more ranks than the communicator, or tiles of an array of other than all objects),
///         field_mismatch, inaccessible_memory, block_size_mismatch, budget_too_small,
///         out_of_memory: the same error on all ranks;
///         not_initialized, invalid_communicator. The data is unchanged. Planning does not fail if
///         a rank gets too many objects: compare required_slots() with its slots.
///
/// Planning communicates two reductions and 8 bytes from every rank to all. The intersections
/// follow C. Foyer, A. Tate, S. McIntosh-Smith, "ASPEN: An Efficient Algorithm for Data
/// Redistribution Between Producer and Consumer Grids", section 4.4. Memory: 4 bytes per departing
/// object and 2/8 byte per slot, with execute() 12 bytes per slot in total; 64*P while planning.
///
/// Time: O(objects + P).
[[nodiscard]] VALET_EXPORT Plan plan_to_layout(MPI_Comm communicator, const BlockStorage& storage,
                                               std::uint64_t count, const ObjectLayout& to,
                                               const Options& options = {});

/// The same for objects that are already in a layout, `from`, which numbers them.
///
/// @param communicator  As above.
/// @param storage       As above.
/// @param count         Number of objects, in the first slots: this rank's share in `from` of the
///                      objects of all ranks. [local]
/// @param from          The layout before. [global]
/// @param to            The layout after. [global]
/// @param options       As above.
/// @throws Error as above, and invalid_argument if a count does not match `from`.
///
/// Planning communicates two reductions; where messages differ in size, as budgets may, also one
/// word to each neighbour.
///
/// Memory: 4 bytes per departing and per arriving object, 8 per object that changes its slot inside
/// the rank, 1/8 byte per slot, with execute() 16 bytes per slot in total; while planning at most
/// 64*P (nothing where a rank shares few segments with the other layout), 8 per object that stays
/// on the rank, and 44 bytes per segment that a rank's part shares with the other layout in one
/// period of a dimension.
[[nodiscard]] VALET_EXPORT Plan plan_to_layout(MPI_Comm communicator, const BlockStorage& storage,
                                               std::uint64_t count, const ObjectLayout& from,
                                               const ObjectLayout& to, const Options& options = {});

/// plan_to_layout() and execute() in one call, with the errors and the memory of both. The report
/// has the new number of objects (blocks_after) and the segments and periods from which the plan
/// was computed. Collective; blocking.
VALET_EXPORT Report migrate_to_layout(MPI_Comm communicator, const BlockStorage& storage,
                                      std::uint64_t count, const ObjectLayout& to,
                                      const Options& options = {});
/// The same for objects that are already in a layout. Collective; blocking.
VALET_EXPORT Report migrate_to_layout(MPI_Comm communicator, const BlockStorage& storage,
                                      std::uint64_t count, const ObjectLayout& from,
                                      const ObjectLayout& to, const Options& options = {});

}  // namespace valet
