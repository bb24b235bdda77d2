// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Distributed arrays whose elements say their own global index: what is right needs no second
/// copy. The first bytes of an element are its number in the array, the others follow from it.

#include "cyclic_layouts.hpp"
#include "oracle.hpp"
#include "promise.hpp"
#include "test_comm.hpp"

namespace valet::test {

inline constexpr std::byte untouched{0xEE};

/// Byte `k` of the element with that number. In small elements numbers repeat, at a distance that
/// is no multiple of any block size of the tests.
inline std::byte byte_of_element(std::uint64_t number, std::size_t element_bytes, std::size_t k) {
  if (element_bytes == 1) return static_cast<std::byte>(number % 251);
  if (element_bytes < 8) return static_cast<std::byte>((number % 65'521) >> (8 * (k % 2)));
  return static_cast<std::byte>((number >> (8 * (k % 8))) + k / 8);
}

/// Where in the communicator the ranks of a grid are; this rank's place in it, or -1.
inline int place_in(const GridLayout& grid) {
  for (int g = 0; g < grid.layout.ranks(); ++g)
    if ((grid.ranks.empty() ? g : grid.ranks[static_cast<std::size_t>(g)]) == rank()) return g;
  return -1;
}

/// The numbers of the elements of this rank, in the order of its memory.
inline std::vector<std::uint64_t> own_numbers(const GridLayout& grid, IndexOrder order) {
  const Numbers all = numbers_of(grid, order, size());
  return row_of(all, rank());
}

/// The part of this rank, with `padding` elements of gaps per dimension.
class Part {
 public:
  Part(const GridLayout& grid, std::size_t element_bytes, IndexOrder order,
       std::int64_t padding = 0)
      : grid_(grid),
        place_(place_in(grid)),
        element_bytes_(element_bytes),
        order_(order),
        numbers_(own_numbers(grid, order)) {
    if (place_ < 0) return;
    const BlockCyclic::Extents local = grid.layout.local_extents(place_);
    strides_ = BlockCyclic::Extents::filled(local.size(), 0);
    std::int64_t stride = 1;
    for (std::size_t step = 0; step < local.size(); ++step) {
      const std::size_t d = order == IndexOrder::row_major ? local.size() - 1 - step : step;
      strides_[d] = stride;
      stride *= local[d] + padding;
    }
    bytes_.assign(static_cast<std::size_t>(stride) * element_bytes, untouched);
  }

  [[nodiscard]] SourceArray source() const {
    return {.data = bytes_.data(), .bytes = bytes_.size(), .order = order_, .strides = strides_};
  }
  [[nodiscard]] TargetArray target() {
    return {.data = bytes_.data(), .bytes = bytes_.size(), .order = order_, .strides = strides_};
  }
  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }

  void fill() {
    for_each_element([this](std::uint64_t number, std::size_t at) {
      for (std::size_t k = 0; k < element_bytes_; ++k)
        bytes_[at + k] = byte_of_element(number, element_bytes_, k);
    });
  }

  /// Bytes that are not what they must be, those between elements included.
  [[nodiscard]] long long wrong_bytes() const {
    std::vector<std::byte> expected(bytes_.size(), untouched);
    for_each_element([&](std::uint64_t number, std::size_t at) {
      for (std::size_t k = 0; k < element_bytes_; ++k)
        expected[at + k] = byte_of_element(number, element_bytes_, k);
    });
    long long wrong = 0;
    for (std::size_t b = 0; b < bytes_.size(); ++b) wrong += bytes_[b] != expected[b] ? 1 : 0;
    return wrong;
  }

 private:
  /// Calls visit(number, offset in bytes) for each element of this rank.
  template <class Visit>
  void for_each_element(Visit&& visit) const {
    if (place_ < 0) return;
    std::size_t next = 0;
    for_every_element(grid_.layout.local_extents(place_), order_, [&](const auto& local) {
      std::int64_t offset = 0;
      for (std::size_t d = 0; d < local.size(); ++d) offset += local[d] * strides_[d];
      visit(numbers_.at(next++), static_cast<std::size_t>(offset) * element_bytes_);
    });
  }

  GridLayout grid_;
  int place_;
  std::size_t element_bytes_;
  IndexOrder order_;
  std::vector<std::uint64_t> numbers_;
  BlockCyclic::Extents strides_;
  std::vector<std::byte> bytes_;
};

/// Other ranks that this one shares elements with.
inline std::uint64_t neighbours_of_rank(const GridLayout& from, const GridLayout& to) {
  std::set<int> neighbours;
  const auto numbers = [](const GridLayout& grid) {
    return numbers_of(grid, IndexOrder::row_major, size());
  };
  for_each_block(map_between(numbers(from), numbers(to)), [&](const Address& a, const Address& b) {
    if (a.rank == rank()) neighbours.insert(b.rank);
    if (b.rank == rank()) neighbours.insert(a.rank);
  });
  neighbours.erase(rank());
  return neighbours.size();
}

/// Layouts on random ranks of the communicator: all, some, disjoint or overlapping sets.
class RandomGrids {
 public:
  explicit RandomGrids(std::mt19937_64& random) : random_(random) {}

  std::pair<GridLayout, GridLayout> pair() {
    const auto dimensions = static_cast<std::size_t>(pick(1, 5));
    const std::int64_t most = std::array{5'000, 90, 22, 11, 7}[dimensions - 1];
    auto extents = BlockCyclic::Extents::filled(dimensions, 0);
    for (std::size_t d = 0; d < dimensions; ++d) extents[d] = pick(pick(0, 40) == 0 ? 0 : 1, most);
    std::vector<int> ranks(static_cast<std::size_t>(size()));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::shuffle(ranks.begin(), ranks.end(), random_);
    GridLayout from = grid(extents, size());
    const bool disjoint = size() - from.layout.ranks() > 0 && pick(0, 2) == 0;
    GridLayout to = grid(extents, disjoint ? size() - from.layout.ranks() : size());
    if (pick(0, 3) == 0 && !disjoint) return {from, to};  // the first ranks, in order
    from.ranks.assign(ranks.begin(), ranks.begin() + from.layout.ranks());
    if (!disjoint) std::shuffle(ranks.begin(), ranks.end(), random_);
    to.ranks.assign(ranks.rbegin(), ranks.rbegin() + to.layout.ranks());
    return {from, to};
  }

  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  IndexOrder order() { return pick(0, 1) == 0 ? IndexOrder::row_major : IndexOrder::column_major; }

 private:
  GridLayout grid(const BlockCyclic::Extents& extents, int most_ranks) {
    const std::size_t dimensions = extents.size();
    auto blocks = BlockCyclic::Extents::filled(dimensions, 1);
    auto ranks = BlockCyclic::Coordinates::filled(dimensions, 1);
    auto first = BlockCyclic::Coordinates::filled(dimensions, 0);
    std::int64_t left = pick(1, most_ranks);
    for (std::size_t d = 0; d < dimensions; ++d) {
      ranks[d] = static_cast<int>(d + 1 == dimensions ? left : pick(1, left));
      left /= ranks[d];
      switch (pick(0, 5)) {
        case 0: blocks[d] = 1; break;
        case 1: blocks[d] = extents[d] / ranks[d] + 1; break;
        case 2: blocks[d] = extents[d] + pick(1, 9); break;
        default: blocks[d] = pick(1, std::max<std::int64_t>(1, extents[d] / 3)); break;
      }
      if (pick(0, 1) == 0) first[d] = static_cast<int>(pick(0, ranks[d] - 1));
    }
    return {BlockCyclic(extents, blocks, ranks, order(), first), {}};
  }

  std::mt19937_64& random_;
};

}  // namespace valet::test
