// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Views to test with: how to make one of any rank and layout, and what its elements hold.

#include "filled_map.hpp"
#include <valet/kokkos/detail/runtime.hpp>

#include <Kokkos_Core.hpp>

namespace valet::test {

/// A View that the tests write and read on the host, and kernels of the default execution space
/// move: in pinned memory where there is a device.
template <class Data, class Layout = Kokkos::LayoutRight>
using HostView =
    Kokkos::View<Data, Layout, kokkos::detail::StagingSpace<Kokkos::DefaultExecutionSpace>>;

/// A value type with padding bytes.
struct Padded {
  double real = 0;
  std::int16_t small = 0;
  [[nodiscard]] bool operator==(const Padded&) const = default;
};

/// Splitmix64 (Steele, Lea, Flood, OOPSLA 2014): every bit depends on every argument.
inline std::uint64_t scramble(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

/// What element `index` of the block that started in `slot` of `rank` holds in field `field`.
template <class Value>
Value value_of(int rank, std::uint64_t slot, std::size_t field, std::size_t index) {
  const std::uint64_t bits =
      scramble(scramble(scramble(static_cast<std::uint64_t>(rank)) + slot) + 1000 * field + index);
  if constexpr (std::is_same_v<Value, Padded>)
    return {static_cast<double>(bits >> 12U), static_cast<std::int16_t>(bits & 0x7FFFU)};
  else if constexpr (std::is_floating_point_v<Value>)
    return static_cast<Value>(bits >> 12U);
  else
    return static_cast<Value>(bits & 0x7FU);
}

constexpr std::array<std::size_t, 4> inner_extents{0, 3, 2, 4};

template <class View>
constexpr std::size_t rank_of = View::rank;

/// Elements of a row.
template <class View>
std::size_t row_size(const View& view) {
  std::size_t size = 1;
  for (std::size_t d = 1; d < rank_of<View>; ++d) size *= view.extent(d);
  return size;
}

/// Element `index` of the row of `slot`, counted in index order.
template <class View>
typename View::value_type& element(const View& view, std::size_t slot, std::size_t index) {
  if constexpr (rank_of<View> == 1) {
    return view(slot);
  } else if constexpr (rank_of<View> == 2) {
    return view(slot, index);
  } else if constexpr (rank_of<View> == 3) {
    return view(slot, index / view.extent(2), index % view.extent(2));
  } else {
    static_assert(rank_of<View> == 4);
    const std::size_t last = index % view.extent(3);
    index /= view.extent(3);
    return view(slot, index / view.extent(2), index % view.extent(2), last);
  }
}

/// Strides with gaps: the second dimension is the slowest and the first the fastest but one.
template <std::size_t Rank>
Kokkos::LayoutStride gappy_layout(const std::array<std::size_t, 4>& extents) {
  constexpr std::array<std::array<std::size_t, 4>, 5> fastest_first{
      {{}, {0}, {0, 1}, {2, 0, 1}, {3, 0, 2, 1}}};
  Kokkos::LayoutStride layout;
  std::size_t stride = 2;
  for (std::size_t k = 0; k < Rank; ++k) {
    const std::size_t d = fastest_first[Rank][k];
    layout.dimension[d] = extents[d];
    layout.stride[d] = stride;
    stride *= extents[d] + 1;
  }
  return layout;
}

template <class View, std::size_t... D>
View make_view(const std::string& label, const std::array<std::size_t, 4>& extents,
               std::index_sequence<D...>) {
  return View(label, extents[D]...);
}

/// A View of `slots` rows. Its inner extents are those of inner_extents.
template <class View>
View make_view(const std::string& label, std::size_t slots) {
  std::array<std::size_t, 4> extents = inner_extents;
  extents[0] = slots;
  if constexpr (std::is_same_v<typename View::array_layout, Kokkos::LayoutStride>)
    return View(label, gappy_layout<rank_of<View>>(extents));
  else
    return make_view<View>(label, extents, std::make_index_sequence<View::rank_dynamic>());
}

/// Calls visit(field number, View) for every View, which are the fields of blocks.
template <class Views, class Visit>
void for_each_view(const Views& views, Visit&& visit) {
  std::apply(
      [&](const auto&... view) {
        std::size_t field = 0;
        (visit(field++, view), ...);
      },
      views);
}

/// Writes the block that started in `origin_slot` of `origin_rank` into `slot`.
template <class View>
void write_block(const View& view, std::size_t field, std::size_t slot, int origin_rank,
                 std::uint64_t origin_slot) {
  for (std::size_t i = 0; i < row_size(view); ++i)
    element(view, slot, i) =
        value_of<typename View::value_type>(origin_rank, origin_slot, field, i);
}

/// Elements of `slot` that are not those of the given block.
template <class View>
long long wrong_in_slot(const View& view, std::size_t field, std::size_t slot, int origin_rank,
                        std::uint64_t origin_slot) {
  long long wrong = 0;
  for (std::size_t i = 0; i < row_size(view); ++i)
    if (!(element(view, slot, i) ==
          value_of<typename View::value_type>(origin_rank, origin_slot, field, i)))
      ++wrong;
  return wrong;
}

/// Writes every block of this rank into the slot where it starts.
template <class Views>
void write_blocks(const Views& views, const MapPart& map) {
  for_each_view(views, [&](std::size_t field, const auto& view) {
    for (std::uint64_t slot = 0; slot < map.slots(); ++slot)
      if (map.destination()[slot]) write_block(view, field, slot, rank(), slot);
  });
}

/// Elements of this rank that are not where the map says.
template <class Views>
long long wrong_elements(const Views& views, const MapPart& map, const Kind& kind,
                         std::size_t block_bytes) {
  const GlobalContent content = map.content(kind.form, kind.order, block_bytes);
  long long wrong = 0;
  for_each_view(views, [&](std::size_t field, const auto& view) {
    wrong += wrong_slots(row_of(content, rank()), [&](std::uint64_t slot, const Address& from) {
      return wrong_in_slot(view, field, slot, from.rank, from.slot) == 0;
    });
  });
  return wrong;
}

/// Blocks go to random slots. Some ranks have no slots or no blocks; now and then no slot is free.
inline GlobalMap random_map_of_views(std::mt19937_64& random) {
  const bool tight = random() % 4 == 0;
  return random_map(random, size(), 24, tight ? Tightness::full : Tightness::loose,
                    random() % 2 == 0);
}

}  // namespace valet::test
