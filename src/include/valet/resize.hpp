// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Another number of ranks in a running job: blocks move to more ranks or to fewer, resize().

#include <valet/block_storage.hpp>
#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/options.hpp>
#include <valet/ragged_storage.hpp>
#include <valet/report.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace valet {

/// How resize() shares blocks out among the ranks that are active afterwards. In both cases a rank
/// with fewer slots than its share gets as many blocks as it has slots, and the others more.
enum class ResizeBalance {
  count,      ///< equal numbers, for which the fewest blocks move
  numbering,  ///< equal numbers in the global order of blocks, by rank and slot, which they keep:
              ///< neighbours on a space-filling curve stay neighbours
};

/// Options of resize(). The same on all ranks but for weights, `released` and what Options says.
struct ResizeOptions {
  /// What is balanced, without weights.
  ResizeBalance balance = ResizeBalance::count;
  /// Entry k is the weight of block k, not negative. Then ranks get equal weights in place of equal
  /// numbers, as far as whole blocks in the global order allow: a rank may get none. Given on all
  /// ranks that have blocks, or on none.
  std::span<const double> weights = {};
  /// On a rank that leaves, called with slots that Valet does not use any more (the first one, and
  /// how many) while other blocks are still on their way, about 1 MiB of blocks at a time: their
  /// memory can go back to the system, for instance by give_back(). Slots are told again with
  /// others beside them, because a page may hold rows of both, and all in the end; also in a call
  /// that fails then. Blocks on a device, those that ranks of the node pull from node storage, and
  /// all with Method::phased and cyclic are told in the end only. Must not communicate or touch
  /// other slots. If it throws, it is not called again, and the call throws callback_failed when
  /// all blocks are in place. Not for RaggedStorage.
  std::function<void(std::uint64_t first_slot, std::uint64_t slots)> released = {};
  /// How the blocks move; Options::order is used with ResizeBalance::count only.
  Options migration = {};
};

/// What a resize() leads to, on this rank.
struct ResizeResult {
  std::uint64_t count = 0;  ///< blocks that it has now, in slots 0 to count-1
  /// Whether it may have blocks. A rank that is not active has none: it may free its arrays, and
  /// leave once all ranks have freed or disconnected the communicator.
  bool is_active = false;
  Report report;  ///< of the move
};

/// Moves blocks from the first `active_before` ranks of a communicator to the first `active_after`
/// ones, in the memory of both: a job that grows onto new ranks, or gives ranks back.
///
/// Collective over `communicator`, including ranks that are not active; blocking. New ranks have
/// storage and no blocks. Ranks that leave end with no blocks.
///
/// @param communicator   All ranks, active or not: an intracommunicator, for instance that of
///                       MPI_Intercomm_merge() after MPI_Comm_spawn(). The first call caches a
///                       duplicate on it.
/// @param storage        The same fields on all ranks; slots may differ. [local]
/// @param count          Blocks of this rank, in the first slots. [local]
/// @param active_before  Ranks that may have blocks now: 0 to active_before - 1. [global]
/// @param active_after   Ranks that have blocks afterwards: 0 to active_after - 1. [global]
/// @param options        See ResizeOptions.
/// @throws Error infeasible if the blocks do not fit the slots of those ranks, with the number of
///         ranks, or of slots on each rank, that would do; invalid_argument; what plan_to_ranks()
///         and plan_to_layout() throw: the same error on all ranks, and the data is unchanged.
///         What execute() throws.
///
/// Memory beyond the storage: that of execute() and 64*P, with ResizeBalance::count 4 bytes per
/// block more, and on a rank that leaves 1/4 byte per slot.
VALET_EXPORT ResizeResult resize(MPI_Comm communicator, const BlockStorage& storage,
                                 std::uint64_t count, int active_before, int active_after,
                                 const ResizeOptions& options = {});

/// The same for blocks of different sizes. Slots are the blocks that lengths and columns have room
/// for. Arenas that are too small are found before anything moves (infeasible, with the bytes that
/// they need). With ResizeBalance::numbering and weights, shares follow from the global order; on a
/// rank, blocks that stay come before those that arrive.
///
/// Memory beyond the storage: that of execute() for RaggedPlan, with 4 bytes per block and 64*P.
VALET_EXPORT ResizeResult resize(MPI_Comm communicator, const RaggedStorage& storage,
                                 std::uint64_t count, int active_before, int active_after,
                                 const ResizeOptions& options = {});

/// Gives the memory of rows of an array back to the system, as far as it fills whole pages; the
/// content of these rows is zero or as before. For private memory, such as that of malloc() or new;
/// a NodeArray is resized when the call has returned. Local; does nothing where the system cannot.
/// @param rows       The first row.
/// @param row_bytes  From one row to the next.
/// @param first      First row to give back.
/// @param count      Rows to give back.
VALET_EXPORT void give_back(void* rows, std::size_t row_bytes, std::uint64_t first,
                            std::uint64_t count) noexcept;

}  // namespace valet
