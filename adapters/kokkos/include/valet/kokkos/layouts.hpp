// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Kokkos Views as parts of distributed arrays: valet::redistribute() and related calls on Views of
/// rank 1 to 6 in LayoutRight, LayoutLeft or LayoutStride, with or without padding. The application
/// initialises and finalises Kokkos.

#include <valet/kokkos/detail/array_view.hpp>
#include <valet/redistribute.hpp>

namespace valet::kokkos {

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
