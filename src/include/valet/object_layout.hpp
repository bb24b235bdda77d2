// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Block-cyclic and balanced distributions of numbered objects, reached without a map: what would
/// be in it is computed.

#include <valet/export.hpp>
#include <valet/plan.hpp>

#include <cstdint>

namespace valet {

/// How objects with the numbers 0 to N-1 lie on ranks: which rank has an object, and in which slot.
/// N is not part of it. Each rank has its objects in its first slots, ascending by number.
///
///     N = 10 on 2 ranks      rank 0           rank 1
///     cyclic(1)              0 2 4 6 8        1 3 5 7 9
///     cyclic(3)              0 1 2 6 7 8      3 4 5 9
///     balanced()             0 1 2 3 4        5 6 7 8 9
struct ObjectLayout {
  /// Objects in a block; blocks go to the ranks in turn. 0: every rank has one block, and these are
  /// of equal lengths up to one object.
  std::uint64_t block_size = 0;
  /// The first so many ranks of the communicator have objects; 0: all of them.
  int ranks = 0;

  /// Block-cyclic: the object with number g is in slot (g / (b P)) b + g mod b of rank (g / b) mod
  /// P, for blocks of b >= 1 objects and P ranks.
  [[nodiscard]] static constexpr ObjectLayout cyclic(std::uint64_t block_size, int ranks = 0) {
    return {block_size, ranks};
  }
  /// Contiguous: rank r of P has the numbers from N r / P to N (r+1) / P, both rounded to the
  /// nearest integer, the latter excluded.
  [[nodiscard]] static constexpr ObjectLayout balanced(int ranks = 0) { return {0, ranks}; }
  /// The same description.
  [[nodiscard]] constexpr bool operator==(const ObjectLayout&) const = default;
};

/// Plans that objects go to a layout, without a map: they are numbered through over the ranks, by
/// rank and slot, and every rank computes from all counts what it sends, to whom, and in which slot
/// everything ends.
///
/// Collective over `communicator`, ranks without objects included; blocking. Moves nothing.
///
/// @param communicator  An intracommunicator; its duplicate is cached on it at the first call.
/// @param storage  The objects of this rank; bytes per object equal on all ranks. [local]
/// @param count    Objects, in the first slots. [local]
/// @param to       Where they go. [global]
/// @param options  As for plan_to_ranks(); Options::order is not used.
/// @throws Error invalid_argument (also: a layout that differs between ranks, that has no blocks or
///         more ranks than there are), field_mismatch, inaccessible_memory, block_size_mismatch,
///         budget_too_small, out_of_memory on all ranks alike; not_initialized,
///         invalid_communicator. The data is as it was. Too many objects for a rank is not an error
///         yet: compare required_slots().
///
/// Communicated while planning: 8 bytes of every rank to all, and one reduction. The intersections
/// are those of C. Foyer, A. Tate, S. McIntosh-Smith, "ASPEN: An Efficient Algorithm for Data
/// Redistribution Between Producer and Consumer Grids", section 4.4.
/// Memory: 4 bytes per leaving object and 2/8 byte per slot, for execute() 12 bytes per slot in
/// all; 64*P while planning. Time: O(objects + P).
[[nodiscard]] VALET_EXPORT Plan plan_to_layout(MPI_Comm communicator, const BlockStorage& storage,
                                               std::uint64_t count, const ObjectLayout& to,
                                               const Options& options = {});

/// The same for objects that lie in a layout already, `from`: their numbers are those of that
/// layout.
///
/// @param communicator  As above.
/// @param storage  As above.
/// @param count    Objects, in the first slots: as many as `from` gives this rank of all there are.
///                 [local]
/// @param from     How they lie. [global]
/// @param to       Where they go. [global]
/// @param options  As above.
/// @throws Error as above, and invalid_argument where a count is not that of `from`.
///
/// Memory: 4 bytes per leaving and per arriving object, 8 per object that changes its slot inside
/// the rank, 1/8 byte per slot, for execute() 16 bytes per slot in all; while planning 64*P, and 40
/// bytes per segment that a rank's part shares with the other layout in one period.
[[nodiscard]] VALET_EXPORT Plan plan_to_layout(MPI_Comm communicator, const BlockStorage& storage,
                                               std::uint64_t count, const ObjectLayout& from,
                                               const ObjectLayout& to, const Options& options = {});

/// plan_to_layout() and execute() in one call, with the errors and the memory of both; the report
/// has the new number of objects (blocks_after), and what the plan was computed from (segments,
/// periods). Collective; blocking.
VALET_EXPORT Report migrate_to_layout(MPI_Comm communicator, const BlockStorage& storage,
                                      std::uint64_t count, const ObjectLayout& to,
                                      const Options& options = {});
/// The same for objects that lie in a layout already. Collective; blocking.
VALET_EXPORT Report migrate_to_layout(MPI_Comm communicator, const BlockStorage& storage,
                                      std::uint64_t count, const ObjectLayout& from,
                                      const ObjectLayout& to, const Options& options = {});

}  // namespace valet
