// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The weights that Zoltan is given for weights of any scale.
///
/// Zoltan takes numbers of single precision, adds them up in double precision and searches for
/// medians until sums agree, if need be for ever. So it gets whole numbers below 2^52 all together:
/// weights times a power of two. All their sums are exact, and its decisions are those for the
/// weights themselves where these have all their digits: where none is below 2^-28 of the sum.
/// Other methods than those by coordinates get the weights as they are, if they can be.

#include "mpi/channel.hpp"
#include "rebalance/objects.hpp"

#include <cstdint>
#include <limits>

namespace valet::zoltan {

using rebalance::Objects;

class ZoltanWeights {
 public:
  /// @param total  The sum of the weights of all ranks; 0: none are asked for. [global]
  /// @param are_whole  Whether they are made whole numbers in any case. [global]
  ZoltanWeights(const Objects& objects, double total, bool are_whole);

  [[nodiscard]] const Objects& objects() const { return objects_; }
  /// The weight of an object. Zero where it cannot be read: Zoltan is not told, because other ranks
  /// would wait for this one.
  [[nodiscard]] float operator[](std::uint64_t slot) const;

  /// Counts what is heavier than half of the mean weight of a part as light as that. Then RCB and
  /// RIB give no part nothing: a cut is off by half of the heaviest object at most, so a part lacks
  /// less than 1/4 (1 + 2/3 + 4/9 + ...) = 3/4 of its share. Collective; a reduction or two, unless
  /// a single object is much heavier.
  /// @return Whether there is such a limit: not with fewer than two objects for a part.
  [[nodiscard]] bool limit(const mpi::Channel& communicator, int parts);

  /// Gives the object at the end of HSFC's curve some weight, if it has next to none. HSFC takes
  /// the weights that parts should have in single precision. If the last part is already full then,
  /// it does not find what is behind, light objects after a heavy one, and fails on the ranks that
  /// have them while the others wait. Collective; two reductions.
  /// @param range     Of the places of all ranks. [global]
  /// @param are_kept  The weights of light objects are kept where all are light: in a partition
  ///                  that is to be Zoltan's own. [global]
  void weigh_end_of_curve(const mpi::Channel& communicator, const rebalance::Box& range, int parts,
                          bool are_kept);

 private:
  const Objects& objects_;
  double factor_;  ///< 0: they stay as they are
  float most_ = std::numeric_limits<float>::infinity();
  std::uint64_t end_ = std::numeric_limits<std::uint64_t>::max();  ///< slot of that object, if here
  float least_at_end_ = 0;
};

}  // namespace valet::zoltan
