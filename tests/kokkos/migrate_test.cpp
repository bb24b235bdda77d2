// SPDX-License-Identifier: BSD-3-Clause

// Views of every rank and layout are redistributed by random maps, directly and staged, with ample
// and with the least scratch. The value of an element says which element of which block it is, so
// the right answer is known without a second copy of the data.

#include "kokkos_environment.hpp"
#include "views.hpp"
#include <valet/kokkos/blocks.hpp>

#include <Kokkos_Core.hpp>

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

template <class... Views>
std::tuple<Views...> make_views(std::uint64_t slots) {
  return {make_view<Views>("valet_test::view", slots)...};
}

/// Executes twice: a plan is made to be used again.
template <class... Views>
void check_case(MapPart& map, const Kind& kind, Path path, bool least_budget) {
  const auto views = make_views<Views...>(map.slots());
  const valet::BlockStorage storage = storage_of(views, path);
  valet::Options options{.order = kind.order, .verify = true};
  const std::size_t least_blocks = path == Path::direct ? 1 : 2;
  if (least_budget) options.budget_bytes = least_blocks * storage.block_bytes();
  valet::Plan plan = map.plan(MPI_COMM_WORLD, storage, kind.form, options);
  for (int repetition = 0; repetition < 2; ++repetition) {
    write_blocks(views, map);
    const valet::Report report = execute(plan, storage);
    EXPECT_EQ(sum_over_ranks(wrong_elements(views, map, kind, storage.block_bytes())), 0);
    expect_within_bound(report);
    EXPECT_TRUE(all_ranks(report.verified));
  }
}

template <class... Views>
void check_random_cases(int cases) {
  std::mt19937_64 random(seed());
  for (int c = 0; c < cases; ++c) {
    SCOPED_TRACE(seed_note(seed(), c));
    MapPart map(random_map_of_views(random), rank());
    for (const Kind& kind : all_kinds)
      for (const Path path : {Path::direct, Path::staged})
        for (const bool least_budget : {false, true})
          check_case<Views...>(map, kind, path, least_budget);
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
    MapPart map(random_map_of_views(random), rank());
    const auto direct = make_views<Bytes>(map.slots());
    const auto staged = make_views<Bytes>(map.slots());
    for (const auto& [views, path] :
         {std::pair(direct, Path::direct), std::pair(staged, Path::staged)}) {
      write_blocks(views, map);
      const valet::BlockStorage storage = storage_of(views, path);
      valet::Plan plan =
          map.plan(MPI_COMM_WORLD, storage, Form::to_ranks, {.order = valet::Order::stable});
      execute(plan, storage);
    }
    // Free slots are unspecified, so only the occupied ones are compared.
    const GlobalContent content = map.content(Form::to_ranks, valet::Order::stable, 1);
    const auto& a = std::get<0>(direct);
    const auto& b = std::get<0>(staged);
    bool same = true;
    for (std::size_t s = 0; s < map.slots(); ++s)
      for (std::size_t i = 0; row_of(content, rank())[s] && i < row_size(a); ++i)
        same = same && element(a, s, i) == element(b, s, i);
    EXPECT_TRUE(all_ranks(same));
  }
}

// Big enough for many messages in flight through little scratch, and through ample scratch for
// messages of more blocks than one kernel handles.
TEST(MigrateManyViews, ManyBlocks) {
  std::mt19937_64 random(seed());
  std::vector<std::vector<int>> ranks(static_cast<std::size_t>(size()), std::vector<int>(12'000));
  for (std::vector<int>& row : ranks)
    for (int& to : row) to = static_cast<int>(random() % ranks.size());
  MapPart map(map_to(ranks), rank());
  for (const Path path : {Path::direct, Path::staged}) {
    for (const std::size_t budget : {std::size_t{64} << 10, std::size_t{4} << 20}) {
      const auto views = make_views<HostView<double**, Left>, HostView<char*, Right>>(map.slots());
      write_blocks(views, map);
      const valet::BlockStorage storage = storage_of(views, path);
      const valet::Options options{.budget_bytes = budget};
      valet::Plan plan = map.plan(MPI_COMM_WORLD, storage, Form::to_slots, options);
      const valet::Report report = execute(plan, storage);
      EXPECT_EQ(sum_over_ranks(wrong_elements(views, map, {Form::to_slots}, storage.block_bytes())),
                0);
      expect_within_bound(report);
    }
  }
}

}  // namespace
