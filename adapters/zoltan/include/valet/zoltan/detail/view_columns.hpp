// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Kokkos Views as columns. Empty where Valet was built without its Kokkos adapter.

#ifdef VALET_ZOLTAN_VIEWS

#include <valet/kokkos/detail/runtime.hpp>
#include <valet/kokkos/detail/view_fields.hpp>
#include <valet/zoltan/columns.hpp>

#include <Kokkos_Core.hpp>

#include <memory>
#include <string>
#include <tuple>
#include <type_traits>

namespace valet::zoltan::detail {

template <class View>
constexpr void check_column_view() {
  static_assert(Kokkos::is_view<View>::value, "Valet: coordinates and weights are Kokkos Views");
  if constexpr (Kokkos::is_view<View>::value) {
    constexpr std::size_t rank = View::rank;
    static_assert(rank == 1 || rank == 2,
                  "Valet: coordinates are one View of rank 2 (slots x components) or one View of "
                  "rank 1 for each component, weights a View of rank 1");
    static_assert(std::is_arithmetic_v<typename View::value_type>,
                  "Valet: the values of coordinates and weights must be numbers");
    static_assert(kokkos::detail::is_strided_layout<typename View::array_layout>,
                  "Valet: the layout of a View must be LayoutRight, LayoutLeft or LayoutStride");
  }
}

inline void refuse(Columns& columns, ErrorCode code, const std::string& label,
                   const std::string& text) {
  if (!columns.diagnostic) columns.diagnostic = Diagnostic{code, "View '" + label + "' " + text};
}

/// Appends the components of one View that the host can read.
template <class View>
void append_columns(Columns& columns, const View& view) {
  using Value = typename View::non_const_value_type;
  constexpr std::size_t rank = View::rank;
  const std::size_t components = rank == 1 ? 1 : view.extent(1);
  if (columns.size + components > Columns::most || components == 0)
    return refuse(columns, ErrorCode::invalid_argument, view.label(),
                  "brings the components to " + std::to_string(columns.size + components) +
                      "; coordinates have 1 to 3, weights 1");
  if (columns.size > 0 && view.extent(0) != columns.slots)
    return refuse(columns, ErrorCode::field_mismatch, view.label(),
                  "has " + std::to_string(view.extent(0)) + " slots, another component has " +
                      std::to_string(columns.slots));
  if (view.data() == nullptr && view.extent(0) > 0)
    return refuse(columns, ErrorCode::inaccessible_memory, view.label(),
                  "has no memory; allocate it first");
  columns.slots = view.extent(0);
  std::ptrdiff_t distance = 0;
  if constexpr (rank == 2) distance = static_cast<std::ptrdiff_t>(view.stride(1));
  for (std::size_t c = 0; c < components; ++c)
    columns.column[columns.size++] =
        column(static_cast<const Value*>(view.data()) + static_cast<std::ptrdiff_t>(c) * distance,
               static_cast<std::ptrdiff_t>(view.stride(0) * sizeof(Value)));
}

/// A View the host can read: the View itself, once its kernels are done, or a copy.
template <class View>
[[nodiscard]] auto readable(const View& view) {
  kokkos::detail::fence(typename View::execution_space());
  if constexpr (kokkos::detail::is_host_accessible<View>) {
    return view;
  } else {
    static_assert(!std::is_same_v<typename View::array_layout, Kokkos::LayoutStride>,
                  "Valet: a View that the host cannot read must be LayoutRight or LayoutLeft here");
    return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  }
}

template <class... Views>
[[nodiscard]] ColumnSource view_columns(const Views&... views) {
  (check_column_view<Views>(), ...);
  return [views...] {
    Columns columns;
    columns.diagnostic = kokkos::detail::runtime_diagnostic();
    if (columns.diagnostic) return columns;
    auto readables = std::make_shared<std::tuple<decltype(readable(views))...>>(readable(views)...);
    std::apply([&columns](const auto&... view) { (append_columns(columns, view), ...); },
               *readables);
    columns.keep_alive = std::move(readables);
    return columns;
  };
}

}  // namespace valet::zoltan::detail

#endif
