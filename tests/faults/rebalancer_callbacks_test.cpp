// SPDX-License-Identifier: BSD-3-Clause

// Coordinates and weights that cannot be read on one rank, and progress that throws: all ranks
// report it, before anything moves, or with every block in its place.

#include "throwing.hpp"
#include <valet/zoltan/rebalancer.hpp>

#include <type_traits>

namespace valet::test {
namespace {

using namespace zoltan;

constexpr std::uint64_t objects = 30;

/// What reads a number is called in the middle of Zoltan, too: the compiler refuses what may throw.
static_assert(!std::is_assignable_v<decltype(zoltan::Column::read)&, double (*)(const std::byte*)>);

/// Objects with one coordinate, which says whose they were.
struct Objects {
  std::vector<double> place = std::vector<double>(4 * objects);
  std::vector<int> number = std::vector<int>(place.size());

  void fill() {
    for (std::size_t k = 0; k < objects; ++k) {
      place[k] = static_cast<double>(k);
      number[k] = static_cast<int>(objects) * rank() + static_cast<int>(k);
    }
  }
  [[nodiscard]] BlockStorage storage() { return {field(place), field(number)}; }
  [[nodiscard]] bool is_untouched() const {
    Objects before;
    before.fill();
    return number == before.number;
  }
};

class ThrowingSource : public testing::TestWithParam<bool> {};

TEST_P(ThrowingSource, IsReportedOnAllRanksBeforeAnythingMoves) {
  Objects all;
  Throwing throwing;
  Rebalancer rebalancer(MPI_COMM_WORLD);
  const ColumnSource source = zoltan::array_columns(all.place.data(), all.place.size(), 1);
  const ColumnSource throws = [&] {
    throwing.called();
    return source();
  };
  const bool of_weights = GetParam();
  rebalancer.coordinates(of_weights ? source : throws);
  if (of_weights) rebalancer.weights(throws);
  const Operation operation{
      .name = of_weights ? "reading weights" : "reading coordinates",
      .consequence = "nothing has moved",
      .prepare = [&] { all.fill(); },
      .call = [&] { rebalancer.rebalance(objects, all.storage()); },
      .is_right = [&](bool has_failed) { return !has_failed || all.is_untouched(); }};
  EXPECT_EQ(fail_at_every_call(throwing, operation), 1);
}

INSTANTIATE_TEST_SUITE_P(Sources, ThrowingSource, testing::Bool());

TEST(ThrowingProgress, OfARebalancerIsReportedWithAllBlocksInPlace) {
  Objects all;
  Throwing throwing;
  RebalancerOptions options;
  options.migration.progress = [&](const Progress&) { throwing.called(); };
  options.migration.verify = true;
  Rebalancer rebalancer(MPI_COMM_WORLD, options);
  rebalancer.coordinates(zoltan::array_columns(all.place.data(), all.place.size(), 1));
  const Operation operation{.name = "callback progress",
                            .consequence = "every block is where it belongs",
                            .prepare = [&] { all.fill(); },
                            .call = [&] { rebalancer.rebalance(objects, all.storage()); },
                            .is_right = [](bool) { return true; }};
  EXPECT_GE(fail_at_every_call(throwing, operation), 1);
}

}  // namespace
}  // namespace valet::test
