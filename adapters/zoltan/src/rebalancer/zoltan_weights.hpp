// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The weights that Zoltan is given for weights of any scale.
///
/// Zoltan takes numbers of single precision, adds them up in double precision and searches for
/// medians until sums agree, if need be for ever. So it gets whole numbers below 2^52 all together:
/// weights times a power of two. All their sums are exact, and its decisions are those for the
/// weights themselves where these have all their digits: where none is below 2^-28 of the sum.
/// Other methods than those by coordinates get the weights as they are, if they can be.

#include "mpi/agreement.hpp"
#include "mpi/channel.hpp"
#include "mpi/check.hpp"
#include "rebalance/objects.hpp"
#include "rebalancer/last_on_curve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <span>

namespace valet::zoltan {

using rebalance::Objects;

inline double factor_for(double total, bool are_whole) {
  constexpr int fit_a_float = 64;  // with room for the least of them
  const int exponent = total > 0 ? std::ilogb(total) : 0;
  if (total == 0 || (!are_whole && std::abs(exponent) <= fit_a_float)) return 0;
  return std::ldexp(1, 51 - exponent);
}

/// Calls action(slot, point) for all objects.
template <class Action>
void for_each_point(const Objects& objects, Action&& action) {
  std::array<std::uint32_t, 512> slots{};
  std::array<Columns::Numbers, slots.size()> points{};
  objects.failure.attempt(Objects::activity, [&] {
    for (std::uint64_t first = 0; first < objects.count; first += slots.size()) {
      const std::size_t read = std::min<std::uint64_t>(slots.size(), objects.count - first);
      const auto list = std::span(slots).first(read);
      std::iota(list.begin(), list.end(), static_cast<std::uint32_t>(first));
      objects.coordinates.gather(list, points.data());
      for (std::size_t k = 0; k < read; ++k) action(first + k, points[k]);
    }
  });
}

class ZoltanWeights {
 public:
  /// @param total  The sum of the weights of all ranks; 0: none are asked for. [global]
  /// @param are_whole  Whether they are made whole numbers in any case. [global]
  ZoltanWeights(const Objects& objects, double total, bool are_whole)
      : objects_(objects), factor_(factor_for(total, are_whole)) {}

  [[nodiscard]] const Objects& objects() const { return objects_; }
  /// The weight of an object. Zero where it cannot be read: Zoltan is not told, because other ranks
  /// would wait for this one.
  [[nodiscard]] float operator[](std::uint64_t slot) const {
    double number = 0;
    objects_.failure.attempt(Objects::activity, [&] { number = objects_.weight(slot); });
    const float given = rounded(number);
    return slot == end_ ? std::max(given, least_at_end_) : std::min(given, most_);
  }

  /// Counts what is heavier than half of the mean weight of a part as light as that. Then RCB and
  /// RIB give no part nothing: a cut is off by half of the heaviest object at most, so a part lacks
  /// less than 1/4 (1 + 2/3 + 4/9 + ...) = 3/4 of its share. Collective; a reduction or two, unless
  /// a single object is much heavier.
  /// @return Whether there is such a limit: not with fewer than two objects for a part.
  [[nodiscard]] bool limit(const mpi::Channel& communicator, int parts) {
    double largest = heaviest();
    mpi::maximum(communicator, std::span(&largest, 1));
    for (double most = largest; most >= 1; most = std::floor(most / 2)) {
      double sum = 0;
      for (std::uint64_t k = 0; k < objects_.count; ++k)
        sum += std::min(static_cast<double>((*this)[k]), most);
      mpi::sum(communicator, std::span(&sum, 1));
      if (sum < 2.0 * parts * most) continue;
      if (factor_ != 0) most_ = static_cast<float>(most);
      return true;
    }
    return false;
  }

  /// Gives the object at the end of HSFC's curve some weight, if it has next to none. HSFC takes
  /// the weights that parts should have in single precision. If the last part is already full then,
  /// it does not find what is behind, light objects after a heavy one, and fails on the ranks that
  /// have them while the others wait. Collective; two reductions.
  /// @param range     Of the places of all ranks. [global]
  /// @param are_kept  The weights of light objects are kept where all are light: in a partition
  ///                  that is to be Zoltan's own. [global]
  void weigh_end_of_curve(const mpi::Channel& communicator, const rebalance::Box& range, int parts,
                          bool are_kept) {
    const std::size_t dimensions = objects_.coordinates.size;
    if (factor_ == 0 || curve_in(dimensions) == nullptr) return;
    LastOnCurve curve(range, dimensions);
    std::uint64_t slot = 0;
    for_each_point(objects_, [&](std::uint64_t k, const Columns::Numbers& point) {
      if (curve.is_last(point)) slot = k;
    });
    struct {
      double position;
      int rank;
    } last{curve.position(), communicator.rank()};
    mpi::check(
        MPI_Allreduce(MPI_IN_PLACE, &last, 1, MPI_DOUBLE_INT, MPI_MAXLOC, communicator.get()),
        "MPI_Allreduce");
    double largest = heaviest();
    mpi::maximum(communicator, std::span(&largest, 1));
    // Both the size of a part and what it should weigh are rounded by 2^-25 at most, for all parts
    // to the same side: the last one may lack parts * 2^-24 of all that is left for it.
    constexpr double total = 0x1p51;
    const bool is_uneven = 2 * parts * largest > total;
    const double lacking = total * 0x1p-22 * (is_uneven || !are_kept ? parts : 1);
    least_at_end_ = static_cast<float>(std::floor(std::min(lacking, total / 8 / parts)));
    if (last.rank == communicator.rank() && objects_.count > 0) end_ = slot;
  }

 private:
  [[nodiscard]] float rounded(double weight) const {
    if (factor_ == 0) return static_cast<float>(weight);
    // To single precision first: then a weight that has all its digits is rounded once.
    return std::nearbyint(static_cast<float>(weight * factor_));
  }
  /// Of the objects here.
  [[nodiscard]] double heaviest() const {
    double largest = 0;
    objects_.failure.attempt(Objects::activity, [&] {
      objects_.for_each_weight(
          [&](std::uint64_t, double weight) { largest = std::max(largest, weight); });
    });
    return rounded(largest);
  }

  const Objects& objects_;
  double factor_;  ///< 0: they stay as they are
  float most_ = std::numeric_limits<float>::infinity();
  std::uint64_t end_ = std::numeric_limits<std::uint64_t>::max();  ///< slot of that object, if here
  float least_at_end_ = 0;
};

}  // namespace valet::zoltan
