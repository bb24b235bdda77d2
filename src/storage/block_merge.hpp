// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/export.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::storage {

/// Stable merging of two sequences in linear time and in their own memory, with O(sqrt n) extra
/// memory: puts elements of one array in the order in which they are named.
///
/// Source: Huang and Langston, "Fast stable merging and sorting in constant extra space", Computer
/// J. 35(6), 1992, of which it is the form with scratch. The result is written block by block into
/// blocks that are free: a few of the scratch at first, later those whose elements have all been
/// read. At the end the blocks are put in order. An element is copied twice; the published form,
/// which puts the blocks in order first, needs the same memory and a copy more. It never looks at
/// an element: who merges says which come next. So it merges elements without keys, too.
///
/// The inputs are at most two sequences, each in at most two contiguous parts; elements of one
/// sequence are named from front to back. Local.
class VALET_EXPORT BlockMerge {
 public:
  /// @param data           The memory that the elements occupy before and after.
  /// @param element_bytes  Bytes of an element.
  /// @param scratch        Memory, aligned for 32-bit words, for which block_elements() is not 0.
  BlockMerge(std::span<std::byte> data, std::size_t element_bytes, std::span<std::byte> scratch);

  /// The block that is best for merging so many elements with this scratch: 0 when it is too small.
  /// All blocks of the scratch together are about as large as the elements at most. [local]
  [[nodiscard]] static std::uint64_t block_elements(std::uint64_t elements,
                                                    std::size_t element_bytes,
                                                    std::uint64_t scratch_bytes);
  /// The bytes of this scratch that are of use for so many elements or fewer. [local]
  [[nodiscard]] static std::uint64_t useful_scratch_bytes(std::uint64_t elements,
                                                          std::size_t element_bytes,
                                                          std::uint64_t scratch_bytes);
  /// Scratch that does for so many elements: O(sqrt(elements)) of them, and as many words. [local]
  [[nodiscard]] static std::uint64_t least_scratch_bytes(std::uint64_t elements,
                                                         std::size_t element_bytes);

  /// Declares that elements `from` to `from + count - 1` are input; all input, before append().
  void expect(std::uint64_t from, std::uint64_t count);
  /// The next `count` elements of the result are those that are at `from`.
  void append(std::uint64_t from, std::uint64_t count);
  /// Puts the result at the front of the data. Returns how many elements were copied in all: at
  /// most two and a half times those that were appended, and one block.
  std::uint64_t finish();

 private:
  using Block = std::uint32_t;
  static constexpr Block none = static_cast<Block>(-1);

  [[nodiscard]] std::byte* at(Block block) const;
  void list_free_blocks();
  void set_free(Block block);
  [[nodiscard]] Block take_free();
  void consumed(std::uint64_t from, std::uint64_t count);
  void copy_block(Block from, Block to, Block result);
  void follow(Block free);
  void turn(Block start);

  std::byte* data_;
  std::size_t element_bytes_;
  std::uint64_t elements_;
  std::uint64_t block_;      ///< elements
  Block blocks_ = 0;         ///< in the data, the last one perhaps not whole
  Block whole_ = 0;          ///< in the data
  std::span<Block> state_;   ///< per block: elements not read yet; if free, the next free one
  std::span<Block> holder_;  ///< per block of the result: the block that holds it
  std::byte* scratch_ = nullptr;
  Block free_ = none;
  bool started_ = false;
  std::uint64_t appended_ = 0;
  std::uint64_t copied_ = 0;
};

}  // namespace valet::storage
