// SPDX-License-Identifier: BSD-3-Clause
#include "base/diagnose.hpp"
#include "geometry/numbered_array.hpp"
#include <valet/block_cyclic.hpp>
#include <valet/error.hpp>

#include <xxhash.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace valet {
namespace {

template <class... Parts>
[[noreturn]] void reject(const Parts&... parts) {
  refuse("block-cyclic layout: ", parts...);
}

std::string in_dimension(int number) { return " in dimension " + std::to_string(number); }

/// Dimension number `step` of `count` when they are visited from the slowest to the fastest.
std::size_t slowest_first(IndexOrder order, std::size_t step, std::size_t count) {
  return order == IndexOrder::row_major ? step : count - 1 - step;
}

void check_lengths(const BlockCyclic::Extents& extents, const BlockCyclic::Extents& block_sizes,
                   const BlockCyclic::Coordinates& grid,
                   const BlockCyclic::Coordinates& first_ranks) {
  const std::size_t count = extents.size();
  if (count == 0) reject("an array needs 1 to 6 dimensions, not 0");
  const bool default_first = first_ranks.size() == 0;
  if (block_sizes.size() == count && grid.size() == count &&
      (default_first || first_ranks.size() == count))
    return;
  reject("extents have ", count, " dimensions, block sizes ", block_sizes.size(), ", the grid ",
         grid.size(), default_first ? "" : ", first ranks " + std::to_string(first_ranks.size()),
         "; give each one value per dimension");
}

}  // namespace

