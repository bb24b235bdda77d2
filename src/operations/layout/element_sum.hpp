// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/block_cyclic.hpp>

#include <xxhash.h>

#include <cstddef>
#include <cstdint>

namespace valet::layout {

/// Adds hashes of the elements of a cell, each seeded with its number in the whole array: the sum
/// over all ranks does not depend on the layout.
class ElementSum {
 public:
  ElementSum(const BlockCyclic& layout, int grid_rank, std::size_t element_bytes,
             const BlockCyclic::Extents& strides, const void* data)
      : layout_(layout),
        place_(layout.coordinates(grid_rank)),
        element_bytes_(element_bytes),
        strides_(strides),
        data_(static_cast<const std::byte*>(data)) {}

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
      sum_ += XXH3_64bits_withSeed(data_ + offset * static_cast<std::int64_t>(element_bytes_),
                                   element_bytes_, static_cast<std::uint64_t>(number));
      return;
    }
    const Dimension& dimension = layout_.dimension(d);
    const std::int64_t extent = dimension.local_extent(place_[d]);
    for (std::int64_t local = 0; local < extent; ++local)
      add(d + 1, number * dimension.extent() + dimension.global_index(place_[d], local),
          offset + local * strides_[d]);
  }

  const BlockCyclic& layout_;
  BlockCyclic::Coordinates place_;
  std::size_t element_bytes_;
  const BlockCyclic::Extents& strides_;
  const std::byte* data_;
  std::uint64_t sum_ = 0;
};

}  // namespace valet::layout
