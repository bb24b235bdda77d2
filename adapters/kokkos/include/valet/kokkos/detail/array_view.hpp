// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Requirements on a View that holds a part of a distributed array, and its valet::LocalArray.

#include <valet/detail/agree.hpp>
#include <valet/kokkos/detail/runtime.hpp>
#include <valet/kokkos/detail/view_fields.hpp>
#include <valet/redistribute.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

namespace valet::kokkos::detail {

template <class View>
constexpr std::size_t rank_of_view = View::rank;

/// Rejects at compile time Views that can never be moved, with an explanation.
template <class View>
constexpr void check_array_view() {
  static_assert(Kokkos::is_view<View>::value, "Valet: a part of an array must be a Kokkos View");
  static_assert(rank_of_view<View> >= 1 && rank_of_view<View> <= layout::most_dimensions,
                "Valet: an array has 1 to 6 dimensions");
  static_assert(std::is_trivially_copyable_v<typename View::non_const_value_type>,
                "Valet moves bytes: the value type of a View must be trivially copyable");
  static_assert(is_strided_layout<typename View::array_layout>,
                "Valet: the layout of a View must be LayoutRight, LayoutLeft or LayoutStride");
  static_assert(is_host_accessible<View>,
                "Valet: arrays are moved between layouts by the host; give a View that it reaches, "
                "such as a mirror");
}

template <class View>
constexpr IndexOrder order_of =
    std::is_same_v<typename View::array_layout, Kokkos::LayoutLeft> ? IndexOrder::column_major
                                                                    : IndexOrder::row_major;

/// The error in the View of this rank's part, if any.
template <class View>
[[nodiscard]] std::optional<Diagnostic> array_diagnostic(const GridLayout& grid, int rank,
                                                         const View& view, const char* side) {
  if (auto diagnostic = runtime_diagnostic()) return diagnostic;
  const auto place = grid.ranks.empty() ? std::ptrdiff_t{rank}
                                        : std::ranges::find(grid.ranks, rank) - grid.ranks.begin();
  if (place >= grid.layout.ranks()) return std::nullopt;
  const BlockCyclic::Extents needed = grid.layout.local_extents(static_cast<int>(place));
  const std::string name = std::string("its ") + side + " View '" + view.label() + "'";
  if (needed.size() != rank_of_view<View>)
    return Diagnostic{ErrorCode::invalid_argument,
                      name + " has rank " + std::to_string(rank_of_view<View>) +
                          " for an array of " + std::to_string(needed.size()) + " dimensions"};
  for (std::size_t d = 0; d < needed.size(); ++d)
    if (static_cast<std::int64_t>(view.extent(d)) < needed[d])
      return Diagnostic{ErrorCode::infeasible,
                        name + " has extent " + std::to_string(view.extent(d)) + " in dimension " +
                            std::to_string(d) + "; its part of the array needs " +
                            std::to_string(needed[d])};
  return std::nullopt;
}

template <class Pointer, class View>
[[nodiscard]] LocalArray<Pointer> array_of(const View& view) {
  LocalArray<Pointer> array{.data = view.data(), .order = order_of<View>};
  array.strides = BlockCyclic::Extents::filled(rank_of_view<View>, 0);
  std::size_t span = view.size() > 0 ? 1 : 0;
  for (std::size_t d = 0; d < rank_of_view<View>; ++d) {
    array.strides[d] = static_cast<std::int64_t>(view.stride(d));
    if (view.size() > 0) span += (view.extent(d) - 1) * view.stride(d);
  }
  array.bytes = span * sizeof(typename View::value_type);
  return array;
}

}  // namespace valet::kokkos::detail
