// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Kokkos Views as parts of distributed arrays: valet::redistribute() and related calls on Views of
/// rank 1 to 6 in LayoutRight, LayoutLeft or LayoutStride, padded ones too. Kokkos is initialised
/// and finalised by the application.

#include <valet/kokkos/detail/array_view.hpp>
#include <valet/redistribute.hpp>

namespace valet::kokkos {

/// Copies a distributed array from one layout into an array of another layout:
/// valet::redistribute() with the parts of this rank as Views.
///
/// Collective over `communicator`; blocking. The default instances of the Views' execution spaces
/// are fenced first.
///
/// @param communicator    An intracommunicator that holds both grids.
/// @param from, to        Of equal extents [global].
/// @param source, target  Extents: at least the local extents of this rank; the part is at the
///                        front of every dimension. Ranks outside of a grid give any View, an empty
///                        one too. Both of the same value type; `source` may be of const values.
///                        Memory that the host reaches. In LayoutStride the last index is taken to
///                        vary fastest. [local]
/// @param options         Budgets may differ between ranks.
/// @throws Error as valet::redistribute(), not_initialized where Kokkos is not initialised, and
///         callback_failed where a fence throws: on all ranks alike, nothing has been written.
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
/// @param communicator  An intracommunicator that holds both grids.
/// @param from, to      Of equal extents [global].
/// @param array         Rank 1: the memory, with room for the larger of both parts. Its elements
///                      are those of a part whose last index varies fastest for
///                      IndexOrder::row_major, or whose first one does for
///                      IndexOrder::column_major. [local]
/// @param order         As LayoutRight and LayoutLeft; the same on all ranks.
/// @param options       Budgets may differ between ranks; the method may not.
/// @throws Error as valet::redistribute_in_place(), not_initialized where Kokkos is not
///         initialised, and callback_failed where a fence throws: on all ranks alike, the View is
///         as it was.
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
