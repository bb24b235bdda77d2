// SPDX-License-Identifier: BSD-3-Clause
#include "geometry/intersection.hpp"

#include "base/diagnose.hpp"
#include "geometry/aspen.hpp"

#include <algorithm>
#include <numeric>

namespace valet::layout {
namespace {

template <class... Parts>
[[noreturn]] void refuse(const Parts&... parts) {
  throw Error(ErrorCode::invalid_argument, invalid(parts...).text);
}

std::int64_t common_period(std::int64_t extent, std::int64_t stride, std::int64_t other) {
  if (stride >= extent || other >= extent) return extent;
  const std::int64_t factor = quotient(stride, std::gcd(stride, other));
  // Written so that the least common multiple is not computed where it would overflow.
  return factor > quotient(extent - 1, other) ? extent : factor * other;
}

void check(const BlockCyclic& mine, int rank, const BlockCyclic& theirs) {
  if (rank < 0 || rank >= mine.ranks())
    refuse("rank ", rank, " is not in the layout's grid, which has ranks 0 to ", mine.ranks() - 1);
  if (mine.dimensions() != theirs.dimensions())
    refuse("the two layouts are not of the same array: ", mine.dimensions(), " and ",
           theirs.dimensions(), " dimensions");
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
  if (their_dimension.extent() != extent)
    refuse("the two layouts are not of the same array: extent ", extent, " and ",
           their_dimension.extent(), " in dimension ", number,
           "; give both the extents of the global array");
}

DimensionIntersection::DimensionIntersection(Ledger& ledger, const DimensionPair& pair,
                                             int coordinate)
    : first_(ledger, static_cast<std::size_t>(pair.theirs.ranks) + 1), pair_(pair) {
  // Counted, then placed: no second list beside the sorted one.
  std::fill(first_.begin(), first_.end(), 0);
  walk_aspen(pair, coordinate,
             [&](const IndexFamily& found) { ++first_[static_cast<std::size_t>(found.peer) + 1]; });
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  families_ = Array<Family>(ledger, static_cast<std::size_t>(*(first_.end() - 1)));
  walk_aspen(pair, coordinate, [&](const IndexFamily& found) {
    std::int64_t& next = first_[static_cast<std::size_t>(found.peer)];
    families_[static_cast<std::size_t>(next++)] = {found.position, found.local, found.length,
                                                   found.count, 0};
  });
  // Each entry has advanced to the beginning of the next peer.
  std::copy_backward(first_.begin(), first_.end() - 1, first_.end());
  first_[0] = 0;
  for (std::size_t peer = 0; peer + 1 < first_.size(); ++peer) {
    std::int64_t before = 0;
    for (std::int64_t f = first_[peer]; f < first_[peer + 1]; ++f) {
      Family& family = families_[static_cast<std::size_t>(f)];
      family.before = before;
      before += family.length * family.count;
    }
  }
}

std::int64_t DimensionIntersection::size_of_period(int peer) const noexcept {
  const std::span<const Family> all = families(peer);
  return all.empty() ? 0 : all.back().before + all.back().length * all.back().count;
}

std::int64_t DimensionIntersection::size(int peer) const noexcept {
  const std::span<const Family> all = families(peer);
  const std::int64_t periods = pair_.repeats ? pair_.extent / pair_.period : 0;
  const std::int64_t rest = pair_.extent - periods * pair_.period;
  const std::int64_t in_front = periods * size_of_period(peer);
  const auto behind = std::partition_point(
      all.begin(), all.end(), [rest](const Family& family) { return family.position < rest; });
  if (behind == all.begin()) return in_front;
  const Family& family = *(behind - 1);
  const std::int64_t distance = rest - family.position, stride = pair_.family_stride();
  const std::int64_t whole = std::min(distance / stride, family.count - 1);
  return in_front + family.before + whole * family.length +
         std::min(distance - whole * stride, family.length);
}

Intersection::Intersection(Ledger& ledger, const BlockCyclic& mine, int rank,
                           const BlockCyclic& theirs)
    : theirs_(theirs) {
  check(mine, rank, theirs);
  const BlockCyclic::Coordinates coordinates = mine.coordinates(rank);
  for (std::size_t d = 0; d < mine.dimensions(); ++d) {
    const DimensionPair pair(mine.dimension(d), theirs.dimension(d), static_cast<int>(d));
    dimensions_[d] = DimensionIntersection(ledger, pair, coordinates[d]);
  }
}

std::int64_t Intersection::elements(int peer) const {
  const BlockCyclic::Coordinates grid_coordinates = theirs_.coordinates(peer);
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < grid_coordinates.size() && elements > 0; ++d)
    elements *= dimensions_[d].size(grid_coordinates[d]);
  return elements;
}

int Intersection::next_peer(int from) const {
  while (from < theirs_.ranks() && elements(from) == 0) ++from;
  return from;
}

}  // namespace valet::layout
