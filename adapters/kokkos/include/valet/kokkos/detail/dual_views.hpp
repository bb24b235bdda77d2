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
#include <memory>
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

/// The DualViews among the Views of a storage.
class DualSides {
 public:
  DualSides() = default;
  DualSides(const DualSides&) = delete;
  DualSides& operator=(const DualSides&) = delete;
  virtual ~DualSides() = default;

  /// An error if a DualView was modified on both sides. Local.
  [[nodiscard]] virtual std::optional<Diagnostic> diagnostic() const = 0;
  /// Copies data modified on the host to the device sides. Local; may throw exceptions of Kokkos,
  /// and then leaves the marks of data that was not copied unchanged.
  virtual void sync_device_sides() = 0;
  /// Marks the device sides as modified. Local.
  virtual void mark_device_sides() = 0;
};

/// @tparam Given  std::tuple of the execution space instance on which copies are queued; empty:
///                they are complete when Kokkos returns.
template <class Given, class... Duals>
class DualSidesOf final : public DualSides {
 public:
  explicit DualSidesOf(const Given& given, const Duals&... duals)
      : given_(given), duals_(duals...) {}

  [[nodiscard]] std::optional<Diagnostic> diagnostic() const override {
    std::optional<Diagnostic> found;
    for_each(duals_, [&](const auto& dual, std::size_t) {
      using Dual = std::remove_cvref_t<decltype(dual)>;
      if (found || are_one(dual) || !Marks<Dual>::on_both_sides(dual)) return;
      found = Diagnostic{ErrorCode::invalid_argument,
                         "DualView '" + std::string(dual.view_device().label()) +
                             "' was modified on the host and on the device, and which side counts "
                             "is not known; sync it after one side is modified, before the other "
                             "one is"};
    });
    return found;
  }

  /// Parts of one DualView share their marks, and the first sync clears them for all. So the sides
  /// that are newer on the host are determined beforehand.
  void sync_device_sides() override {
    std::array<bool, sizeof...(Duals)> is_stale{};
    for_each(duals_, [&](const auto& dual, std::size_t k) {
      is_stale[k] = !are_one(dual) && dual.need_sync_device();
    });
    for_each(duals_, [&](auto& dual, std::size_t k) {
      if (!is_stale[k]) return;
      std::apply(
          [&](const auto&... space) {
            if (dual.need_sync_device())
              dual.sync_device(space...);
            else
              Kokkos::deep_copy(space..., dual.view_device(), dual.view_host());
          },
          given_);
    });
  }

  void mark_device_sides() override {
    for_each(duals_, [](auto& dual, std::size_t) {
      if (!are_one(dual)) dual.modify_device();
    });
  }

 private:
  /// If both sides are the same memory, there is nothing to copy or mark.
  template <class Dual>
  static bool are_one(const Dual& dual) {
    return static_cast<const void*>(dual.view_device().data()) ==
           static_cast<const void*>(dual.view_host().data());
  }
  template <class Tuple, class Action>
  static void for_each(Tuple& duals, Action&& action) {
    std::apply(
        [&, k = std::size_t{0}](auto&... dual) mutable { (action(object_of(dual), k++), ...); },
        duals);
  }

  Given given_;
  std::tuple<Duals...> duals_;
};

template <class T>
[[nodiscard]] auto if_dual(const T& view) {
  if constexpr (is_dual_view<T>)
    return std::tuple<T>(view);
  else
    return std::tuple<>();
}

/// The DualViews among `views`; nullptr if there are none.
template <class Given, class... Views>
[[nodiscard]] std::unique_ptr<DualSides> dual_sides(const Given& given, const Views&... views) {
  if constexpr ((is_dual_view<Views> || ...)) {
    return std::apply(
        [&](const auto&... dual) -> std::unique_ptr<DualSides> {
          return std::make_unique<DualSidesOf<Given, std::remove_cvref_t<decltype(dual)>...>>(
              given, dual...);
        },
        std::tuple_cat(if_dual(views)...));
  } else {
    return nullptr;
  }
}

}  // namespace valet::kokkos::detail
