// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace valet::objects {

/// Sizes of 32 bits are multiples of 8, so that their lowest bits can be marks: the lowest says
/// "the last object of its message", in the list of sizes that a source of HOLD sends.
constexpr int last_of_message = 1;
[[nodiscard]] constexpr int plain_size(int entry) { return entry & ~7; }

/// Packed bytes of objects that follow one another. The array is the caller's: of 64 bits, or of 32
/// where Zoltan's callbacks want the same array.
class ObjectSizes {
 public:
  ObjectSizes() = default;
  template <std::ranges::contiguous_range Array>
  requires(!std::is_same_v<std::remove_cvref_t<Array>, ObjectSizes>) ObjectSizes(const Array& sizes)
      : count_(std::ranges::size(sizes)) {
    if constexpr (std::is_same_v<std::ranges::range_value_t<Array>, int>)
      narrow_ = std::ranges::data(sizes);
    else
      wide_ = std::ranges::data(sizes);
  }

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::uint64_t operator[](std::size_t k) const {
    return narrow_ != nullptr ? static_cast<std::uint64_t>(plain_size(narrow_[k])) : wide_[k];
  }
  [[nodiscard]] ObjectSizes subspan(std::size_t first, std::size_t count) const {
    ObjectSizes part = *this;
    if (narrow_ != nullptr) part.narrow_ += first;
    if (wide_ != nullptr) part.wide_ += first;
    part.count_ = count;
    return part;
  }
  [[nodiscard]] ObjectSizes subspan(std::size_t first) const {
    return subspan(first, count_ - first);
  }
  [[nodiscard]] ObjectSizes first(std::size_t count) const { return subspan(0, count); }

 private:
  const int* narrow_ = nullptr;
  const std::uint64_t* wide_ = nullptr;
  std::size_t count_ = 0;
};

[[nodiscard]] inline std::uint64_t sum_of(const ObjectSizes& sizes) {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) sum += sizes[k];
  return sum;
}
[[nodiscard]] inline std::uint64_t largest_of(const ObjectSizes& sizes) {
  std::uint64_t largest = 0;
  for (std::size_t k = 0; k < sizes.size(); ++k) largest = std::max(largest, sizes[k]);
  return largest;
}

}  // namespace valet::objects
