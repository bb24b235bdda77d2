// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Evens out parts that a partitioner left too heavy: it could not cut between objects at one
/// place, or its cuts went through a plane of many.

#include "mpi/channel.hpp"
#include "rebalance/objects.hpp"
#include <valet/ledger.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace valet::rebalance {

/// Units, cells or objects by themselves, and the parts that they are in.
struct PartsOfUnits {
  const Objects& units;
  std::span<const int> part_of;  ///< each unit's, as it is now
  /// Whether all of a unit is at one place: neighbours lose nothing when it is dealt away.
  std::function<bool(std::uint64_t unit)> is_at_one_point;
  /// Puts a unit into another part, in `part_of` too.
  std::function<void(std::uint64_t unit, int part)> move;
};

class Dealing {
 public:
  /// Collective; 8 bytes per part. @throws Error out_of_memory.
  /// @param total  Weight of all ranks, above 0. [global]
  Dealing(const mpi::Channel& communicator, Ledger& ledger, int parts, double total);

  /// The heaviest part over the mean. Collective. What could not be read is missing.
  [[nodiscard]] double imbalance(const Objects& units, std::span<const int> part_of);

  /// Moves units from parts above `tolerance` times the mean to parts below the mean, what is at
  /// one place first. Collective; 64 bytes per part meanwhile.
  ///
  /// The surplus of all parts and ranks is one sequence, their room another; these are laid beside
  /// each other. A unit may be half in the room of a part and half beyond, at either end, so a part
  /// gets above the mean by one unit at most; as no unit moves that is heavier than what its part
  /// has above the mean, no part becomes heavier than the heaviest one was. First only units of
  /// half of that move, which at least halves it in each round.
  /// @return The imbalance reached: not above the one before.
  /// @throws Error out_of_memory.
  double deal(const PartsOfUnits& parts, double tolerance);

 private:
  struct Tables;
  void fill(Tables& tables, const PartsOfUnits& parts, double tolerance) const;
  void move(Tables& tables, const PartsOfUnits& parts) const;
  [[nodiscard]] bool may_move(std::size_t part, double weight) const {
    return weight > 0 && weight <= movable_ * (loads_[part] - mean_);
  }

  const mpi::Channel& communicator_;
  Ledger& ledger_;
  double mean_;
  double movable_ = 0.5;  ///< the heaviest units that move, of what a part has above the mean
  Array<double> loads_;   ///< of all parts
};

}  // namespace valet::rebalance
