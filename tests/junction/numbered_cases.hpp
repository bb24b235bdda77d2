// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Numbered blocks in random layouts, of one size and of different sizes, all of whose content
/// follows from their numbers.

#include "grid_cases.hpp"
#include <valet/object_layout.hpp>
#include <valet/ragged_storage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace valet::test {

inline ObjectLayout some_numbering(std::mt19937_64& random, std::size_t objects, int ranks) {
  switch (pick(random, 0, 2)) {
    case 0: return ObjectLayout::balanced();
    case 1: return ObjectLayout::cyclic(pick(random, 1, 7));
    default:
      return ObjectLayout::tiles(
          BlockCyclic({1, static_cast<std::int64_t>(objects)}, {1, 7}, {1, ranks}));
  }
}

/// The numbers that a rank has, by the definitions of the layouts.
inline std::vector<Element> numbers_in(const ObjectLayout& layout, std::size_t objects, int rank,
                                       int ranks) {
  std::vector<Element> numbers;
  const std::size_t block = layout.tiling ? 7 : layout.block_size;
  const auto total = static_cast<std::int64_t>(objects);
  for (std::int64_t g = 0, owner = 0; g < total; ++g) {
    if (block > 0)
      owner = g / static_cast<std::int64_t>(block) % ranks;
    else
      while (g >= (2 * total * (owner + 1) + ranks) / (2 * ranks)) ++owner;
    if (owner == rank) numbers.push_back(static_cast<Element>(g));
  }
  return numbers;
}

/// Blocks of two arenas, some empty, and a column: values by number, and texts of any length that
/// begin at multiples of 8.
struct NumberedLists {
  std::vector<std::uint32_t> values;
  std::vector<std::uint64_t> texts;  ///< memory for bytes
  std::vector<std::uint64_t> lengths, text_lengths;
  std::vector<Element> ids;

  /// With room for those numbers and `more`.
  explicit NumberedLists(const std::vector<Element>& numbers, std::size_t more = 0)
      : lengths(numbers.size() + 1 + more),
        text_lengths(numbers.size() + 1 + more),
        ids(numbers.size() + more, untouched) {
    std::size_t value_count = more, words = more;
    for (const Element number : numbers) {
      value_count += values_of(number);
      words += (letters_of(number) + 7) / 8;
    }
    values.resize(value_count);
    texts.resize(words);
  }

  [[nodiscard]] static std::size_t values_of(Element number) {
    return number * 7 % 11 == 0 ? 0 : number * 5 % 9;
  }
  [[nodiscard]] static std::size_t letters_of(Element number) { return number * 3 % 13; }

  /// @param by_offsets  Of the values.
  [[nodiscard]] RaggedStorage storage(bool by_offsets) {
    RaggedField bytes = ragged_field(std::span(letters(), 8 * texts.size()),
                                     std::span(text_lengths).first(ids.size()), "texts");
    bytes.alignment_bytes = 8;
    return RaggedStorage(
        {by_offsets ? ragged_field_by_offsets(std::span(values), std::span(lengths))
                    : ragged_field(std::span(values), std::span(lengths).first(ids.size())),
         bytes},
        {field(ids)});
  }
  void fill(const std::vector<Element>& numbers, bool by_offsets) {
    visit(numbers, by_offsets, [](auto& has, auto is) { has = static_cast<decltype(is)>(is); });
  }
  [[nodiscard]] bool has(const std::vector<Element>& numbers, bool by_offsets) {
    bool right = true;
    visit(numbers, by_offsets, [&](const auto& has, auto is) { right = right && has == is; });
    return right;
  }

 private:
  [[nodiscard]] unsigned char* letters() {
    return static_cast<unsigned char*>(static_cast<void*>(texts.data()));
  }
  template <class Each>
  void visit(const std::vector<Element>& numbers, bool by_offsets, Each&& each) {
    std::size_t value = 0, text = 0;
    if (by_offsets) each(lengths[0], std::uint64_t{0});
    for (std::size_t b = 0; b < numbers.size(); ++b) {
      const Element number = numbers[b];
      each(ids[b], number);
      for (std::size_t v = 0; v < values_of(number); ++v)
        each(values[value++], static_cast<std::uint32_t>(number));
      const std::uint64_t bytes = sizeof(std::uint32_t) * values_of(number);
      each(lengths[by_offsets ? b + 1 : b], by_offsets ? sizeof(std::uint32_t) * value : bytes);
      each(text_lengths[b], std::uint64_t{letters_of(number)});
      for (std::size_t l = 0; l < letters_of(number); ++l)
        each(letters()[text + l], static_cast<unsigned char>(number + l));
      text += (letters_of(number) + 7) / 8 * 8;
    }
  }
};

}  // namespace valet::test
