// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What every rebalancing says and asks for, whatever the partitioner.

#include <valet/object_layout.hpp>
#include <valet/ragged_storage.hpp>
#include <valet/report.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace valet {

/// What a rebalance() does if the partition gives a rank more objects than it has slots, or more
/// bytes than an arena holds.
enum class WhenInfeasible {
  refuse,  ///< throws infeasible; nothing has moved
  repair,  ///< corrects the partition with the fewest changes: valet::repair(); not for
           ///< RaggedStorage
  grow     ///< asks for more room: a storage that grows, or grow or grow_ragged of the options
};

/// Largest over mean value per rank; 1 is perfect balance.
struct Imbalance {
  double weight = 1;  ///< by weight; by number if there are no weights
  double count = 1;   ///< by the number of objects
};

/// Result of a rebalance().
struct RebalanceResult {
  std::uint64_t count = 0;           ///< objects now on this rank, in slots 0 to count-1
  std::uint64_t required_slots = 0;  ///< slots that this rank required
  Imbalance before;                  ///< over all ranks
  Imbalance after;                   ///< over all ranks
  double partition_seconds = 0;      ///< partitioning, on this rank
  double migration_seconds = 0;      ///< planning and moving, on this rank
  /// The heaviest cell of all ranks, as a fraction of the share of the weight of a rank or part:
  /// the balance may be off by this much. 0 if every object was given to the partitioner
  /// separately.
  double largest_cell_share = 0;
  std::uint64_t partition_extra_bytes = 0;  ///< peak memory of the partition, with the map
  std::string warning;  ///< on a partition that is not as it should be, the same on all ranks
  Report report;        ///< of the migration, on this rank
  /// The layout that the objects are in now, the same on all ranks: the method was BLOCK without
  /// weights, CYCLIC or BLOCK_CYCLIC, with Order::any. It numbers them for the next one.
  std::optional<ObjectLayout> layout;
};

}  // namespace valet
