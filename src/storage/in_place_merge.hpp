// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Stable merging of two consecutive sorted sequences, in linear time and in
/// their own memory (Huang and Langston, "Fast stable merging and sorting in constant extra space",
/// Computer J. 35(6), 1992). Two forms:
///
/// - BlockMerge takes O(sqrt n) extra memory. The result is written block by block into blocks
///   that are free: a few of the scratch at first, later those whose elements have all been read.
///   At the end the blocks are put in order. An element is copied twice; the published form,
///   which puts the blocks in order first, needs the same memory and a copy more. It never looks at
///   an element: who merges says which come next. So it merges elements without keys, too.
/// - merge_in_place takes O(1) extra memory and swaps elements; see there.

#include "storage/constant_space_merge.hpp"
#include <valet/export.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>

namespace valet::storage {

/// Puts elements of one array in the order in which they are named.
///
/// The inputs are at most two sequences, each in at most two contiguous parts; elements of one
/// sequence are named from front to back. Local.
class VALET_EXPORT BlockMerge {
 public:
  /// @param data           The memory that the elements occupy before and after.
  /// @param element_bytes  Bytes of an element.
  /// @param scratch        Memory, aligned for 32-bit words, for which block_elements() is not 0.
  BlockMerge(std::span<std::byte> data, std::size_t element_bytes, std::span<std::byte> scratch);

  /// The block that is best for merging so many elements with so much scratch: 0 when the scratch
  /// is too small. [local]
  [[nodiscard]] static std::uint64_t block_elements(std::uint64_t elements,
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
  std::uint64_t block_;     ///< elements
  Block blocks_ = 0;        ///< of the data, the last one perhaps not whole
  Block whole_ = 0;         ///< of the data
  std::span<Block> state_;  ///< per block: elements not read yet; if free, the next free one
  std::span<Block> place_;  ///< per block of the result: the block that holds it
  std::byte* scratch_ = nullptr;
  Block free_ = none;
  bool started_ = false;
  std::uint64_t appended_ = 0;
  std::uint64_t copied_ = 0;
};

/// Merges data[0, middle) and data[middle, size), stable, by means of BlockMerge. Local.
/// @param scratch  BlockMerge::least_scratch_bytes(size, sizeof(T)) at least.
/// @return Elements copied: at most 2.5*size and one block.
template <class T, class Less>
std::uint64_t merge_in_place(std::span<T> data, std::size_t middle, std::span<std::byte> scratch,
                             Less less) {
  static_assert(std::is_trivially_copyable_v<T>);
  BlockMerge merge(std::as_writable_bytes(data), sizeof(T), scratch);
  merge.expect(0, data.size());
  std::size_t left = 0;
  std::size_t right = middle;
  while (left < middle && right < data.size())
    merge.append(less(data[right], data[left]) ? right++ : left++, 1);
  merge.append(left, middle - left);
  merge.append(right, data.size() - right);
  return merge.finish();
}

/// Merges [first, middle) and [middle, last), stable, with O(1) extra memory and O(n) swaps and
/// comparisons, n = last - first, however many keys are equal. Local.
///
/// The outline of Huang and Langston (in Zhuang, Nakashima, Nagamochi 3.1) uses the sqrt(n) largest
/// elements as a buffer and sorts blocks by selection. Stable it is not by itself: equal elements
/// of the buffer lose their order, and so do blocks with equal keys. What makes it stable is to
/// take 2*sqrt(n) *distinct* keys out of the first sequence, each the first of its equals: half of
/// them are the buffer, and half, one for each block, remember the blocks' order (Kronrod, "Optimal
/// ordering algorithm without operational field", Soviet Math. Dokl. 10, 1969). Being distinct,
/// both halves can be sorted again, and being first they go in front of their equals.
///
/// With d < 2*sqrt(n) distinct keys there is no buffer. Then all d remember the order of d blocks
/// of n/d elements, and neighbouring blocks are merged by rotations. One rotation costs O(n/d) and
/// places one key of the first sequence in one block: all in all O(d + number of blocks) = O(d)
/// rotations, O(n) swaps.
template <class Iterator, class Less>
void merge_in_place(Iterator first, Iterator middle, Iterator last, Less less) {
  static_assert(std::is_base_of_v<std::random_access_iterator_tag,
                                  typename std::iterator_traits<Iterator>::iterator_category>);
  detail::ConstantSpaceMerge<Iterator, Less>(first, middle, last, less).run();
}

}  // namespace valet::storage
