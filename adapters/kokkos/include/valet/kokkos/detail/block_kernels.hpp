// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Kernels that pack, unpack, copy and hash blocks: one launch for the rows of all Views.

#include <valet/detail/block_hash.hpp>
#include <valet/kokkos/detail/row_layout.hpp>
#include <valet/slots.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace valet::kokkos::detail {

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

/// Queues a kernel of `size` threads on `space`, without waiting.
template <class Space, class Kernel>
void launch(const char* name, const Space& space, std::size_t size, const Kernel& kernel) {
  using Policy = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::size_t>>;
  Kokkos::parallel_for(name, Policy(space, 0, size), kernel);
}

}  // namespace valet::kokkos::detail
