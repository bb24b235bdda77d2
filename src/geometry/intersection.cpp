// SPDX-License-Identifier: BSD-3-Clause
#include "geometry/intersection.hpp"

#include "geometry/walks.hpp"
#include <valet/error.hpp>

#include <algorithm>
#include <string>

namespace valet::layout {
namespace {

void check(const BlockCyclic& mine, int rank, const BlockCyclic& theirs) {
  if (rank < 0 || rank >= mine.ranks())
    throw Error(ErrorCode::invalid_argument,
                "rank " + std::to_string(rank) +
                    " is not in the layout's grid, which has ranks 0 to " +
                    std::to_string(mine.ranks() - 1));
  if (mine.dimensions() != theirs.dimensions())
    throw Error(ErrorCode::invalid_argument,
                "the two layouts are not of the same array: " + std::to_string(mine.dimensions()) +
                    " and " + std::to_string(theirs.dimensions()) + " dimensions");
}

/// Dimension number `step` of `count`, visited from the fastest to the slowest.
std::size_t fastest_first(IndexOrder order, std::size_t step, std::size_t count) {
  return order == IndexOrder::column_major ? step : count - 1 - step;
}

}  // namespace

DimensionIntersection::DimensionIntersection(Ledger& ledger, const DimensionPair& pair,
                                             int coordinate, Algorithm algorithm)
    : first_(ledger, static_cast<std::size_t>(pair.theirs.ranks) + 1),
      extent_(pair.extent),
      segment_stride_(pair.segment_stride()),
      local_stride_(pair.local_stride()) {
  // CLASSICAL knows no period.
  repeats_ = pair.repeats && algorithm != Algorithm::classical;
  period_ = repeats_ ? pair.period : pair.extent;
  local_period_ = repeats_ ? pair.local_period() : 0;

  // Counted, then placed: no second list beside the sorted one.
  std::fill(first_.begin(), first_.end(), 0);
  std::int64_t families = 0;
  walk(pair, coordinate, algorithm, [&](const SegmentFamily& found) {
    ++first_[static_cast<std::size_t>(found.peer) + 1];
    ++families;
  });
  families_ = Array<Family>(ledger, static_cast<std::size_t>(families));
  for (std::size_t peer = 1; peer < first_.size(); ++peer) first_[peer] += first_[peer - 1];
  walk(pair, coordinate, algorithm, [&](const SegmentFamily& found) {
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

std::int64_t DimensionIntersection::index_of(int peer, std::int64_t position) const noexcept {
  const std::span<const Family> all = families(peer);
  const std::int64_t periods = repeats_ ? position / period_ : 0;
  const std::int64_t rest = position - periods * period_;
  const std::int64_t in_front = periods * size_of_period(peer);
  const auto behind = std::partition_point(
      all.begin(), all.end(), [rest](const Family& family) { return family.position < rest; });
  if (behind == all.begin()) return in_front;
  const Family& family = *(behind - 1);
  const std::int64_t distance = rest - family.position;
  const std::int64_t segments = std::min(distance / segment_stride_, family.count - 1);
  return in_front + family.before + segments * family.length +
         std::min(distance - segments * segment_stride_, family.length);
}

std::int64_t DimensionIntersection::local_at(int peer, std::int64_t index) const noexcept {
  const std::span<const Family> all = families(peer);
  const std::int64_t periods = repeats_ ? index / size_of_period(peer) : 0;
  const std::int64_t rest = index - periods * (repeats_ ? size_of_period(peer) : 0);
  const auto behind = std::partition_point(
      all.begin(), all.end(), [rest](const Family& family) { return family.before <= rest; });
  const Family& family = *(behind - 1);
  const std::int64_t inside = rest - family.before;
  return periods * local_period_ + family.local + inside / family.length * local_stride_ +
         inside % family.length;
}

Intersection::Intersection(Ledger& ledger, const BlockCyclic& mine, int rank,
                           const BlockCyclic& theirs, Algorithm algorithm)
    : mine_(mine), theirs_(theirs) {
  check(mine, rank, theirs);
  coordinates_ = mine.coordinates(rank);
  for (std::size_t d = 0; d < mine.dimensions(); ++d) {
    const DimensionPair pair(mine.dimension(d), theirs.dimension(d), static_cast<int>(d));
    dimensions_[d] = DimensionIntersection(ledger, pair, coordinates_[d], algorithm);
  }
}

std::int64_t Intersection::elements(int peer) const {
  const BlockCyclic::Coordinates place = theirs_.coordinates(peer);
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < place.size() && elements > 0; ++d)
    elements *= dimensions_[d].size(place[d]);
  return elements;
}

int Intersection::next_peer(int from) const {
  while (from < theirs_.ranks() && elements(from) == 0) ++from;
  return from;
}

Intersection::Place Intersection::place_of(const Extents& local, IndexOrder order) const {
  const std::size_t count = mine_.dimensions();
  auto owner = BlockCyclic::Coordinates::filled(count, 0);
  std::int64_t index = 0;
  std::int64_t weight = 1;
  for (std::size_t step = 0; step < count; ++step) {
    const std::size_t d = fastest_first(order, step, count);
    const std::int64_t position = mine_.dimension(d).global_index(coordinates_[d], local[d]);
    owner[d] = theirs_.dimension(d).owner(position);
    index += weight * dimensions_[d].index_of(owner[d], position);
    weight *= dimensions_[d].size(owner[d]);
  }
  return {theirs_.rank(owner), index};
}

Intersection::Extents Intersection::local_indices(const Place& place, IndexOrder order) const {
  const std::size_t count = mine_.dimensions();
  const BlockCyclic::Coordinates owner = theirs_.coordinates(place.peer);
  auto local = Extents::filled(count, 0);
  std::int64_t rest = place.index;
  for (std::size_t step = 0; step < count; ++step) {
    const std::size_t d = fastest_first(order, step, count);
    const std::int64_t size = dimensions_[d].size(owner[d]);
    local[d] = dimensions_[d].local_at(owner[d], rest % size);
    rest /= size;
  }
  return local;
}

}  // namespace valet::layout
