// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Views whose first two indices count the slots together: valet::kokkos::tiled().

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace valet::kokkos {

/// A View of tiles, made by tiled(): slot s is (s / extent(1), s % extent(1), ...). Given to
/// blocks() and staged_blocks() as a View is; keeps a copy of the View.
/// @tparam View  Of rank 2 to 8: tile, place in the tile, and what is left is a row.
template <class View>
class TiledView {
  static_assert(Kokkos::is_view<View>::value && std::size_t{View::rank} >= 2,
                "Valet: a View of tiles has the tile and the place in it as its first indices");

 public:
  using Untiled = View;                                    ///< the View of which it is made
  using memory_space = typename View::memory_space;        ///< as the View
  using execution_space = typename View::execution_space;  ///< as the View
  using value_type = typename View::value_type;            ///< as the View

  /// As tiled().
  TiledView(View view, std::uint64_t slots) : view_(std::move(view)), slots_(slots) {}
  /// The View of which it has been made.
  [[nodiscard]] const View& view() const { return view_; }
  /// The slots of all tiles.
  [[nodiscard]] std::uint64_t slots() const { return slots_; }
  /// The name in messages.
  [[nodiscard]] std::string label() const { return view_.label(); }
  /// How many Views refer to the memory.
  [[nodiscard]] int use_count() const { return view_.use_count(); }

 private:
  View view_;
  std::uint64_t slots_;
};

/// The first `slots` slots of a View of tiles, such as a slice of Cabana's arrays of structures of
/// arrays. Local.
/// @param view   Indices: tile, place in the tile, and those of a row, in any layout of strides.
/// @param slots  At most view.extent(0) * view.extent(1), which is reported on all ranks by the
///               call that uses the storage.
template <class View>
[[nodiscard]] TiledView<View> tiled(const View& view, std::uint64_t slots) {
  return {view, slots};
}

}  // namespace valet::kokkos
