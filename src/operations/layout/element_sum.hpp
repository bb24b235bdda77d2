// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/array_part.hpp"

#include <xxhash.h>

#include <cstddef>
#include <cstdint>

namespace valet::layout {

/// Adds hashes of the elements of a cell, each seeded with its number in the whole array: the sum
/// over all ranks does not depend on the layout.
class ElementSum {
 public:
  ElementSum(const BlockCyclic& layout, const ArrayCell& cell, std::size_t element_bytes)
      : layout_(layout),
        cell_(cell),
        place_(layout.coordinates(cell.grid_rank)),
        element_bytes_(element_bytes) {}

  [[nodiscard]] std::uint64_t sum() {
    sum_ = 0;
    add(0, 0, 0);
    return sum_;
  }

 private:
  /// @param number  Of the first element with these indices in the dimensions before d.
  /// @param offset  Where it lies, in elements.
  void add(std::size_t d, std::int64_t number, std::int64_t offset) {
    if (d == layout_.dimensions()) {
      sum_ += XXH3_64bits_withSeed(cell_.data + offset * static_cast<std::int64_t>(element_bytes_),
                                   element_bytes_, static_cast<std::uint64_t>(number));
      return;
    }
    const Dimension& dimension = layout_.dimension(d);
    const std::int64_t extent = dimension.local_extent(place_[d]);
    for (std::int64_t local = 0; local < extent; ++local)
      add(d + 1, number * dimension.extent() + dimension.global_index(place_[d], local),
          offset + local * cell_.strides[d]);
  }

  const BlockCyclic& layout_;
  const ArrayCell& cell_;
  BlockCyclic::Coordinates place_;
  std::size_t element_bytes_;
  std::uint64_t sum_ = 0;
};

}  // namespace valet::layout
