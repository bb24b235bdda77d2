// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Requirements on a View, and its form as a valet::Field.

#include <valet/block_storage.hpp>
#include <valet/error.hpp>
#include <valet/kokkos/detail/dual_views.hpp>
#include <valet/kokkos/tiled_view.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace valet::kokkos::detail {

template <class View>
constexpr bool is_host_accessible =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename View::memory_space>::accessible;

template <class Space, class View>
constexpr bool is_accessible =
    Kokkos::SpaceAccessibility<Space, typename View::memory_space>::accessible;

/// Memory whose pages migrate between host and device when accessed, such as CudaUVMSpace: the host
/// can access it, but it is not the memory of host execution spaces.
template <class View>
constexpr bool is_managed =
    is_host_accessible<View> &&
    !Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename View::memory_space>::assignable;

/// Whether kernels on `Space` run on the host.
template <class Space>
constexpr bool is_host_execution_space =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename Space::memory_space>::assignable;

/// Whether kernels on `Space` should move these Views although the host could: some are managed,
/// and pages that the host accesses would have to migrate back.
template <class Space, class... Views>
constexpr bool prefers_kernels = !is_host_execution_space<Space> && (is_managed<Views> || ...) &&
                                 (is_accessible<Space, Views> && ...);

template <class Layout>
constexpr bool is_strided_layout =
    std::is_same_v<Layout, Kokkos::LayoutRight> || std::is_same_v<Layout, Kokkos::LayoutLeft> ||
    std::is_same_v<Layout, Kokkos::LayoutStride>;

template <class View>
struct Untiled {
  using Type = View;
};
template <class View>
struct Untiled<TiledView<View>> {
  using Type = View;
};
/// A View, or the one that tiled() got.
template <class View>
using UntiledOf = typename Untiled<View>::Type;

/// Rejects at compile time Views that can never be moved, with an explanation.
template <class Given>
constexpr void check_view() {
  using View = UntiledOf<Given>;
  static_assert(
      Kokkos::is_view<View>::value,
      "Valet: blocks() takes Kokkos Views and DualViews, with an execution space instance "
      "before them if wanted");
  if constexpr (Kokkos::is_view<View>::value) {
    constexpr std::size_t rank = View::rank;
    static_assert(rank >= 1 && rank <= 8,
                  "Valet: a View needs a first index that counts the slots (rank 1 to 8)");
    static_assert(!std::is_const_v<typename View::value_type>,
                  "Valet: a View of const values cannot receive blocks; give the non-const View");
    static_assert(std::is_trivially_copyable_v<typename View::value_type>,
                  "Valet moves bytes: the value type of a View must be trivially copyable");
    static_assert(is_strided_layout<typename View::array_layout>,
                  "Valet: the layout of a View must be LayoutRight, LayoutLeft or LayoutStride");
  }
}

/// A View as a field. Local.
///
/// The order of the inner dimensions determines how a block is packed, so it depends only on the
/// type of the View: strides may differ between ranks. Fastest last: index order, reversed for
/// LayoutLeft.
template <class View>
[[nodiscard]] Field field_of_view(const View& view) {
  using Value = typename View::value_type;
  constexpr std::size_t rank = View::rank;
  constexpr bool is_left = std::is_same_v<typename View::array_layout, Kokkos::LayoutLeft>;
  const auto stride_bytes = [&view](std::size_t dimension) {
    return static_cast<std::ptrdiff_t>(view.stride(dimension) * sizeof(Value));
  };
  Field field;
  field.data = static_cast<void*>(view.data());
  field.slots = view.extent(0);
  field.slot_stride_bytes = stride_bytes(0);
  field.element_bytes = sizeof(Value);
  field.dimension_count = rank - 1;
  for (std::size_t d = 1; d < rank; ++d)
    field.dimensions[is_left ? rank - 1 - d : d - 1] = {view.extent(d), stride_bytes(d)};
  return field;
}

/// The first two indices count the slots together: the second one is that of the row in a tile.
template <class View>
[[nodiscard]] Field field_of_view(const TiledView<View>& tiled) {
  constexpr bool is_left = std::is_same_v<typename View::array_layout, Kokkos::LayoutLeft>;
  Field field = field_of_view(tiled.view());
  const auto dimensions = std::span(field.dimensions).first(field.dimension_count);
  const auto in_tile = is_left ? dimensions.end() - 1 : dimensions.begin();
  const FieldDimension place = *in_tile;
  std::copy(in_tile + 1, dimensions.end(), in_tile);
  field.dimensions[--field.dimension_count] = {};
  field.tiles = {.slots = place.extent,
                 .stride_bytes = field.slot_stride_bytes,
                 .count = tiled.view().extent(0)};
  field.slot_stride_bytes = place.stride_bytes;
  field.slots = tiled.slots();
  if (tiled.view().extent(0) == 0) field.data = nullptr;  // an empty View may have an address
  return field;
}

/// Whether Kokkos::resize() takes it.
template <class View>
constexpr bool is_resizable = View::rank_dynamic > 0 && View::traits::is_managed &&
                              !std::is_same_v<typename View::array_layout, Kokkos::LayoutStride>;

template <class View>
constexpr bool is_resizable<TiledView<View>> = false;

/// Gives the View, DualView or NodeView that is referred to another first extent. Local; throws
/// what Kokkos does.
template <class Object>
void resize_rows(Ref<Object> reference, std::uint64_t rows) {
  using View = ViewOf<Ref<Object>>;
  Object& object = reference.get();
  const auto n = static_cast<std::size_t>(rows);
  if constexpr (requires { object.is_current(); } && !std::is_const_v<Object>) {
    object.resize(n);
  } else if constexpr (is_resizable<View> && !std::is_const_v<Object>) {
    const View view = view_of(reference);
    [&]<std::size_t... d>(std::index_sequence<d...>) {
      Kokkos::resize(object, n, view.extent(d + 1)...);
    }
    (std::make_index_sequence<std::size_t{View::rank_dynamic} - 1>());
  } else {
    throw Error(ErrorCode::invalid_argument,
                "View '" + label_of(reference) +
                    "' is unmanaged, const, tiled or has LayoutStride, so that "
                    "Kokkos cannot resize it; give valet::ref(view) of the one that you resize");
  }
}

/// A View or DualView, or a reference to one, as a field. Local.
template <class Given>
[[nodiscard]] Field field_of(const Given& given) {
  const auto describe = [](const Given& is) {
    Field field = field_of_view(view_of(is));
    field.label = label_of(is);
    return field;
  };
  Field field = describe(given);
  if constexpr (is_reference<Given>) {
    field.current = [=] { return describe(given); };
    if (given.may_grow())
      field.resize = [=](std::uint64_t new_rows) { resize_rows(given, new_rows); };
  }
  return field;
}

template <class... Given>
[[nodiscard]] std::array<Field, sizeof...(Given)> fields_of(const Given&... given) {
  return {field_of(given)...};
}

}  // namespace valet::kokkos::detail
