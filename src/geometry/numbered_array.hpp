// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A distributed array whose elements are numbered row by row, the last index fastest, and follow
/// each other likewise in the slots of every rank: so numbers and slots ascend together. No MPI.

#include "geometry/intersection.hpp"
#include <valet/block_cyclic.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace valet::layout {

/// Objects with consecutive numbers in consecutive slots.
struct ObjectRun {
  std::int64_t number;  ///< of the first one
  std::int64_t slot;    ///< of the first one
  std::int64_t length;

  /// All but the first ones.
  [[nodiscard]] ObjectRun behind(std::int64_t first_ones) const {
    return {number + first_ones, slot + first_ones, length - first_ones};
  }
};

/// The indices of an element by its number in that order.
[[nodiscard]] inline BlockCyclic::Extents indices_of(const BlockCyclic::Extents& extents,
                                                     std::int64_t number, IndexOrder order) {
  BlockCyclic::Extents indices = extents;
  for (std::size_t step = 0; step < extents.size(); ++step) {
    const std::size_t d = order == IndexOrder::column_major ? step : extents.size() - 1 - step;
    indices[d] = number % extents[d];
    number /= extents[d];
  }
  return indices;
}
[[nodiscard]] inline BlockCyclic::Extents indices_of(const BlockCyclic& array,
                                                     std::int64_t number) {
  return indices_of(array.extents(), number, IndexOrder::row_major);
}

/// Calls action(ObjectRun) for all that a rank of the grid has, ascending.
/// @param d, rows  For the recursion: dimensions above d have been walked, and these are their
/// rows.
template <class Action>
void for_each_run(const BlockCyclic& array, int rank, Action&& action, std::size_t d = 0,
                  const ObjectRun& rows = {0, 0, 1}) {
  const Dimension& dimension = array.dimension(d);
  const int coordinate = array.coordinates(rank)[d];
  const std::int64_t extent = dimension.local_extent(coordinate);
  const DimensionSide side(dimension);
  for (std::int64_t row = 0; row < rows.length; ++row) {
    std::int64_t number = (rows.number + row) * dimension.extent() + side.start(coordinate);
    for (std::int64_t local = 0; local < extent; local += side.block, number += side.stride) {
      const ObjectRun run{number, (rows.slot + row) * extent + local,
                          std::min(side.block, extent - local)};
      if (d + 1 == array.dimensions())
        action(run);
      else
        for_each_run(array, rank, action, d + 1, run);
    }
  }
}

/// Elements of an array along its last dimension, and the ranks that have them.
struct ArrayRow {
  std::int64_t first = 0, end = 0;  ///< numbers
  int rank = 0;                     ///< of coordinate 0
  int step = 0;                     ///< to that of the next coordinate
};

/// The one of a number.
[[nodiscard]] inline ArrayRow row_of(const BlockCyclic& array, std::int64_t number) {
  const std::size_t last = array.dimensions() - 1;
  const BlockCyclic::Extents indices = indices_of(array, number);
  BlockCyclic::Coordinates place = array.coordinates(array.owner(indices));
  place[last] = 0;
  const int rank = array.rank(place);
  place[last] = 1;
  const std::int64_t first = number - indices[last];
  return {first, first + array.dimension(last).extent(), rank, array.rank(place) - rank};
}

/// Calls action(rank, ObjectRun) for the parts of a run, whose slots are anybody's, that are with
/// one rank of the grid, ascending.
/// @param row  Of the run before, which is often this one's; anything at first.
template <class Action>
void cut(const BlockCyclic& array, ArrayRow& row, ObjectRun run, Action&& action) {
  const Dimension& last = array.dimension(array.dimensions() - 1);
  while (run.length > 0) {
    if (run.number < row.first || run.number >= row.end) row = row_of(array, run.number);
    std::int64_t in_row = std::min(row.end - run.number, run.length);
    const std::int64_t number = quotient(run.number - row.first, last.block_size());
    std::int64_t in_block =
        last.block_size() - (run.number - row.first - number * last.block_size());
    std::int64_t place = number + last.first_rank();
    place -= quotient(place, last.ranks()) * last.ranks();
    while (in_row > 0) {
      const std::int64_t length = last.ranks() == 1 ? in_row : std::min(in_row, in_block);
      action(row.rank + static_cast<int>(place) * row.step,
             ObjectRun{run.number, run.slot, length});
      run = run.behind(length);
      in_row -= length;
      in_block = last.block_size();
      if (++place == last.ranks()) place = 0;
    }
  }
}

/// Numbers of a shape, such as 3 x 2.
template <class Values>
[[nodiscard]] std::string shape_text(const Values& values) {
  std::string text;
  for (const auto value : values) text += (text.empty() ? "" : " x ") + std::to_string(value);
  return text;
}

/// Differs, but for accidents, where the arrays do, as an agreement carries it; 0 where there is
/// none.
[[nodiscard]] std::uint64_t digest_of(const std::optional<BlockCyclic>& array);

}  // namespace valet::layout
