// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A distributed array whose elements are numbered row by row, the last index fastest, and follow
/// each other likewise in the slots of every rank: so numbers and slots ascend together. No MPI.

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

[[nodiscard]] inline BlockCyclic::Extents indices_of(const BlockCyclic& array,
                                                     std::int64_t number) {
  auto indices = BlockCyclic::Extents::filled(array.dimensions(), 0);
  for (std::size_t d = array.dimensions(); d-- > 0;) {
    const std::int64_t extent = array.dimension(d).extent();
    indices[d] = number % extent;
    number /= extent;
  }
  return indices;
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
  const std::int64_t block = dimension.ranks() == 1 ? extent : dimension.block_size();
  for (std::int64_t row = 0; row < rows.length; ++row)
    for (std::int64_t local = 0; local < extent; local += block) {
      const ObjectRun run{
          (rows.number + row) * dimension.extent() + dimension.global_index(coordinate, local),
          (rows.slot + row) * extent + local, std::min(block, extent - local)};
      if (d + 1 == array.dimensions())
        action(run);
      else
        for_each_run(array, rank, action, d + 1, run);
    }
}

/// Calls action(rank, ObjectRun) for the parts of a run, whose slots are anybody's, that are with
/// one rank of the grid, ascending. Divides only where a row begins.
template <class Action>
void cut(const BlockCyclic& array, ObjectRun run, Action&& action) {
  const std::size_t last = array.dimensions() - 1;
  const Dimension& row = array.dimension(last);
  while (run.length > 0) {
    const BlockCyclic::Extents indices = indices_of(array, run.number);
    BlockCyclic::Coordinates place = array.coordinates(array.owner(indices));
    std::int64_t in_row = std::min(row.extent() - indices[last], run.length);
    std::int64_t in_block = row.block_size() - indices[last] % row.block_size();
    while (in_row > 0) {
      const std::int64_t length = row.ranks() == 1 ? in_row : std::min(in_row, in_block);
      action(array.rank(place), ObjectRun{run.number, run.slot, length});
      run = run.behind(length);
      in_row -= length;
      in_block = row.block_size();
      if (++place[last] == row.ranks()) place[last] = 0;
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
