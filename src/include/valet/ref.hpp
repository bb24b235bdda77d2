// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// References to arrays that grow: valet::ref(), valet::growing().

#include <valet/detail/cxx20.hpp>

#include <cstddef>
#include <span>
#include <type_traits>

namespace valet {

/// @cond
namespace detail {
/// std::vector, NodeArray, and arrays of others that are like them.
template <class Array>
concept ResizableArray = std::ranges::contiguous_range<Array> && requires(Array& array) {
  array.resize(std::size_t{});
};
/// One to which elements can be added; another may still be resized by its owner.
template <class Array>
concept CanGrow =
    ResizableArray<Array> && std::is_default_constructible_v<std::ranges::range_value_t<Array>>;
/// Resizes an array; a vector that grows without reserve() allocates twice what it has.
template <ResizableArray Array>
void resize_to(Array& array, std::size_t size) {
  if constexpr (requires { array.reserve(size); }) array.reserve(size);
  array.resize(size);
}
}  // namespace detail
/// @endcond

/// A vector, NodeArray or View of the application that is looked at anew in every call; see ref().
template <class Array>
class Ref {
 public:
  using Object = Array;  ///< what is referred to
  /// As ref(), or as growing() if it `may_grow`.
  explicit Ref(Array& array, bool may_grow = false) : array_(&array), may_grow_(may_grow) {}
  /// The application's object, as it is now.
  [[nodiscard]] Array& get() const { return *array_; }
  /// Whether Valet may enlarge it.
  [[nodiscard]] bool may_grow() const { return may_grow_; }

 private:
  Array* array_;
  bool may_grow_;
};

/// Refers to a vector, a NodeArray or a Kokkos View, so that a storage may be made once and the
/// array resized afterwards: every collective call reads its address and extents anew. Without it,
/// a storage keeps the address that the array had: it serves one call, or a plan to which it is
/// given anew. Local.
/// @param array  Must outlive every storage and Rebalancer that was given the reference, and must
///               not be resized by others in a call.
template <class Array>
[[nodiscard]] Ref<Array> ref(Array& array) {
  return Ref<Array>(array);
}
/// Rejected at compile time: a temporary is gone when the array is looked at.
template <class Array>
void ref(const Array&&) = delete;

/// Refers to an array as ref() does, and lets the call that moves blocks enlarge it: on a rank that
/// will hold more of them than the arrays of its storage have slots, each array is resized once, to
/// just what is needed (within the capacity that a vector has been given by reserve() nothing is
/// allocated), after planning and before anything moves. Where that fails on a rank, no rank moves
/// anything. All arrays of a storage are growing, or none. Local.
/// @param array  As for ref(); a View, DualView or NodeView that Kokkos can resize.
template <class Array>
[[nodiscard]] Ref<Array> growing(Array& array) {
  return Ref<Array>(array, true);
}
/// Rejected at compile time: a temporary is gone when the array is looked at.
template <class Array>
void growing(const Array&&) = delete;

}  // namespace valet
