// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// A value per dimension of an array.

#include <valet/export.hpp>

#include <array>
#include <cstddef>
#include <initializer_list>
#include <span>

namespace valet::layout {

/// Dimensions that an array may have.
constexpr std::size_t most_dimensions = 6;

/// @throws Error invalid_argument: `given` values for one array are too many.
[[noreturn]] VALET_EXPORT void throw_too_many_dimensions(std::size_t given);

/// One value per dimension of an array, first dimension first; no heap.
template <class T>
class PerDimension {
 public:
  /// No dimensions.
  PerDimension() = default;
  /// @throws Error invalid_argument: more than most_dimensions values.
  PerDimension(std::initializer_list<T> values) : PerDimension(std::span(values)) {}
  /// @throws Error invalid_argument: more than most_dimensions values.
  explicit PerDimension(std::span<const T> values) : size_(values.size()) {
    if (size_ > most_dimensions) throw_too_many_dimensions(size_);
    for (std::size_t d = 0; d < size_; ++d) values_[d] = values[d];
  }
  /// `value` in each of `size` dimensions. A name, because {2, 1} is a list of two values.
  /// @throws Error invalid_argument: more than most_dimensions.
  [[nodiscard]] static PerDimension filled(std::size_t size, const T& value) {
    if (size > most_dimensions) throw_too_many_dimensions(size);
    PerDimension filled;
    filled.size_ = size;
    for (std::size_t d = 0; d < size; ++d) filled.values_[d] = value;
    return filled;
  }

  /// @name Like a container of the standard library
  /// @{

  /// As of std::array.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T& operator[](std::size_t d) noexcept { return values_[d]; }
  [[nodiscard]] const T& operator[](std::size_t d) const noexcept { return values_[d]; }
  [[nodiscard]] const T* begin() const noexcept { return values_.data(); }
  [[nodiscard]] const T* end() const noexcept { return values_.data() + size_; }
  /// @}
  /// As many dimensions with the same values.
  [[nodiscard]] bool operator==(const PerDimension&) const = default;

 private:
  std::array<T, most_dimensions> values_{};
  std::size_t size_ = 0;
};

}  // namespace valet::layout
