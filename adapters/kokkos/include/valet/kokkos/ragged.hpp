// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Blocks of different sizes in Kokkos Views: a View that the blocks fill from its front, and a
/// View of their lengths or offsets, as a valet::RaggedField. Kokkos is initialised and finalised
/// by the application.
///
/// Both are of rank 1, contiguous, and in memory that the host reaches. A View beside them, with a
/// row for each block, is a column as any array is: valet::field(view.data(), view.extent(0)).

#include <valet/kokkos/detail/runtime.hpp>
#include <valet/kokkos/detail/view_fields.hpp>
#include <valet/ragged_storage.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace valet::kokkos {
namespace detail {

/// Refuses at compile time what can never be moved, in words for the user.
template <class View>
constexpr void check_ragged_view() {
  static_assert(Kokkos::is_view<View>::value,
                "Valet: an arena and its lengths or offsets are Kokkos Views");
  if constexpr (Kokkos::is_view<View>::value) {
    constexpr std::size_t rank = View::rank;
    static_assert(rank == 1, "Valet: an arena and its lengths or offsets are Views of rank 1");
    static_assert(is_strided_layout<typename View::array_layout>,
                  "Valet: the layout of a View must be LayoutRight, LayoutLeft or LayoutStride");
    static_assert(is_host_accessible<View>,
                  "Valet: blocks of different sizes are moved by the host; give a View that it "
                  "reaches, such as a mirror");
  }
}

template <class Values, class Words>
constexpr void check_ragged_views() {
  check_ragged_view<Values>();
  check_ragged_view<Words>();
  static_assert(!std::is_const_v<typename Values::value_type>,
                "Valet: a View of const values cannot receive blocks; give the non-const View");
  static_assert(std::is_trivially_copyable_v<typename Values::value_type>,
                "Valet moves bytes: the value type of a View must be trivially copyable");
  static_assert(std::is_same_v<typename Words::value_type, std::uint64_t>,
                "Valet: lengths and offsets are a View of std::uint64_t, in bytes, into which the "
                "new ones are written; another type would need a copy");
}

template <class View>
[[nodiscard]] std::optional<Diagnostic> stride_diagnostic(const View& view) {
  if (view.extent(0) <= 1 || view.stride(0) == 1) return std::nullopt;
  return Diagnostic{ErrorCode::invalid_argument,
                    "the values of View '" + std::string(view.label()) + "' are " +
                        std::to_string(view.stride(0)) +
                        " apart; blocks of different sizes need a contiguous View"};
}

/// Waits for the kernels that may still write the Views, and keeps them alive.
template <class Values, class Words>
void prepare(RaggedField& field, const Values& values, const Words& words) {
  field.prepare = [values, words]() -> std::optional<Diagnostic> {
    if (auto diagnostic = runtime_diagnostic()) return diagnostic;
    if (auto diagnostic = stride_diagnostic(values)) return diagnostic;
    if (auto diagnostic = stride_diagnostic(words)) return diagnostic;
    return fence_diagnostic(typename Values::execution_space(), typename Words::execution_space());
  };
  if (field.label.empty()) field.label = values.label();
}

template <class View>
[[nodiscard]] std::span<typename View::value_type> span_of(const View& view) {
  return {view.data(), view.extent(0)};
}

}  // namespace detail

/// An arena that is a View, with the lengths of its blocks in another one:
/// valet::ragged_field(). Local.
///
/// The field keeps copies of the Views, so their memory lives at least as long; make it anew after
/// Kokkos::resize(). It must not outlive Kokkos::finalize(). Collective calls fence the default
/// instances of the Views' execution spaces first.
///
/// @param values   All that blocks may fill: bytes, or values of any trivially copyable type, for
///                 which every block is aligned.
/// @param lengths  Of std::uint64_t, in bytes: of n values of T, n * sizeof(T), see
///                 values_to_bytes(). As many as there may be blocks.
/// @param label    How messages call the field; none: as the View.
///
/// Errors of the collective call that uses the field, on all ranks: those of RaggedField, and
/// not_initialized (Kokkos is not initialised), invalid_argument (a View that is not contiguous),
/// callback_failed (a fence threw).
template <class Values, class Lengths>
[[nodiscard]] RaggedField ragged_field(const Values& values, const Lengths& lengths,
                                       std::string label = {}) {
  detail::check_ragged_views<Values, Lengths>();
  RaggedField field =
      valet::ragged_field(detail::span_of(values), detail::span_of(lengths), std::move(label));
  detail::prepare(field, values, lengths);
  return field;
}

/// The same with offsets, as the row map of a graph or matrix in compressed rows:
/// valet::ragged_field_by_offsets(). Local.
///
/// @param values   All that blocks may fill.
/// @param offsets  Of std::uint64_t, in bytes; one more than there may be blocks. Row maps mostly
///                 count values: values_to_bytes() turns those into bytes, in place. Without it
///                 the call throws invalid_argument where an offset is no multiple of alignof(T).
/// @param label    How messages call the field; none: as the View.
template <class Values, class Offsets>
[[nodiscard]] RaggedField ragged_field_by_offsets(const Values& values, const Offsets& offsets,
                                                  std::string label = {}) {
  detail::check_ragged_views<Values, Offsets>();
  RaggedField field = valet::ragged_field_by_offsets(detail::span_of(values),
                                                     detail::span_of(offsets), std::move(label));
  detail::prepare(field, values, offsets);
  return field;
}

/// Turns lengths or offsets that count values of T into bytes, before Valet is given them, in
/// place: all of the View, also what is behind the blocks. Local; fences the default instance of
/// its execution space first.
/// @tparam T     What is counted.
/// @param words  Of std::uint64_t, in memory that the host reaches.
template <class T, class Words>
void values_to_bytes(const Words& words) {
  detail::check_ragged_views<Words, Words>();
  detail::fence(typename Words::execution_space());
  for (std::size_t k = 0; k < words.extent(0); ++k) words(k) *= sizeof(T);
}

/// Turns bytes back into counts of values of T: what values_to_bytes() did, undone. Local.
/// @tparam T     What is counted.
/// @param words  Of std::uint64_t, in memory that the host reaches.
template <class T, class Words>
void bytes_to_values(const Words& words) {
  detail::check_ragged_views<Words, Words>();
  detail::fence(typename Words::execution_space());
  for (std::size_t k = 0; k < words.extent(0); ++k) words(k) /= sizeof(T);
}

}  // namespace valet::kokkos
