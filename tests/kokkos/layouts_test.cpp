// SPDX-License-Identifier: BSD-3-Clause

// Views as parts of distributed arrays, in LayoutLeft, LayoutRight and padded, in 2, 3 and 4
// dimensions. An element is its number in the array.

#include "kokkos_environment.hpp"
#include "moved_arrays.hpp"
#include <valet/kokkos/layouts.hpp>

#include <Kokkos_Core.hpp>

namespace {

using namespace valet::test;
using valet::BlockCyclic;
using valet::GridLayout;

BlockCyclic::Extents extents_of(const GridLayout& grid) {
  const int place = place_in(grid);
  return place < 0 ? BlockCyclic::Extents::filled(grid.layout.dimensions(), 0)
                   : grid.layout.local_extents(place);
}

template <class View, std::size_t... d>
View make_local_view(const BlockCyclic::Extents& extents, std::index_sequence<d...>) {
  return View("valet_test::part", static_cast<std::size_t>(extents[d])...);
}

/// Calls visit(element) for the part at the front of a View, the last index fastest.
template <class View, class Visit, class... Index>
void for_each(const GridLayout& grid, const View& view, Visit&& visit, Index... index) {
  constexpr std::size_t d = sizeof...(Index);
  if constexpr (d == View::rank) {
    visit(view(index...));
  } else {
    const auto extent = static_cast<std::size_t>(extents_of(grid)[d]);
    for (std::size_t i = 0; i < extent; ++i) for_each(grid, view, visit, index..., i);
  }
}

template <class View>
void fill(const GridLayout& grid, const View& view) {
  std::size_t next = 0;
  const std::vector<std::uint64_t> numbers = own_numbers(grid, valet::IndexOrder::row_major);
  for_each(grid, view, [&](double& e) { e = static_cast<double>(numbers.at(next++)); });
}
template <class View>
long long wrong_in(const GridLayout& grid, const View& view) {
  long long wrong = 0;
  std::size_t next = 0;
  const std::vector<std::uint64_t> numbers = own_numbers(grid, valet::IndexOrder::row_major);
  for_each(grid, view,
           [&](double e) { wrong += e != static_cast<double>(numbers.at(next++)) ? 1 : 0; });
  return wrong;
}

template <class Source, class Target>
void expect_redistributed(const GridLayout& from, const GridLayout& to) {
  const auto source =
      make_local_view<Source>(extents_of(from), std::make_index_sequence<Source::rank>());
  const auto target =
      make_local_view<Target>(extents_of(to), std::make_index_sequence<Target::rank>());
  fill(from, source);
  const valet::Report report = valet::kokkos::redistribute(
      MPI_COMM_WORLD, from, to, typename Source::const_type(source), target);
  EXPECT_EQ(sum_over_ranks(wrong_in(to, target)), 0);
  expect_within_bound(report);
}

using Left2 = Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace>;
using Right2 = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
using Right3 = Kokkos::View<double***, Kokkos::LayoutRight, Kokkos::HostSpace>;
using Left4 = Kokkos::View<double****, Kokkos::LayoutLeft, Kokkos::HostSpace>;
using Right4 = Kokkos::View<double****, Kokkos::LayoutRight, Kokkos::HostSpace>;

TEST(KokkosLayouts, MovesBetweenViewsOfEitherLayout) {
  const GridLayout from{BlockCyclic({37, 29}, {4, 5}, {size(), 1})};
  const GridLayout to{BlockCyclic({37, 29}, {3, 7}, {1, size()}), {}};
  expect_redistributed<Left2, Left2>(from, to);
  expect_redistributed<Right2, Right2>(from, to);
  expect_redistributed<Left2, Right2>(from, to);
  expect_redistributed<Right2, Left2>(from, to);
}

TEST(KokkosLayouts, MovesInThreeAndFourDimensionsBetweenDisjointRanks) {
  const GridLayout from{BlockCyclic({9, 8, 7}, {2, 3, 7}, {1, 1, 1}), {0}};
  const GridLayout to{BlockCyclic({9, 8, 7}, {9, 1, 2}, {1, 1, 1}), {size() - 1}};
  expect_redistributed<Right3, Right3>(from, to);
  const GridLayout block{BlockCyclic::block({9, 8, 7, 6}, {size(), 1, 1, 1})};
  const GridLayout cyclic{BlockCyclic::cyclic({9, 8, 7, 6}, {1, 1, size(), 1})};
  expect_redistributed<Left4, Right4>(block, cyclic);
}

// Rows further apart than they are long, in memory that is larger than the part.
TEST(KokkosLayouts, MovesToSubviews) {
  const GridLayout from{BlockCyclic({20, 11}, {3, 2}, {1, size()})};
  const GridLayout to{BlockCyclic({20, 11}, {5, 11}, {size(), 1})};
  const auto source = make_local_view<Left2>(extents_of(from), std::make_index_sequence<2>());
  fill(from, source);
  const BlockCyclic::Extents extents = extents_of(to);
  const auto rows = static_cast<std::size_t>(extents[0]);
  const auto columns = static_cast<std::size_t>(extents[1]);
  const Right2 whole("valet_test::whole", rows + 3, columns + 4);
  Kokkos::deep_copy(whole, -1.0);
  const auto part = Kokkos::subview(whole, std::make_pair(std::size_t{2}, rows + 2),
                                    std::make_pair(std::size_t{1}, columns + 1));
  valet::kokkos::redistribute(MPI_COMM_WORLD, from, to, source, part);
  EXPECT_EQ(sum_over_ranks(wrong_in(to, part)), 0);
  long long untouched = 0;
  for (std::size_t i = 0; i < whole.extent(0); ++i)
    for (std::size_t j = 0; j < whole.extent(1); ++j) untouched += whole(i, j) == -1.0 ? 1 : 0;
  EXPECT_TRUE(all_ranks(untouched == static_cast<long long>(whole.size() - rows * columns)));
}

TEST(KokkosLayouts, MovesInPlace) {
  const GridLayout from{BlockCyclic({40, 31}, {4, 5}, {size(), 1})};
  const GridLayout to{BlockCyclic({40, 31}, {3, 7}, {1, size()})};
  const auto before = make_local_view<Left2>(extents_of(from), std::make_index_sequence<2>());
  const auto after = make_local_view<Left2>(extents_of(to), std::make_index_sequence<2>());
  using Memory = Kokkos::View<double*, Kokkos::HostSpace>;
  const Memory memory("valet_test::memory", std::max(before.size(), after.size()));
  fill(from, before);
  std::copy_n(before.data(), before.size(), memory.data());
  valet::kokkos::redistribute_in_place(MPI_COMM_WORLD, from, to, memory,
                                       valet::IndexOrder::column_major);
  std::copy_n(memory.data(), after.size(), after.data());
  EXPECT_EQ(sum_over_ranks(wrong_in(to, after)), 0);
}

TEST(KokkosLayouts, RefusesViewsThatAreTooSmall) {
  const GridLayout grid{BlockCyclic::block({12 * size(), 10}, {size(), 1})};
  const Right2 source("valet_test::source", 12, 10);
  const Right2 target("valet_test::target", 12, rank() == size() - 1 ? 9 : 10);
  const Outcome outcome =
      outcome_of([&] { valet::kokkos::redistribute(MPI_COMM_WORLD, grid, grid, source, target); });
  expect_error(outcome, valet::ErrorCode::infeasible, {});
  expect_words(outcome.text,
               {"target View 'valet_test::target'", "has extent 9 in dimension 1", "needs 10"});
  const GridLayout deep{BlockCyclic::block({12 * size(), 10, 1}, {size(), 1, 1})};
  const Outcome other =
      outcome_of([&] { valet::kokkos::redistribute(MPI_COMM_WORLD, deep, deep, source, source); });
  expect_words(other.text, {"has rank 2 for an array of 3 dimensions"});
}

}  // namespace
