// SPDX-License-Identifier: BSD-3-Clause
#include "geometry/intersection.hpp"

#include "base/diagnose.hpp"
#include "geometry/aspen.hpp"
#include "geometry/comparisons.hpp"
#include "geometry/cut_walk.hpp"

#include <algorithm>
#include <numeric>

namespace valet::layout {
namespace {

bool is_cut(const DimensionPair& pair) { return pair.mine.cuts || pair.theirs.cuts; }

/// Times as many coordinates as families from where on these are found by a search.
constexpr std::int64_t sparse = 8;

/// Families of a coordinate of mine with all of theirs, at most: those of each own block, see
/// split_block(). Or, what is as good, more than there are coordinates of theirs. Where a dimension
/// is cut, exactly.
std::int64_t most_families(const DimensionPair& pair, int coordinate) {
  if (is_cut(pair)) {
    std::int64_t families = 0;
    walk_cuts(pair, coordinate, {0, pair.theirs.ranks},
              [&families](const IndexFamily&) { ++families; });
    return families;
  }
  const std::int64_t pieces = quotient(pair.mine.block, pair.theirs.block);
  const std::int64_t of_each = std::min<std::int64_t>(pair.theirs.ranks, pieces) + 2;
  const std::int64_t blocks = quotient(pair.period, pair.mine.stride) + 1;
  return std::min<std::int64_t>(blocks, pair.theirs.ranks) * of_each;
}

std::int64_t common_period(std::int64_t extent, std::int64_t stride, std::int64_t other) {
  if (stride >= extent || other >= extent) return extent;
  const std::int64_t factor = quotient(stride, std::gcd(stride, other));
  // Written so that the least common multiple is not computed where it would overflow.
  return factor > quotient(extent - 1, other) ? extent : factor * other;
}

void check_in_grid(const char* what, int number, const char* whose, int ranks) {
  if (number < 0 || number >= ranks)
    refuse(what, number, " is not in ", whose, " grid, which has ranks 0 to ", ranks - 1);
}

void check_options(const IntersectOptions& options, int ranks) {
  if (options.peer != IntersectOptions::all_peers)
    check_in_grid("peer ", options.peer, "the other layout's", ranks);
  if (options.algorithm < IntersectionAlgorithm::aspen ||
      options.algorithm > IntersectionAlgorithm::classical)
    refuse("unknown intersection algorithm ", static_cast<int>(options.algorithm),
           "; give aspen (0), falls (1) or classical (2)");
}

Peers peers_of(const DimensionPair& pair, const IntersectOptions& options) {
  if (options.peer == IntersectOptions::all_peers) return {0, pair.theirs.ranks};
  return {options.peer, options.peer + 1};
}

/// Calls sink(IndexFamily) for the families of one period, ascending by position for each peer.
/// @return Operations.
template <class Sink>
std::int64_t walk(const DimensionPair& pair, int coordinate, const IntersectOptions& options,
                  Sink&& sink) {
  const Peers peers = peers_of(pair, options);
  if (is_cut(pair)) return walk_cuts(pair, coordinate, peers, sink);
  switch (options.algorithm) {
    case IntersectionAlgorithm::classical:
      return walk_comparing<Comparing::all>(pair, coordinate, peers, sink);
    case IntersectionAlgorithm::falls:
      return walk_comparing<Comparing::onwards>(pair, coordinate, peers, sink);
    default:
      aspen_walks.fetch_add(1, std::memory_order_relaxed);
      return options.peer == IntersectOptions::all_peers
                 ? walk_aspen(pair, coordinate, sink)
                 : walk_aspen_to(pair, coordinate, options.peer, sink);
  }
}

}  // namespace

std::atomic<std::uint64_t> aspen_walks = 0;

std::uint64_t bytes_of_families(const DimensionPair& pair, std::uint64_t families) {
  const auto peers = static_cast<std::uint64_t>(pair.theirs.ranks);
  if (is_cut(pair) && families * sparse < peers)  // as find_few() has them, twice for a time
    return families * (sizeof(IndexFamily) + sizeof(PeerFamily) + sizeof(std::int32_t));
  return families * sizeof(PeerFamily) + (peers + 1) * sizeof(std::int64_t);
}

void check_intersection(const BlockCyclic& mine, int rank, const BlockCyclic& theirs,
                        const IntersectOptions& options) {
  check_in_grid("rank ", rank, "the layout's", mine.ranks());
  if (mine.dimensions() != theirs.dimensions())
    refuse("the two layouts are not of the same array: ", mine.dimensions(), " and ",
           theirs.dimensions(), " dimensions");
  check_options(options, theirs.ranks());
}

DimensionSide::DimensionSide(const Dimension& dimension)
    : block(std::max<std::int64_t>(dimension.ranks() == 1
                                       ? dimension.extent()
                                       : std::min(dimension.block_size(), dimension.extent()),
                                   1)),
      stride(dimension.cuts() ? block : block * dimension.ranks()),
      ranks(dimension.ranks()),
      first_rank(dimension.first_rank()),
      cuts(dimension.cuts()) {}

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
                                             int coordinate, const IntersectOptions& options)
    : pair_(pair) {
  const Peers peers = peers_of(pair, options);
  const std::int64_t most = most_families(pair, coordinate);
  if (most * sparse < peers.end - peers.first) {
    find_few(ledger, coordinate, options, static_cast<std::size_t>(most));
    return;
  }
  lowest_ = peers.first;
  first_ = Array<std::int64_t>(ledger, static_cast<std::size_t>(peers.end - peers.first) + 1);
  // Counted, then placed: no second list beside the sorted one.
  std::fill(first_.begin(), first_.end(), 0);
  operations_ = walk(pair, coordinate, options,
                     [counts = first_.data() + 1, lowest = lowest_](const IndexFamily& found) {
                       ++counts[found.peer - lowest];
                     });
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  families_ = Array<Family>(ledger, static_cast<std::size_t>(*(first_.end() - 1)));
  walk(
      pair, coordinate, options,
      [next = first_.data(), lowest = lowest_, place = families_.data()](const IndexFamily& found) {
        place[next[found.peer - lowest]++] = {found.position, found.local, found.length,
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

/// Sorted, without a table over the peers.
void DimensionIntersection::find_few(Ledger& ledger, int coordinate,
                                     const IntersectOptions& options, std::size_t most) {
  Array<IndexFamily> found(ledger, most);
  std::size_t count = 0;
  operations_ =
      walk(pair_, coordinate, options, [&](const IndexFamily& family) { found[count++] = family; });
  const std::span<IndexFamily> sorted = std::span(found).first(count);
  std::ranges::sort(sorted, {}, [](const IndexFamily& family) {
    return std::pair(family.peer, family.position);
  });
  families_ = Array<Family>(ledger, count);
  peers_ = Array<std::int32_t>(ledger, count);
  for (std::size_t f = 0; f < count; ++f) {
    const IndexFamily& family = sorted[f];
    const bool is_first = f == 0 || peers_[f - 1] != family.peer;
    peers_[f] = family.peer;
    families_[f] = {
        family.position, family.local, family.length, family.count,
        is_first ? 0 : families_[f - 1].before + families_[f - 1].length * families_[f - 1].count};
  }
}

std::int64_t DimensionIntersection::size_of_period(int peer) const noexcept {
  const std::span<const Family> all = families(peer);
  return all.empty() ? 0 : all.back().before + all.back().length * all.back().count;
}

std::int64_t DimensionIntersection::size_before(int peer, std::int64_t position) const noexcept {
  const std::span<const Family> all = families(peer);
  const std::int64_t periods = pair_.repeats ? position / pair_.period : 0;
  const std::int64_t rest = position - periods * pair_.period;
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

Intersection::Intersection(const BlockCyclic& mine, int rank, const BlockCyclic& theirs,
                           const IntersectOptions& options)
    : ledger_(std::make_unique<Ledger>()), theirs_(theirs) {
  find(*ledger_, mine, rank, options);
}

Intersection::Intersection(Ledger& ledger, const BlockCyclic& mine, int rank,
                           const BlockCyclic& theirs, const IntersectOptions& options)
    : theirs_(theirs) {
  find(ledger, mine, rank, options);
}

void Intersection::find(Ledger& ledger, const BlockCyclic& mine, int rank,
                        const IntersectOptions& options) {
  check_intersection(mine, rank, theirs_, options);
  const BlockCyclic::Coordinates own = mine.coordinates(rank);
  const BlockCyclic::Coordinates peer = theirs_.coordinates(std::max(options.peer, 0));
  bool is_empty = false;
  for (std::size_t d = 0; d < mine.dimensions(); ++d) {
    const DimensionPair pair(mine.dimension(d), theirs_.dimension(d), static_cast<int>(d));
    if (is_empty) continue;  // nor is the product anything (paper, section 4.1)
    IntersectOptions along = options;
    if (options.peer != IntersectOptions::all_peers) along.peer = peer[d];
    dimensions_[d] = DimensionIntersection(ledger, pair, own[d], along);
    is_empty = dimensions_[d].is_empty();
  }
}

std::int64_t Intersection::operations() const noexcept {
  std::int64_t operations = 0;
  for (const DimensionIntersection& along : dimensions_) operations += along.operations();
  return operations;
}

std::int64_t Intersection::elements(int peer) const {
  const BlockCyclic::Coordinates grid_coordinates = theirs_.coordinates(peer);
  std::int64_t elements = 1;
  for (std::size_t d = 0; d < grid_coordinates.size() && elements > 0; ++d)
    elements *= dimensions_[d].size(grid_coordinates[d]);
  return elements;
}

std::int64_t Intersection::elements_before(int peer, IndexOrder order,
                                           const BlockCyclic::Extents& global) const {
  const BlockCyclic::Coordinates at = theirs_.coordinates(peer);
  const std::size_t count = at.size();
  std::int64_t elements = 0, rows = this->elements(peer);  // rows of the dimensions looked at
  for (std::size_t step = 0; step < count && rows > 0; ++step) {
    const std::size_t d = order == IndexOrder::row_major ? step : count - 1 - step;
    const DimensionIntersection& dimension = dimensions_[d];
    const std::int64_t before = dimension.size_before(at[d], global[d]);
    rows /= dimension.size(at[d]);
    elements += before * rows;
    if (dimension.size_before(at[d], global[d] + 1) == before) break;  // this one is not shared
  }
  return elements;
}

int Intersection::next_peer(int from) const {
  // Ranks that have a coordinate with which nothing is shared are passed over together: all those
  // with the same slower coordinates.
  const std::size_t count = theirs_.dimensions();
  for (int passed = 1; from < theirs_.ranks(); from += passed) {
    const BlockCyclic::Coordinates at = theirs_.coordinates(from);
    passed = theirs_.ranks();
    std::size_t step = 0;
    for (; step < count; ++step) {
      const std::size_t d = theirs_.rank_order() == IndexOrder::row_major ? step : count - 1 - step;
      passed /= theirs_.dimension(d).ranks();
      if (dimensions_[d].size(at[d]) == 0) break;
    }
    if (step == count) return from;
    passed -= from % passed;
  }
  return theirs_.ranks();
}

}  // namespace valet::layout

valet::FoundFamilies valet::intersect(const layout::DimensionPair& pair, int coordinate,
                                      std::span<layout::IndexFamily> families,
                                      const IntersectOptions& options) {
  layout::check_in_grid("coordinate ", coordinate, "the layout's", pair.mine.ranks);
  layout::check_options(options, pair.theirs.ranks);
  std::size_t found = 0;
  const std::int64_t operations =
      layout::walk(pair, coordinate, options, [&](const layout::IndexFamily& family) {
        if (found < families.size()) families[found] = family;
        ++found;
      });
  return {found, operations};
}