namespace layout {

void throw_too_many_dimensions(std::size_t given) {
  reject("an array has 1 to 6 dimensions, not ", given);
}

Dimension::Dimension(std::int64_t extent, std::int64_t block_size, int ranks, int first_rank,
                     int number)
    : extent_(extent), block_size_(block_size), ranks_(ranks), first_rank_(first_rank) {
  const std::string where = in_dimension(number);
  if (extent < 0) reject("extent ", extent, where, " is negative; 0 is an empty array");
  if (block_size < 1) reject("block size ", block_size, where, " must be at least 1");
  if (ranks < 1) reject("grid size ", ranks, where, " must be at least 1");
  if (first_rank < 0 || first_rank >= ranks)
    reject("first rank ", first_rank, where, " is not in the grid, which has ", ranks,
           " ranks there (0 to ", ranks - 1, ")");
  if (std::min(block_size, extent) > BlockCyclic::most_elements / ranks)
    reject("blocks of ", block_size, " on ", ranks, " ranks", where,
           " overflow: one turn through the grid may span 2^60 elements");
}

Dimension::Dimension(std::vector<std::int64_t> cuts, int number) {
  const std::string where = in_dimension(number);
  const std::size_t count = cuts.size();
  if (count < 2) reject("one cut more than cells is needed", where, ", at least 2, not ", count);
  if (cuts[0] != 0) reject("the cuts", where, " begin with ", cuts[0], "; the first one is 0");
  for (std::size_t c = 1; c < count; ++c)
    if (cuts[c] < cuts[c - 1])
      reject("cut ", c, where, " is ", cuts[c], ", below the one before it, ", cuts[c - 1],
             "; give them in ascending order");
  if (count - 1 > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    reject("there are more than 2147483647 cells", where);
  extent_ = cuts.back();
  block_size_ = std::max<std::int64_t>(extent_, 1);
  ranks_ = static_cast<int>(count - 1);
  cuts_ = std::make_shared<const std::vector<std::int64_t>>(std::move(cuts));
}

int Dimension::interval_of(std::int64_t global) const noexcept {
  return static_cast<int>(std::ranges::upper_bound(*cuts_, global) - cuts_->begin()) - 1;
}

bool Dimension::operator==(const Dimension& other) const noexcept {
  return extent_ == other.extent_ && block_size_ == other.block_size_ && ranks_ == other.ranks_ &&
         first_rank_ == other.first_rank_ &&
         (cuts_ && other.cuts_ ? *cuts_ == *other.cuts_ : cuts_ == other.cuts_);
}

std::int64_t Dimension::local_extent(int coordinate) const noexcept {
  if (cuts_) return begin_of(coordinate + 1) - begin_of(coordinate);
  const std::int64_t whole_blocks = extent_ / block_size_;
  const std::int64_t rounds = whole_blocks / ranks_;
  const std::int64_t last_turn = whole_blocks % ranks_;
  const std::int64_t own_turn = turn(coordinate);
  if (own_turn < last_turn) return (rounds + 1) * block_size_;
  return rounds * block_size_ + (own_turn == last_turn ? extent_ % block_size_ : 0);
}

std::uint64_t digest_of(const std::optional<BlockCyclic>& array) {
  std::uint64_t digest = 0;
  const auto add = [&](std::int64_t value) {
    digest = XXH3_64bits_withSeed(&value, sizeof value, digest);
  };
  if (!array) return digest;
  for (std::size_t d = 0; d < array->dimensions(); ++d) {
    const Dimension& dimension = array->dimension(d);
    add(dimension.extent());
    add(dimension.block_size());
    add(dimension.ranks());
    add(dimension.first_rank());
    if (dimension.cuts())
      for (const std::int64_t cut : *dimension.cuts()) add(cut);
  }
  add(static_cast<std::int64_t>(array->rank_order()));
  return digest >> 2U;
}

}  // namespace layout

BlockCyclic::BlockCyclic(const Extents& extents, const Extents& block_sizes,
                         const Coordinates& grid, IndexOrder rank_order,
                         const Coordinates& first_ranks)
    : BlockCyclic(extents.size(), rank_order) {
  check_lengths(extents, block_sizes, grid, first_ranks);
  for (std::size_t d = 0; d < dimensions(); ++d) {
    const int first_rank = first_ranks.size() == 0 ? 0 : first_ranks[d];
    set(d, {extents[d], block_sizes[d], grid[d], first_rank, static_cast<int>(d)});
  }
  count_elements();
}

BlockCyclic::BlockCyclic(std::size_t dimensions, IndexOrder rank_order)
    : dimensions_(layout::PerDimension<layout::Dimension>::filled(dimensions, {})),
      rank_order_(rank_order),
      elements_(1) {
  if (rank_order != IndexOrder::row_major && rank_order != IndexOrder::column_major)
    reject("rank order ", static_cast<int>(rank_order), " is neither row_major nor column_major");
}

void BlockCyclic::set(std::size_t d, layout::Dimension dimension) {
  const std::int64_t extent = dimension.extent();
  if (ranks_ > std::numeric_limits<int>::max() / dimension.ranks())
    reject("the grid has more than 2147483647 ranks, first", in_dimension(static_cast<int>(d)));
  ranks_ *= dimension.ranks();
  // Zero extents later on do not excuse the product of the others: strides are made of those.
  if (extent > 0 && elements_ > most_elements / extent)
    reject("the array has more than 2^60 elements, first", in_dimension(static_cast<int>(d)));
  elements_ *= std::max<std::int64_t>(extent, 1);
  dimensions_[d] = std::move(dimension);
}

void BlockCyclic::count_elements() {
  for (const layout::Dimension& dimension : dimensions_)
    if (dimension.extent() == 0) elements_ = 0;
}

BlockCyclic BlockCyclic::cut_at(const layout::PerDimension<std::vector<std::int64_t>>& cuts,
                                IndexOrder rank_order) {
  if (cuts.size() == 0) reject("an array needs 1 to 6 dimensions, not 0");
  BlockCyclic grid(cuts.size(), rank_order);
  for (std::size_t d = 0; d < cuts.size(); ++d)
    grid.set(d, layout::Dimension(cuts[d], static_cast<int>(d)));
  grid.count_elements();
  return grid;
}

BlockCyclic BlockCyclic::block(const Extents& extents, const Coordinates& grid,
                               IndexOrder rank_order) {
  auto block_sizes = Extents::filled(extents.size(), 1);
  for (std::size_t d = 0; d < std::min(extents.size(), grid.size()); ++d)
    if (extents[d] > 0 && grid[d] > 0) block_sizes[d] = (extents[d] - 1) / grid[d] + 1;
  return {extents, block_sizes, grid, rank_order};
}

BlockCyclic BlockCyclic::cyclic(const Extents& extents, const Coordinates& grid,
                                IndexOrder rank_order) {
  return {extents, Extents::filled(extents.size(), 1), grid, rank_order};
}

BlockCyclic::Extents BlockCyclic::extents() const {
  auto extents = Extents::filled(dimensions(), 0);
  for (std::size_t d = 0; d < dimensions(); ++d) extents[d] = dimensions_[d].extent();
  return extents;
}

BlockCyclic::Coordinates BlockCyclic::coordinates(int rank) const {
  auto coordinates = Coordinates::filled(dimensions(), 0);
  for (std::size_t step = dimensions(); step-- > 0;) {
    const std::size_t d = slowest_first(rank_order_, step, dimensions());
    coordinates[d] = rank % dimensions_[d].ranks();
    rank /= dimensions_[d].ranks();
  }
  return coordinates;
}

int BlockCyclic::rank(const Coordinates& coordinates) const noexcept {
  int rank = 0;
  for (std::size_t step = 0; step < dimensions(); ++step) {
    const std::size_t d = slowest_first(rank_order_, step, dimensions());
    rank = rank * dimensions_[d].ranks() + coordinates[d];
  }
  return rank;
}

int BlockCyclic::owner(const Extents& global) const {
  auto coordinates = Coordinates::filled(dimensions(), 0);
  for (std::size_t d = 0; d < dimensions(); ++d) coordinates[d] = dimensions_[d].owner(global[d]);
  return rank(coordinates);
}

BlockCyclic::Extents BlockCyclic::local_indices(const Extents& global) const {
  auto local = Extents::filled(dimensions(), 0);
  for (std::size_t d = 0; d < dimensions(); ++d) local[d] = dimensions_[d].local_index(global[d]);
  return local;
}

BlockCyclic::Extents BlockCyclic::global_indices(int rank, const Extents& local) const {
  const Coordinates grid_coordinates = coordinates(rank);
  auto global = Extents::filled(dimensions(), 0);
  for (std::size_t d = 0; d < dimensions(); ++d)
    global[d] = dimensions_[d].global_index(grid_coordinates[d], local[d]);
  return global;
}

BlockCyclic::Extents BlockCyclic::local_extents(int rank) const {
  const Coordinates grid_coordinates = coordinates(rank);
  auto extents = Extents::filled(dimensions(), 0);
  for (std::size_t d = 0; d < dimensions(); ++d)
    extents[d] = dimensions_[d].local_extent(grid_coordinates[d]);
  return extents;
}

std::int64_t BlockCyclic::local_elements(int rank) const {
  std::int64_t elements = 1;
  for (const std::int64_t extent : local_extents(rank)) elements *= extent;
  return elements;
}

}  // namespace valet
