// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// References to arrays that grow: valet::ref().

#include <valet/detail/cxx20.hpp>

#include <cstddef>
#include <span>

namespace valet {

/// @cond
namespace detail {
/// std::vector, NodeArray, and arrays of others that are like them.
template <class Array>
concept ResizableArray = std::ranges::contiguous_range<Array> && requires(Array& array) {
  array.resize(std::size_t{});
};
}  // namespace detail
/// @endcond

/// A vector, NodeArray or View of the application that is looked at anew in every call; see ref().
template <class Array>
class Ref {
 public:
  using Object = Array;  ///< what is referred to
  /// As ref().
  explicit Ref(Array& array) : array_(&array) {}
  /// The application's object, as it is now.
  [[nodiscard]] Array& get() const { return *array_; }

 private:
  Array* array_;
};

/// Refers to a vector, a NodeArray or a Kokkos View, so that a storage may be made once and the
/// array resized afterwards: every collective call reads its address and extents anew. Without it,
/// a storage keeps the address that the array had: it serves one call, or a plan to which it is
/// given anew. Local.
/// @param array  Must outlive every storage and Rebalancer that was given the reference, and must
///               not be resized in a call.
template <class Array>
[[nodiscard]] Ref<Array> ref(Array& array) {
  return Ref<Array>(array);
}
/// Rejected at compile time: a temporary is gone when the array is looked at.
template <class Array>
void ref(const Array&&) = delete;

}  // namespace valet
