// SPDX-License-Identifier: BSD-3-Clause

// Views of every rank and layout are redistributed by random maps, directly and staged, with ample
// and with the least scratch. The value of an element says which element of which block it is, so
// the right answer is known without a second copy of the data.

#include "kokkos_environment.hpp"
#include "map_case.hpp"
#include "test_comm.hpp"
#include "views.hpp"
#include <valet/kokkos/blocks.hpp>
#include <valet/valet.hpp>

#include <Kokkos_Core.hpp>
#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace {

using namespace valet::test;

enum class Path { direct, staged };

template <class... Views>
valet::BlockStorage storage_of(const std::tuple<Views...>& views, Path path) {
  return std::apply(
      [path](const auto&... view) {
        return path == Path::direct ? valet::kokkos::blocks(view...)
                                    : valet::kokkos::staged_blocks(view...);
      },
      views);
}

/// Calls action(view, field number) for every View.
template <class Views, class Action>
void for_each_view(const Views& views, Action&& action) {
  std::apply(
      [&action](const auto&... view) {
        std::size_t field = 0;
        (action(view, field++), ...);
      },
      views);
}

template <class Views>
void write_blocks(const Views& views, const MapCase& map) {
  const std::uint64_t count = map.counts[static_cast<std::size_t>(rank())];
  for_each_view(views, [&](const auto& view, std::size_t field) {
    for (std::uint64_t s = 0; s < count; ++s) write_block(view, field, s, rank(), s);
  });
}

template <class Views>
long long wrong_elements(const Views& views, const MapCase& map, MapForm form) {
  const auto expected = map.expected(rank(), form, storage_of(views, Path::direct).block_bytes());
  long long wrong = 0;
  for_each_view(views, [&](const auto& view, std::size_t field) {
    for (std::size_t s = 0; s < expected.size(); ++s)
      if (expected[s]) wrong += wrong_in_slot(view, field, s, expected[s]->rank, expected[s]->slot);
  });
  return wrong;
}

template <class... Views>
std::tuple<Views...> make_views(std::uint64_t slots) {
  return {make_view<Views>("valet_test::view", slots)...};
}

/// Executes twice: a plan is made to be used again.
template <class... Views>
void check_case(const MapCase& map, MapForm form, Path path, bool least_budget) {
  const auto views = make_views<Views...>(map.slots[static_cast<std::size_t>(rank())]);
  const valet::BlockStorage storage = storage_of(views, path);
  valet::Options options;
  options.verify = true;
  const std::size_t least_blocks = path == Path::direct ? 1 : 2;
  if (least_budget) options.budget_bytes = least_blocks * storage.block_bytes();
  valet::Plan plan = plan_of(MPI_COMM_WORLD, storage, map, rank(), form, options);
  for (int repetition = 0; repetition < 2; ++repetition) {
    write_blocks(views, map);
    const valet::Report report = execute(plan, storage);
    EXPECT_EQ(sum_over_ranks(wrong_elements(views, map, form)), 0);
    EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= report.extra_bytes_bound));
    EXPECT_TRUE(all_ranks(report.verified));
  }
}

template <class... Views>
void check_random_cases(int cases) {
  std::mt19937_64 random(seed());
  for (int c = 0; c < cases; ++c) {
    SCOPED_TRACE(seed_note(seed(), c));
    const MapCase map = MapCase::random(size(), random);
    for (const MapForm form : all_forms)
      for (const Path path : {Path::direct, Path::staged})
        for (const bool least_budget : {false, true})
          check_case<Views...>(map, form, path, least_budget);
  }
}

template <class View>
class MigrateViews : public ::testing::Test {};

using Right = Kokkos::LayoutRight;
using Left = Kokkos::LayoutLeft;
using Stride = Kokkos::LayoutStride;

