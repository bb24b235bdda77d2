// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// DualViews: which side is moved, and how the other side is marked.
///
/// Before anything moves, data modified on the host is copied to the device, and the device sides
/// are marked as modified. If the copies fail, the marks are unchanged. Afterwards the device side
/// is the valid one, whatever the outcome of the call.

#include <valet/error.hpp>
#include <valet/ref.hpp>

#include <Kokkos_Core.hpp>
#include <Kokkos_DualView.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>

namespace valet::kokkos::detail {

template <class T>
struct DualTraits {
  static constexpr bool is_dual = false;
  using View = T;
};
template <class... Arguments>
struct DualTraits<Kokkos::DualView<Arguments...>> {
  static constexpr bool is_dual = true;
  using View = typename Kokkos::DualView<Arguments...>::t_dev;
};
/// The traits of what is referred to: a storage holds the reference, and looks again.
template <class T>
struct DualTraits<Ref<T>> : DualTraits<std::remove_const_t<T>> {};

template <class T>
constexpr bool is_reference = false;
template <class T>
constexpr bool is_reference<Ref<T>> = true;

/// A View or DualView, or the one that is referred to.
template <class T>
[[nodiscard]] auto& object_of(T& view) {
  if constexpr (is_reference<std::remove_const_t<T>>)
    return view.get();
  else
    return view;
}

template <class T>
constexpr bool is_dual_view = DualTraits<T>::is_dual;

/// A View, or the device side of a DualView.
template <class T>
using ViewOf = typename DualTraits<T>::View;

template <class T>
[[nodiscard]] ViewOf<T> view_of(const T& view) {
  if constexpr (is_dual_view<T>)
    return object_of(view).view_device();
  else
    return object_of(view);
}

/// The name in messages, which a NodeView has and its View has not.
template <class T>
[[nodiscard]] std::string label_of(const T& view) {
  if constexpr (is_dual_view<T>)
    return view_of(view).label();
  else
    return object_of(view).label();
}

/// Kokkos reports which side is newer, but not whether the other one was modified as well. Its
/// marks show that; a derived class can read them.
template <class Dual>
class Marks : public Dual {
 public:
  [[nodiscard]] static bool on_both_sides(const Dual& dual) {
    const auto& marks = dual.*(&Marks::modified_flags);
    return marks.data() != nullptr && marks(0) > 0 && marks(1) > 0;
  }
};

/// If both sides are the same memory, there is nothing to copy or mark.
template <class Dual>
[[nodiscard]] bool sides_are_one(const Dual& dual) {
  return static_cast<const void*>(dual.view_device().data()) ==
         static_cast<const void*>(dual.view_host().data());
}

/// Calls action(dual, k) for the DualViews among what is given, a tuple; k is their place there.
template <class Given, class Action>
void for_each_dual(Given& given, Action&& action) {
  std::size_t k = 0;
  const auto visit = [&](auto& view) {
    if constexpr (is_dual_view<std::remove_cvref_t<decltype(view)>>) action(object_of(view), k);
    ++k;
  };
  std::apply([&](auto&... view) { (visit(view), ...); }, given);
}

/// An error if a DualView was modified on both sides. Local.
template <class Given>
[[nodiscard]] std::optional<Diagnostic> dual_diagnostic(const Given& given) {
  std::optional<Diagnostic> found;
  for_each_dual(given, [&](const auto& dual, std::size_t) {
    using Dual = std::remove_cvref_t<decltype(dual)>;
    if (found || sides_are_one(dual) || !Marks<Dual>::on_both_sides(dual)) return;
    found = Diagnostic{ErrorCode::invalid_argument,
                       "DualView '" + std::string(dual.view_device().label()) +
                           "' was modified on the host and on the device, and which side counts "
                           "is not known; sync it after one side is modified, before the other "
                           "one is"};
  });
  return found;
}

/// Copies data modified on the host to the device sides. Local; may throw exceptions of Kokkos, and
/// then leaves the marks of data that was not copied unchanged.
///
/// Parts of one DualView share their marks, and the first sync clears them for all. So the sides
/// that are newer on the host are determined beforehand.
/// @param queue  std::tuple of the execution space instance on which copies are queued; empty: they
///               are complete when Kokkos returns.
template <class Queue, class Given>
void sync_device_sides(const Queue& queue, Given& given) {
  std::array<bool, std::tuple_size_v<Given>> is_stale{};
  for_each_dual(given, [&](const auto& dual, std::size_t k) {
    is_stale[k] = !sides_are_one(dual) && dual.need_sync_device();
  });
  for_each_dual(given, [&](auto& dual, std::size_t k) {
    if (!is_stale[k]) return;
    std::apply(
        [&](const auto&... space) {
          if (dual.need_sync_device())
            dual.sync_device(space...);
          else
            Kokkos::deep_copy(space..., dual.view_device(), dual.view_host());
        },
        queue);
  });
}

/// Marks the device sides as modified. Local.
template <class Given>
void mark_device_sides(Given& given) {
  for_each_dual(given, [](auto& dual, std::size_t) {
    if (!sides_are_one(dual)) dual.modify_device();
  });
}

}  // namespace valet::kokkos::detail
