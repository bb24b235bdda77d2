// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Kernels that pack, unpack, copy and hash blocks: one launch for the rows of all Views, whose
/// layout they get as plain numbers, without ownership.

#include <valet/block_storage.hpp>
#include <valet/detail/block_hash.hpp>
#include <valet/slots.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

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
  std::uint64_t tile_slots = 0;  ///< 0 without tiles
  std::ptrdiff_t tile_stride_bytes = 0;
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
    const std::uint64_t tile = tile_slots == 0 ? 0 : slot / tile_slots;
    std::ptrdiff_t distance =
        static_cast<std::ptrdiff_t>(tile) * tile_stride_bytes +
        static_cast<std::ptrdiff_t>(slot - tile * tile_slots) * slot_stride_bytes +
        static_cast<std::ptrdiff_t>(offset - element * element_bytes);
    for (std::size_t d = dimension_count; d-- > 0;) {
      const std::size_t outer = element / extents[d];
      distance += static_cast<std::ptrdiff_t>(element - outer * extents[d]) * strides_bytes[d];
      element = outer;
    }
    return data + distance;
  }
};

/// @param given  A HostFields::Row.
template <class Row>
[[nodiscard]] RowLayout row_layout(const Row& given, std::size_t block_bytes) {
  RowLayout row;
  row.data = given.base;
  row.slot_stride_bytes = given.slot_stride_bytes;
  row.tile_slots = given.tiles.slots;
  row.tile_stride_bytes = given.tiles.stride_bytes;
  row.element_bytes = given.piece_bytes;
  row.row_bytes = given.row_bytes;
  row.packed_offset = given.packed_offset;
  std::size_t common = reinterpret_cast<std::uintptr_t>(row.data) | row.packed_offset |
                       block_bytes | static_cast<std::size_t>(row.slot_stride_bytes) |
                       static_cast<std::size_t>(row.tile_stride_bytes) | row.element_bytes;
  for (const FieldDimension& dimension : given.dimensions) {
    row.extents[row.dimension_count] = dimension.extent;
    row.strides_bytes[row.dimension_count++] = dimension.stride_bytes;
    common |= static_cast<std::size_t>(dimension.stride_bytes);
  }
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

// The units that a kernel copies. They may alias: they are bytes of any type.
typedef std::uint8_t Word8 __attribute__((may_alias));
typedef std::uint16_t Word16 __attribute__((may_alias));
typedef std::uint32_t Word32 __attribute__((may_alias));
typedef std::uint64_t Word64 __attribute__((may_alias));
struct __attribute__((may_alias, aligned(16))) Word128 {
  std::uint64_t low, high;
};

template <class Word>
KOKKOS_FUNCTION void copy_as(std::byte* to, const std::byte* from) {
  *reinterpret_cast<Word*>(to) = *reinterpret_cast<const Word*>(from);
}

/// Copies a word of 1, 2, 4 or 8 bytes; both addresses are multiples of its size.
KOKKOS_INLINE_FUNCTION void copy_part(std::byte* to, const std::byte* from, std::size_t bytes) {
  switch (bytes) {
    case 8: return copy_as<Word64>(to, from);
    case 4: return copy_as<Word32>(to, from);
    case 2: return copy_as<Word16>(to, from);
    default: return copy_as<Word8>(to, from);
  }
}

/// The same, or 16 bytes.
KOKKOS_INLINE_FUNCTION void copy_word(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == sizeof(Word128)) return copy_as<Word128>(to, from);
  copy_part(to, from, bytes);
}

enum class Direction { gather, scatter };

/// Copies one word of one block between its slot and packed memory.
template <Direction direction, std::size_t count>
struct PackKernel {
  using PackedByte = std::conditional_t<direction == Direction::gather, std::byte, const std::byte>;

  BlockRows<count> block;
  const SlotIndex* slots;
  PackedByte* packed;
  std::size_t block_bytes;

  KOKKOS_FUNCTION void operator()(const std::size_t index) const {
    const std::size_t number = index / block.words;
    const std::size_t word = index - number * block.words;
    const RowLayout& row = block.row_of_word(word);
    const std::size_t offset = (word - row.first_word) * row.word_bytes;
    std::byte* const place = row.place_of(slots[number], offset);
    auto* const in_packed = packed + number * block_bytes + row.packed_offset + offset;
    if constexpr (direction == Direction::gather)
      copy_word(in_packed, place, row.word_bytes);
    else
      copy_word(place, in_packed, row.word_bytes);
  }
};

/// Copies one word of one block from slot to slot.
template <std::size_t count>
struct CopyKernel {
  BlockRows<count> block;
  const SlotIndex* from;
  const SlotIndex* to;

  KOKKOS_FUNCTION void operator()(const std::size_t index) const {
    const std::size_t number = index / block.words;
    const std::size_t word = index - number * block.words;
    const RowLayout& row = block.row_of_word(word);
    const std::size_t offset = (word - row.first_word) * row.word_bytes;
    copy_word(row.place_of(to[number], offset), row.place_of(from[number], offset), row.word_bytes);
  }
};

/// Adds the contribution of one piece of a block to the sum of valet::detail::piece_hash().
template <std::size_t count>
struct HashKernel {
  BlockRows<count> block;
  const SlotIndex* slots;
  const std::uint64_t* seeds;
  std::size_t block_bytes;
  std::size_t pieces;  ///< of a block

  KOKKOS_FUNCTION void operator()(const std::size_t index, std::uint64_t& sum) const {
    const std::size_t number = index / pieces;
    const std::size_t piece = index - number * pieces;
    sum += valet::detail::piece_hash(value_of(slots[number], piece * valet::detail::piece_bytes),
                                     piece, seeds[number]);
  }

 private:
  [[nodiscard]] KOKKOS_FUNCTION std::uint64_t value_of(std::uint64_t slot,
                                                       std::size_t first) const {
    using valet::detail::piece_bytes;
    const std::size_t step = block.word_bytes < piece_bytes ? block.word_bytes : piece_bytes;
    std::uint64_t value = 0;
    auto* const bytes = reinterpret_cast<std::byte*>(&value);
    for (std::size_t at = 0; at < piece_bytes && first + at < block_bytes; at += step) {
      const RowLayout& row = block.row_of_byte(first + at);
      copy_part(bytes + at, row.place_of(slot, first + at - row.packed_offset), step);
    }
    return value;
  }
};

/// Queues a kernel of `size` threads on `space`, without waiting. By default CUDA and HIP get
/// kernels of more than 512 bytes, such as those of three Views, through constant memory, for which
/// each launch waits until the kernel before it has ended. Light ones are passed as arguments.
template <class Space, class Kernel>
void launch(const char* name, const Space& space, std::size_t size, const Kernel& kernel) {
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::size_t>>;
  Kokkos::parallel_for(
      name,
      Kokkos::Experimental::require(Policy(space, 0, size),
                                    Kokkos::Experimental::WorkItemProperty::HintLightWeight),
      kernel);
}

}  // namespace valet::kokkos::detail
