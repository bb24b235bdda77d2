// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Kokkos Views as parts of distributed arrays: valet::redistribute() and related calls on Views of
/// rank 1 to 6 in LayoutRight, LayoutLeft or LayoutStride, with or without padding. The application
/// initialises and finalises Kokkos.

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

namespace valet::kokkos {
namespace detail {

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

}  // namespace detail

/// Copies a distributed array from one layout into an array with another layout:
/// valet::redistribute() with this rank's parts as Views.
///
/// Collective over `communicator`; blocking. The default instances of the Views' execution spaces
/// are fenced first.
///
/// @param communicator    An intracommunicator that contains both grids.
/// @param from, to        The layouts, of equal extents. [global]
/// @param source, target  Extents are at least the local extents of this rank; the part is at the
///                        front of every dimension. Ranks outside a grid give any View, which may
///                        be empty. Both have the same value type, const allowed for `source`, and
///                        memory that the host can access. In LayoutStride the last index is
///                        assumed to vary fastest. [local]
/// @param options         Budgets may differ between ranks.
/// @throws Error as valet::redistribute(), also not_initialized if Kokkos is not initialised, and
///         callback_failed if a fence throws: the same error on all ranks, and nothing has been
///         written.
///
/// Memory beyond the Views: as valet::redistribute().
template <class Source, class Target>
Report redistribute(MPI_Comm communicator, const GridLayout& from, const GridLayout& to,
                    const Source& source, const Target& target, const LayoutOptions& options = {}) {
  detail::check_array_view<Source>();
  detail::check_array_view<Target>();
  static_assert(!std::is_const_v<typename Target::value_type>,
                "Valet: a View of const values cannot receive elements; give the non-const View");
  static_assert(
      std::is_same_v<typename Source::non_const_value_type, typename Target::non_const_value_type>,
      "Valet moves bytes: both Views must have the same value type");
  valet::detail::agree(communicator, [&](int rank) {
    auto diagnostic = detail::array_diagnostic(from, rank, source, "source");
    if (!diagnostic) diagnostic = detail::array_diagnostic(to, rank, target, "target");
    return diagnostic ? diagnostic
                      : detail::fence_diagnostic(typename Source::execution_space(),
                                                 typename Target::execution_space());
  });
  const detail::Region region("redistribute");
  return valet::redistribute(communicator, from, to, sizeof(typename Target::value_type),
                             detail::array_of<const void*>(source), detail::array_of<void*>(target),
                             options);
}

/// Moves a distributed array from one layout to another inside one View:
/// valet::redistribute_in_place().
///
/// Collective over `communicator`; blocking. The default instance of the View's execution space is
/// fenced first.
///
/// @param communicator  An intracommunicator that contains both grids.
/// @param from, to      The layouts, of equal extents. [global]
/// @param array         A View of rank 1 with room for the larger of both parts. With
///                      IndexOrder::row_major the last index of the part varies fastest in it, with
///                      IndexOrder::column_major the first. [local]
/// @param order         As LayoutRight and LayoutLeft; the same on all ranks.
/// @param options       Budgets may differ between ranks; the method may not.
/// @throws Error as valet::redistribute_in_place(), also not_initialized if Kokkos is not
///         initialised, and callback_failed if a fence throws: the same error on all ranks, and the
///         View is unchanged.
///
/// Memory beyond the View: as valet::redistribute_in_place().
template <class View>
Report redistribute_in_place(MPI_Comm communicator, const GridLayout& from, const GridLayout& to,
                             const View& array, IndexOrder order,
                             const LayoutOptions& options = {}) {
  detail::check_array_view<View>();
  static_assert(!std::is_const_v<typename View::value_type>,
                "Valet: a View of const values cannot receive elements; give the non-const View");
  static_assert(detail::rank_of_view<View> == 1 &&
                    !std::is_same_v<typename View::array_layout, Kokkos::LayoutStride>,
                "Valet: an array that is moved in place is a contiguous View of rank 1, of which "
                "both parts are unmanaged Views");
  valet::detail::agree(communicator, [](int) {
    auto diagnostic = detail::runtime_diagnostic();
    return diagnostic ? diagnostic : detail::fence_diagnostic(typename View::execution_space());
  });
  const detail::Region region("redistribute_in_place");
  constexpr std::size_t element_bytes = sizeof(typename View::value_type);
  return valet::redistribute_in_place(communicator, from, to, element_bytes,
                                      {.data = array.data(),
                                       .bytes = array.extent(0) * element_bytes,
                                       .order = order,
                                       .strides = {}},
                                      options);
}

}  // namespace valet::kokkos
