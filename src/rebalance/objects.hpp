// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The objects of this rank as the application describes them: columns of numbers, one number per
/// slot. Local.

#include "rebalance/cells.hpp"
#include <valet/columns.hpp>
#include <valet/detail/first_failure.hpp>
#include <valet/error.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

namespace valet::rebalance {

struct PartitionerTraits;

/// The objects of this rank while they are partitioned.
struct Objects {
  std::uint64_t count = 0;
  int rank = 0;
  Columns coordinates;        ///< no columns: there are none
  Columns weights;            ///< no columns: all count the same
  Columns ids;                ///< no columns: rank and slot
  bool count_weighs = false;  ///< every object has 1 as its last weight
  double total_weight = 0;    ///< of all objects here; their number where there are no weights
  Box range{};                ///< of the coordinates; low is above high where there are no objects
  /// The largest coordinate, without its sign, and the heaviest weight of all objects here, and
  /// from scale() on of all ranks.
  double largest_coordinate = 0;
  double largest_weight = 0;
  /// Why numbers could not be read, which a device may refuse at any time. A rank that throws alone
  /// would leave the others behind: they learn of it when imbalances are computed, if not before.
  mutable detail::FirstFailure failure;

  [[nodiscard]] std::size_t weight_dimensions() const {
    return weights.size + (count_weighs ? 1U : 0U);
  }
  /// Entries of a global id.
  [[nodiscard]] std::size_t id_entries() const { return ids.size == 0 ? 2 : ids.size; }
  [[nodiscard]] double weight(std::uint64_t slot) const {
    return weights.size == 0 ? 1 : weights.number(0, slot);
  }
  /// Calls action(slot, weight) for all objects, ascending. Throws as reading does.
  template <class Action>
  void for_each_weight(Action&& action) const {
    std::array<double, 512> numbers{};  // read at a time, from the first-level cache
    numbers.fill(1);
    for (std::uint64_t first = 0; first < count; first += numbers.size()) {
      const std::size_t read = std::min<std::uint64_t>(numbers.size(), count - first);
      if (weights.size > 0) weights.copy_to(0, numbers.data(), first, read);
      for (std::size_t k = 0; k < read; ++k) action(first + k, numbers[k]);
    }
  }
  /// Lets coordinates and weights be read times a power of two, where the largest of them are so
  /// far from 1 that their squares or sums would overflow or vanish. Local.
  /// @param coordinate  The largest of all ranks, as is `weight`. [global]
  void scale(double coordinate, double weight);
  /// Bytes that columns take which the host cannot read.
  [[nodiscard]] std::size_t staging_bytes() const {
    std::size_t bytes = 0;
    for (const Columns* const columns : {&coordinates, &weights, &ids})
      if (columns->staged) bytes += columns->staged->bytes();
    return bytes;
  }
  /// Runs `step`, which reads numbers, and keeps what reading throws.
  /// @throws std::bad_alloc as `step` does.
  template <class Step>
  void read_in(Step&& step) const {
    try {
      std::forward<Step>(step)();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (...) {
      failure.keep(activity);
    }
  }
  [[nodiscard]] std::optional<Diagnostic> diagnostic() const {
    return failure.diagnostic("nothing has moved");
  }
  static constexpr const char* activity = "reading coordinates, weights or global ids";
};

/// What the application gives as sources of numbers.
struct Sources {
  ColumnSource coordinates;
  ColumnSource weights;
  ColumnSource ids;
};

/// Reads what the sources give now, all of it once.
/// @return What this rank alone can find wrong with it, if anything. Partitioners would search for
///         the median of values that are not numbers for ever.
[[nodiscard]] std::optional<Diagnostic> look_at(const Sources& sources, bool balance_count,
                                                const PartitionerTraits& traits, Objects& objects);

}  // namespace valet::rebalance
