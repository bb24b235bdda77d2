// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Blocks of different sizes in Kokkos Views, as a valet::RaggedField: a View that the blocks fill
/// from the front, and a View of their lengths or offsets. The application initialises and
/// finalises Kokkos.
///
/// Both Views have rank 1 and are contiguous, in memory that the host can access. A View with a row
/// per block is a column, as any other array: valet::field(view.data(), view.extent(0)).

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

/// Rejects at compile time Views that can never be moved, with an explanation.
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

/// True, or an error of the compiler: in a static_assert it comes before those of what uses the
/// Views.
template <class Values, class Words>
consteval bool are_ragged_views() {
  check_ragged_view<Values>();
  check_ragged_view<Words>();
  static_assert(!std::is_const_v<typename Values::value_type>,
                "Valet: a View of const values cannot receive blocks; give the non-const View");
  static_assert(std::is_trivially_copyable_v<typename Values::value_type>,
                "Valet moves bytes: the value type of a View must be trivially copyable");
  static_assert(std::is_same_v<typename Words::value_type, std::uint64_t>,
                "Valet: lengths and offsets are a View of std::uint64_t, in bytes, into which the "
                "new ones are written; another type would need a copy");
  return true;
}

template <class View>
[[nodiscard]] std::optional<Diagnostic> stride_diagnostic(const View& view) {
  if (view.extent(0) <= 1 || view.stride(0) == 1) return std::nullopt;
  return Diagnostic{ErrorCode::invalid_argument,
                    "the values of View '" + std::string(view.label()) + "' are " +
                        std::to_string(view.stride(0)) +
                        " apart; blocks of different sizes need a contiguous View"};
}

template <class View>
[[nodiscard]] auto span_of(const View& given) {
  const ViewOf<View> view = view_of(given);
  return std::span<typename ViewOf<View>::value_type>(view.data(), view.extent(0));
}

/// The field make(span of values, span of words), which keeps the Views alive and waits for kernels
/// that may still write them.
/// @param values, words  Views, of which copies are kept, or references to them.
/// @param more_words     Words that are no block's: 1 of offsets, which an empty View lacks.
template <class Values, class Words, class Make>
[[nodiscard]] RaggedField ragged_field_of(const Values& values, const Words& words,
                                          std::size_t more_words, std::string label, Make make) {
  static_assert(are_ragged_views<ViewOf<Values>, ViewOf<Words>>());
  const auto current = [values, words, make] { return make(span_of(values), span_of(words)); };
  RaggedField field = current();
  field.label = label.empty() ? label_of(values) : std::move(label);
  field.prepare = [values, words]() -> std::optional<Diagnostic> {
    if (auto diagnostic = runtime_diagnostic()) return diagnostic;
    if (auto diagnostic = stride_diagnostic(view_of(values))) return diagnostic;
    if (auto diagnostic = stride_diagnostic(view_of(words))) return diagnostic;
    return fence_diagnostic(typename ViewOf<Values>::execution_space(),
                            typename ViewOf<Words>::execution_space());
  };
  if constexpr (is_reference<Values> || is_reference<Words>) field.current = current;
  if constexpr (is_reference<Values> && is_reference<Words>)
    if (values.may_grow() && words.may_grow())
      field.resize = [values, words, more_words](std::uint64_t new_bytes,
                                                 std::uint64_t new_blocks) {
        constexpr std::size_t value_bytes = sizeof(typename ViewOf<Values>::value_type);
        resize_rows(values, (new_bytes + value_bytes - 1) / value_bytes);
        resize_rows(words, new_blocks + more_words);
      };
  return field;
}

}  // namespace detail

/// An arena in a View, with the lengths of its blocks in another View: valet::ragged_field().
/// Local.
///
/// The field keeps copies of the Views, so their memory lives at least as long; make a new field
/// after Kokkos::resize(), or give valet::ref(view) or valet::growing(view). It must not outlive
/// Kokkos::finalize(). Collective calls first fence the default instances of the Views' execution
/// spaces.
///
/// @param values   All memory that blocks may fill: bytes, or values of any trivially copyable
///                 type, for which every block is aligned.
/// @param lengths  Of std::uint64_t, in bytes: n * sizeof(T) for n values of T, see
///                 values_to_bytes(); others are refused. One entry for each block that fits.
/// @param label    Name used in messages; if empty, the label of the View.
///
/// The collective call that uses the field reports on all ranks the errors of RaggedField, and
/// not_initialized (Kokkos is not initialised), invalid_argument (a View that is not contiguous),
/// callback_failed (a fence threw).
template <class Values, class Lengths>
[[nodiscard]] RaggedField ragged_field(const Values& values, const Lengths& lengths,
                                       std::string label = {}) {
  return detail::ragged_field_of(values, lengths, 0, std::move(label), [](auto bytes, auto words) {
    return valet::ragged_field(bytes, words);
  });
}

/// The same with offsets, such as the row map of a graph or matrix in compressed rows:
/// valet::ragged_field_by_offsets(). Local.
///
/// @param values   All memory that blocks may fill.
/// @param offsets  Of std::uint64_t, in bytes; one entry more than blocks that fit. Row maps
///                 usually count values: values_to_bytes() converts them in place. If they are not
///                 converted, the call throws invalid_argument if an offset is not a multiple of
///                 sizeof(T).
/// @param label    Name used in messages; if empty, the label of the View.
template <class Values, class Offsets>
[[nodiscard]] RaggedField ragged_field_by_offsets(const Values& values, const Offsets& offsets,
                                                  std::string label = {}) {
  return detail::ragged_field_of(values, offsets, 1, std::move(label), [](auto bytes, auto words) {
    return valet::ragged_field_by_offsets(bytes, words);
  });
}

/// Converts lengths or offsets that count values of T to bytes, in place, before they are given to
/// Valet: the whole View, including entries behind the blocks. Local; first fences the default
/// instance of its execution space.
/// @tparam T     Type of the counted values.
/// @param words  Of std::uint64_t, in memory that the host can access.
template <class T, class Words>
void values_to_bytes(const Words& words) {
  static_assert(detail::are_ragged_views<Words, Words>());
  detail::fence(typename Words::execution_space());
  for (std::size_t k = 0; k < words.extent(0); ++k) words(k) *= sizeof(T);
}

/// Converts bytes back to counts of values of T: the inverse of values_to_bytes(). Local.
/// @tparam T     Type of the counted values.
/// @param words  Of std::uint64_t, in memory that the host can access.
template <class T, class Words>
void bytes_to_values(const Words& words) {
  static_assert(detail::are_ragged_views<Words, Words>());
  detail::fence(typename Words::execution_space());
  for (std::size_t k = 0; k < words.extent(0); ++k) words(k) /= sizeof(T);
}

}  // namespace valet::kokkos
