// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The kernels that move rows of one View from and to packed blocks.

#include <valet/block_storage.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace valet::kokkos::detail {

/// The unit a kernel copies: bytes of any type, so the compiler must not assume that they are none.
template <class Unsigned>
struct Word {
  typedef Unsigned Type __attribute__((may_alias));
};

/// The largest word, 8 bytes at most, of which `bytes` is a multiple; 8 for zero.
[[nodiscard]] constexpr std::size_t word_of(std::size_t bytes) {
  std::size_t word = 8;
  while (bytes % word != 0) word /= 2;
  return word;
}

/// The rows of one View, in the form kernels take: plain numbers, no owner.
struct RowLayout {
  static constexpr std::size_t most_dimensions = Field::max_dimensions;

  std::byte* data = nullptr;
  std::ptrdiff_t slot_stride_bytes = 0;
  std::size_t element_bytes = 0;
  std::size_t row_bytes = 0;
  std::size_t packed_offset = 0;  ///< where the row begins in a packed block
  std::size_t dimension_count = 0;
  std::size_t extents[most_dimensions] = {};
  std::ptrdiff_t strides_bytes[most_dimensions] = {};
  std::size_t word_bytes = 1;       ///< divides every address of the row and its place in a block
  bool slots_are_adjacent = false;  ///< neighbouring slots are nearer than neighbouring elements
};

[[nodiscard]] inline RowLayout row_layout(const Field& field, std::size_t packed_offset,
                                          std::size_t block_bytes) {
  RowLayout row;
  row.data = static_cast<std::byte*>(field.data);
  row.slot_stride_bytes = field.slot_stride_bytes;
  row.element_bytes = field.element_bytes;
  row.row_bytes = field.element_bytes;
  row.packed_offset = packed_offset;
  std::size_t common = reinterpret_cast<std::uintptr_t>(row.data) | field.element_bytes |
                       packed_offset | block_bytes |
                       static_cast<std::size_t>(field.slot_stride_bytes);
  for (std::size_t d = 0; d < field.dimension_count; ++d) {
    const FieldDimension& dimension = field.dimensions[d];
    row.row_bytes *= dimension.extent;
    if (dimension.extent == 1) continue;
    row.extents[row.dimension_count] = dimension.extent;
    row.strides_bytes[row.dimension_count++] = dimension.stride_bytes;
    common |= static_cast<std::size_t>(dimension.stride_bytes);
  }
  // The innermost dimension that follows its elements directly becomes part of the element.
  while (row.dimension_count > 0 && row.strides_bytes[row.dimension_count - 1] ==
                                        static_cast<std::ptrdiff_t>(row.element_bytes))
    row.element_bytes *= row.extents[--row.dimension_count];
  row.word_bytes = word_of(common);
  row.slots_are_adjacent =
      row.dimension_count > 0 && row.slot_stride_bytes < row.strides_bytes[row.dimension_count - 1];
  return row;
}

enum class Direction { gather, scatter };

/// Copies one word of one block: an index counts (block, word) with the one running faster whose
/// neighbours are neighbours in the View.
template <Direction direction, class Unsigned>
class RowKernel {
 public:
  using WordType = typename Word<Unsigned>::Type;
  using PackedByte = std::conditional_t<direction == Direction::gather, std::byte, const std::byte>;

  RowKernel(const RowLayout& row, const std::uint64_t* slots, std::size_t slot_count,
            PackedByte* packed, std::size_t block_bytes)
      : row_(row),
        slots_(slots),
        slot_count_(slot_count),
        words_(row.row_bytes / sizeof(WordType)),
        packed_(packed),
        block_bytes_(block_bytes) {}

  [[nodiscard]] std::size_t size() const { return slot_count_ * words_; }

  KOKKOS_FUNCTION void operator()(const std::size_t index) const {
    const std::size_t block = row_.slots_are_adjacent ? index % slot_count_ : index / words_;
    const std::size_t word = row_.slots_are_adjacent ? index / slot_count_ : index % words_;
    auto* const packed =
        packed_ + block * block_bytes_ + row_.packed_offset + word * sizeof(WordType);
    std::byte* const place = place_of(slots_[block], word * sizeof(WordType));
    if constexpr (direction == Direction::gather)
      *reinterpret_cast<WordType*>(packed) = *reinterpret_cast<const WordType*>(place);
    else
      *reinterpret_cast<WordType*>(place) = *reinterpret_cast<const WordType*>(packed);
  }

 private:
  /// Where byte `offset` of a packed row stands in the View.
  KOKKOS_FUNCTION std::byte* place_of(std::uint64_t slot, std::size_t offset) const {
    std::size_t element = offset / row_.element_bytes;
    std::ptrdiff_t distance = static_cast<std::ptrdiff_t>(slot) * row_.slot_stride_bytes +
                              static_cast<std::ptrdiff_t>(offset % row_.element_bytes);
    for (std::size_t d = row_.dimension_count; d-- > 0;) {
      distance += static_cast<std::ptrdiff_t>(element % row_.extents[d]) * row_.strides_bytes[d];
      element /= row_.extents[d];
    }
    return row_.data + distance;
  }

  RowLayout row_;
  const std::uint64_t* slots_;
  std::size_t slot_count_;
  std::size_t words_;
  PackedByte* packed_;
  std::size_t block_bytes_;
};

/// Queues the kernel for one View on `space`; does not wait.
template <Direction direction, class Unsigned, class Space>
void launch_row(const Space& space, const RowLayout& row, const std::uint64_t* slots,
                std::size_t slot_count, typename RowKernel<direction, Unsigned>::PackedByte* packed,
                std::size_t block_bytes) {
  const RowKernel<direction, Unsigned> kernel(row, slots, slot_count, packed, block_bytes);
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::size_t>>;
  Kokkos::parallel_for(direction == Direction::gather ? "valet::gather" : "valet::scatter",
                       Policy(space, 0, kernel.size()), kernel);
}

}  // namespace valet::kokkos::detail
