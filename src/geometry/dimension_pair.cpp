// SPDX-License-Identifier: BSD-3-Clause
#include "geometry/dimension_pair.hpp"

#include <valet/error.hpp>

#include <algorithm>
#include <numeric>
#include <string>

namespace valet::layout {
namespace {

std::int64_t common_period(std::int64_t extent, std::int64_t stride, std::int64_t other) {
  if (stride >= extent || other >= extent) return extent;
  const std::int64_t factor = quotient(stride, std::gcd(stride, other));
  // Written so that the least common multiple is not computed where it would overflow.
  return factor > quotient(extent - 1, other) ? extent : factor * other;
}

}  // namespace

DimensionPair::Side::Side(const Dimension& dimension)
    : block(std::max<std::int64_t>(dimension.ranks() == 1
                                       ? dimension.extent()
                                       : std::min(dimension.block_size(), dimension.extent()),
                                   1)),
      stride(block * dimension.ranks()),
      ranks(dimension.ranks()),
      first_rank(dimension.first_rank()) {}

DimensionPair::DimensionPair(const Dimension& my_dimension, const Dimension& their_dimension,
                             int number)
    : extent(my_dimension.extent()),
      mine(my_dimension),
      theirs(their_dimension),
      period(common_period(extent, mine.stride, theirs.stride)),
      repeats(period < extent) {
  const std::int64_t blocks = quotient(mine.stride, theirs.block);
  offset_step = mine.stride - blocks * theirs.block;
  peer_step = blocks - quotient(blocks, theirs.ranks) * theirs.ranks;
  if (their_dimension.extent() == extent) return;
  throw Error(ErrorCode::invalid_argument,
              "the two layouts are not of the same array: extent " + std::to_string(extent) +
                  " and " + std::to_string(their_dimension.extent()) + " in dimension " +
                  std::to_string(number) + "; give both the extents of the global array");
}

}  // namespace valet::layout
