// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Layout of the rows of Views, in a form for kernels: plain numbers, no ownership.

#include <valet/block_storage.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace valet::kokkos::detail {

/// The largest word of at most 16 bytes that divides `bytes`; 16 for zero.
[[nodiscard]] constexpr std::size_t word_of(std::size_t bytes) {
  std::size_t word = 16;
  while (bytes % word != 0) word /= 2;
  return word;
}

/// The rows of one View.
struct RowLayout {
  static constexpr std::size_t most_dimensions = Field::max_dimensions;

  std::byte* data = nullptr;
  std::ptrdiff_t slot_stride_bytes = 0;
  std::size_t element_bytes = 0;
  std::size_t row_bytes = 0;
  std::size_t packed_offset = 0;  ///< start of the row in a packed block
  std::size_t dimension_count = 0;
  std::size_t extents[most_dimensions] = {};
  std::ptrdiff_t strides_bytes[most_dimensions] = {};
  std::size_t word_bytes = 1;  ///< divides every address of the row and its offset in a block
  std::size_t first_word = 0;  ///< words of the previous rows in a block

  /// Address of byte `offset` of a packed row in the View.
  [[nodiscard]] KOKKOS_FUNCTION std::byte* place_of(std::uint64_t slot, std::size_t offset) const {
    std::size_t element = offset / element_bytes;
    std::ptrdiff_t distance = static_cast<std::ptrdiff_t>(slot) * slot_stride_bytes +
                              static_cast<std::ptrdiff_t>(offset - element * element_bytes);
    for (std::size_t d = dimension_count; d-- > 0;) {
      const std::size_t outer = element / extents[d];
      distance += static_cast<std::ptrdiff_t>(element - outer * extents[d]) * strides_bytes[d];
      element = outer;
    }
    return data + distance;
  }
};

[[nodiscard]] inline RowLayout row_layout(const Field& field, std::size_t packed_offset,
                                          std::size_t block_bytes) {
  RowLayout row;
  row.data = static_cast<std::byte*>(field.data);
  row.slot_stride_bytes = field.slot_stride_bytes;
  row.element_bytes = field.element_bytes;
  row.row_bytes = field.element_bytes;
  row.packed_offset = packed_offset;
  std::size_t common = reinterpret_cast<std::uintptr_t>(row.data) | packed_offset | block_bytes |
                       static_cast<std::size_t>(field.slot_stride_bytes);
  for (std::size_t d = 0; d < field.dimension_count; ++d) {
    const FieldDimension& dimension = field.dimensions[d];
    row.row_bytes *= dimension.extent;
    if (dimension.extent == 1) continue;
    row.extents[row.dimension_count] = dimension.extent;
    row.strides_bytes[row.dimension_count++] = dimension.stride_bytes;
  }
  // An innermost dimension that is contiguous becomes part of the element.
  while (row.dimension_count > 0 && row.strides_bytes[row.dimension_count - 1] ==
                                        static_cast<std::ptrdiff_t>(row.element_bytes))
    row.element_bytes *= row.extents[--row.dimension_count];
  common |= row.element_bytes;
  for (std::size_t d = 0; d < row.dimension_count; ++d)
    common |= static_cast<std::size_t>(row.strides_bytes[d]);
  row.word_bytes = word_of(common);
  return row;
}

/// The rows of all Views of a storage, which one kernel moves.
///
/// Words are numbered in packed order, so that neighbouring threads access neighbouring words of
/// packed memory, which is on the far side of the bus. In the View, on the near side, they may be
/// apart.
template <std::size_t count>
struct BlockRows {
  RowLayout rows[count] = {};
  std::size_t words = 0;       ///< of a block
  std::size_t word_bytes = 1;  ///< divides those of all rows

  /// Numbers the words, after the rows have been set.
  /// @param alignment  Alignment of packed blocks.
  void number_words(std::size_t alignment) {
    words = 0;
    word_bytes = alignment;
    for (RowLayout& row : rows) {
      if (row.word_bytes > alignment) row.word_bytes = alignment;
      if (word_bytes > row.word_bytes) word_bytes = row.word_bytes;
      row.first_word = words;
      words += row.row_bytes / row.word_bytes;
    }
  }
  [[nodiscard]] KOKKOS_FUNCTION const RowLayout& row_of_word(std::size_t word) const {
    std::size_t r = 0;
    while (r + 1 < count && word >= rows[r + 1].first_word) ++r;
    return rows[r];
  }
  [[nodiscard]] KOKKOS_FUNCTION const RowLayout& row_of_byte(std::size_t packed_offset) const {
    std::size_t r = 0;
    while (r + 1 < count && packed_offset >= rows[r + 1].packed_offset) ++r;
    return rows[r];
  }
};

}  // namespace valet::kokkos::detail