using ViewTypes =
    ::testing::Types<HostView<double*, Right>, HostView<float*, Left>, HostView<char*, Stride>,
                     HostView<double**, Right>, HostView<Padded**, Left>, HostView<int**, Stride>,
                     HostView<short***, Right>, HostView<double***, Left>,
                     HostView<Padded***, Stride>, HostView<float****, Right>,
                     HostView<double****, Left>, HostView<char****, Stride>,
                     HostView<double* [3], Left>, HostView<int* [3][2], Right>>;
TYPED_TEST_SUITE(MigrateViews, ViewTypes);

TYPED_TEST(MigrateViews, EveryElementEndsWhereTheMapSays) { check_random_cases<TypeParam>(6); }

TEST(MigrateManyViews, RowsOfABlockStayTogether) {
  check_random_cases<HostView<double**, Left>, HostView<char*, Right>, HostView<Padded***, Stride>,
                     HostView<std::int64_t*, Stride>, HostView<short* [3], Right>>(12);
}

TEST(MigrateManyViews, DirectAndStagedGiveTheSameBytes) {
  using Bytes = HostView<unsigned char**, Right>;
  std::mt19937_64 random(seed());
  for (int c = 0; c < 8; ++c) {
    SCOPED_TRACE(seed_note(seed(), c));
    const MapCase map = MapCase::random(size(), random);
    const auto slots = map.slots[static_cast<std::size_t>(rank())];
    const auto direct = make_views<Bytes>(slots);
    const auto staged = make_views<Bytes>(slots);
    for (const auto& [views, path] : {std::pair(direct, Path::direct), {staged, Path::staged}}) {
      write_blocks(views, map);
      const valet::BlockStorage storage = storage_of(views, path);
      valet::Plan plan = plan_of(MPI_COMM_WORLD, storage, map, rank(), MapForm::stable, {});
      execute(plan, storage);
    }
    // Free slots are unspecified, so only the occupied ones are compared.
    const auto expected =
        map.expected(rank(), MapForm::stable, storage_of(direct, Path::direct).block_bytes());
    const auto& a = std::get<0>(direct);
    const auto& b = std::get<0>(staged);
    bool same = true;
    for (std::size_t s = 0; s < expected.size(); ++s)
      for (std::size_t i = 0; expected[s] && i < row_size(a); ++i)
        same = same && element(a, s, i) == element(b, s, i);
    EXPECT_TRUE(all_ranks(same));
  }
}

// Big enough for many messages in flight through little scratch, and through ample scratch for
// messages of more blocks than one kernel handles.
TEST(MigrateManyViews, ManyBlocks) {
  const int ranks = size();
  constexpr std::uint64_t blocks = 12000;
  MapCase map;
  std::mt19937_64 random(seed());
  std::vector<std::uint64_t> next(static_cast<std::size_t>(ranks), 0);
  for (int r = 0; r < ranks; ++r) {
    map.counts.push_back(blocks);
    auto& row = map.destination.emplace_back();
    for (std::uint64_t s = 0; s < blocks; ++s) {
      const auto to = static_cast<int>(random() % static_cast<std::uint64_t>(ranks));
      row.push_back({to, next[static_cast<std::size_t>(to)]++});
    }
  }
  for (const std::uint64_t n : next) map.slots.push_back(std::max(n, blocks));
  for (const Path path : {Path::direct, Path::staged}) {
    for (const std::size_t budget : {std::size_t{64} << 10, std::size_t{4} << 20}) {
      const auto views = make_views<HostView<double**, Left>, HostView<char*, Right>>(
          map.slots[static_cast<std::size_t>(rank())]);
      write_blocks(views, map);
      const valet::BlockStorage storage = storage_of(views, path);
      valet::Options options;
      options.budget_bytes = budget;
      valet::Plan plan = plan_of(MPI_COMM_WORLD, storage, map, rank(), MapForm::slots, options);
      const valet::Report report = execute(plan, storage);
      EXPECT_EQ(sum_over_ranks(wrong_elements(views, map, MapForm::slots)), 0);
      EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= report.extra_bytes_bound));
    }
  }
}

}  // namespace
