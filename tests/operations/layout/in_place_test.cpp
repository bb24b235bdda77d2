// SPDX-License-Identifier: BSD-3-Clause

// The promise of redistribute_in_place(): the same, inside one array with room for the larger part.

#include "moved_arrays.hpp"
#include "named_budget.hpp"

namespace valet::test {
namespace {

void expect_moved_in_place(const GridLayout& from, const GridLayout& to, std::size_t element_bytes,
                           IndexOrder order, const LayoutOptions& options) {
  Part before(from, element_bytes, order), after(to, element_bytes, order);
  before.fill();
  std::vector<std::byte> memory = before.bytes();
  memory.resize(std::max(before.bytes().size(), after.bytes().size()), untouched);
  const Report report = redistribute_in_place(
      MPI_COMM_WORLD, from, to, element_bytes,
      {.data = memory.data(), .bytes = memory.size(), .order = order}, options);
  std::copy_n(memory.begin(), after.bytes().size(), after.bytes().begin());
  EXPECT_EQ(sum_over_ranks(after.wrong_bytes()), 0);
  EXPECT_TRUE(all_ranks(report.verified == options.verify));
  const std::uint64_t neighbours = neighbours_of_rank(from, to);
  EXPECT_TRUE(all_ranks(report.neighbours == neighbours));
  const std::uint64_t promised =
      promised_bytes(options.budget_bytes, neighbours, static_cast<std::uint64_t>(size()));
  EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= promised))
      << report.peak_extra_bytes << " of " << promised;
  EXPECT_TRUE(all_ranks(report.extra_bytes_bound == promised));
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(report.blocks_received)),
            sum_over_ranks(static_cast<long long>(report.blocks_sent)));
}

TEST(RedistributeInPlace, DeliversEveryElementBetweenRandomLayouts) {
  const std::uint64_t cases = cases_wanted(size() > 2 ? 80 : 40);
  for (std::uint64_t k = 0; k < cases; ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random(seed() + k);
    RandomGrids grids(random);
    const auto [from, to] = grids.pair();
    constexpr std::array<std::size_t, 8> sizes{1, 2, 3, 4, 8, 12, 16, 64};
    const std::size_t element_bytes = sizes[static_cast<std::size_t>(grids.pick(0, 7))];
    LayoutOptions options;
    options.share_memory = grids.pick(0, 1) == 0;
    options.method = std::array{Method::stream, Method::phased,
                                Method::cyclic}[static_cast<std::size_t>(grids.pick(0, 2))];
    // Pages of a few elements, or so large that all is in fragments.
    options.budget_bytes = grids.pick(0, 2) > 0 ? std::size_t{64} << 10 : std::size_t{4} << 20;
    expect_moved_in_place(from, to, element_bytes, grids.order(), options);
    if (::testing::Test::HasFailure()) return;
  }
}

// Every page of every rank takes part: there is no free memory but the budget.
TEST(RedistributeInPlace, MovesAMatrixOfManyPages) {
  for (const bool share_memory : {true, false})
    expect_moved_in_place({BlockCyclic({600, 500}, {64, 64}, {size(), 1})},
                          {BlockCyclic({600, 500}, {30, 50}, {1, size()})}, 8,
                          IndexOrder::column_major,
                          {.budget_bytes = std::size_t{128} << 10, .share_memory = share_memory});
}

TEST(RedistributeInPlace, TakesAnyMethod) {
  for (const Method method : {Method::stream, Method::direct, Method::phased, Method::cyclic})
    expect_moved_in_place({BlockCyclic({300, 200}, {64, 64}, {size(), 1})},
                          {BlockCyclic({300, 200}, {30, 50}, {1, size()})}, 8,
                          IndexOrder::row_major, {.budget_bytes = 2U << 20, .method = method});
}

// The scratch that a call without shared memory leaves for the next one is as large as its budget.
TEST(RedistributeInPlace, SharesMemoryInPlaceOfScratchThatIsKept) {
  const GridLayout from{BlockCyclic({1500, 1200}, {64, 64}, {size(), 1})};
  const GridLayout to{BlockCyclic({1500, 1200}, {30, 50}, {1, size()})};
  for (const Method method : {Method::phased, Method::stream})
    for (const bool share_memory : {false, true, false, true})
      expect_moved_in_place(from, to, 8, IndexOrder::row_major,
                            {.method = method, .share_memory = share_memory});
}

// All pages at once do not fit: refused before anything has moved.
TEST(RedistributeInPlace, RefusesDirectBeyondTheBudget) {
  if (size() == 1) return;
  const GridLayout from{BlockCyclic({600, 500}, {64, 64}, {size(), 1})};
  const GridLayout to{BlockCyclic({600, 500}, {30, 50}, {1, size()})};
  Part before(from, 8, IndexOrder::row_major), after(to, 8, IndexOrder::row_major);
  before.fill();
  std::vector<std::byte> memory = before.bytes();
  memory.resize(std::max(before.bytes().size(), after.bytes().size()), untouched);
  const std::vector<std::byte> kept = memory;
  const auto outcome = outcome_of([&] {
    redistribute_in_place(MPI_COMM_WORLD, from, to, 8,
                          {.data = memory.data(), .bytes = memory.size()},
                          {.budget_bytes = 128U << 10, .method = Method::direct});
  });
  EXPECT_TRUE(all_ranks(outcome.code == ErrorCode::budget_too_small)) << outcome.text;
  expect_words(outcome.text, {"method direct needs"});
  EXPECT_TRUE(all_ranks(memory == kept));
}

// One number, whatever budgets the ranks had and whatever is kept of earlier calls.
TEST(RedistributeInPlace, SaysWhatBudgetIsNeeded) {
  int refusals = 0;
  constexpr std::array methods{Method::direct, Method::stream, Method::phased, Method::cyclic};
  for (std::uint64_t k = 0; k < cases_wanted(80); ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random(seed() + k);
    RandomGrids grids(random);
    const auto pair = grids.pair();
    const auto& from = pair.first;
    const auto& to = pair.second;
    const std::size_t element_bytes =
        std::array<std::size_t, 4>{1, 8, 24, 200}[static_cast<std::size_t>(grids.pick(0, 3))];
    if (grids.pick(0, 1) == 0)
      expect_moved_in_place(from, to, element_bytes, IndexOrder::row_major,
                            {.budget_bytes = std::size_t{4} << 20, .method = Method::stream});
    LayoutOptions options{.method = methods[k % methods.size()], .verify = k % 2 == 0};
    std::mt19937_64 own(seed() + k + static_cast<std::uint64_t>(rank()));
    options.budget_bytes = own() % (std::size_t{1} << (4 + own() % 14));
    std::vector<std::byte> memory(
        std::max(Part(from, element_bytes, IndexOrder::row_major).bytes().size(),
                 Part(to, element_bytes, IndexOrder::row_major).bytes().size()));
    const Outcome outcome = outcome_of([&] {
      redistribute_in_place(MPI_COMM_WORLD, from, to, element_bytes,
                            {.data = memory.data(), .bytes = memory.size()}, options);
    });
    EXPECT_TRUE(same_on_all_ranks(outcome));
    if (outcome.code == ErrorCode::success) continue;
    ++refusals;
    SCOPED_TRACE(outcome.text);
    ASSERT_EQ(outcome.code, ErrorCode::budget_too_small);
    const std::size_t named = named_budget(outcome.text);
    ASSERT_GT(named, 0U);
    // Ranks may keep a larger one with direct; pages suit the smallest budget of all.
    const bool may_keep = options.method == Method::direct;
    options.budget_bytes = may_keep ? std::max(options.budget_bytes, named) : named;
    expect_moved_in_place(from, to, element_bytes, IndexOrder::row_major, options);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(refusals, 0);
}

TEST(RedistributeInPlace, HandsOverBetweenDisjointGrids) {
  if (size() < 3) return;
  std::vector<int> producers, consumers;
  for (int r = 0; r < size(); ++r) (r % 3 == 1 ? consumers : producers).push_back(r);
  const auto count = [](const std::vector<int>& ranks) { return static_cast<int>(ranks.size()); };
  const GridLayout from{BlockCyclic({60, 50, 40}, {7, 3, 2}, {count(producers), 1, 1}), producers};
  const GridLayout to{BlockCyclic({60, 50, 40}, {5, 50, 1}, {1, 1, count(consumers)}), consumers};
  expect_moved_in_place(from, to, 8, IndexOrder::row_major, {.budget_bytes = 256U << 10});
}

// Most ranks have columns, but no row.
TEST(RedistributeInPlace, MovesFewerRowsThanThereAreRanks) {
  for (const IndexOrder order : {IndexOrder::row_major, IndexOrder::column_major})
    expect_moved_in_place({BlockCyclic({2, 4'000}, {1, 4'000}, {size(), 1})},
                          {BlockCyclic({2, 4'000}, {2, 100}, {1, size()})}, 8, order,
                          {.budget_bytes = 8U << 10});
}

TEST(RedistributeInPlace, MovesCyclicToBlockInFourDimensions) {
  expect_moved_in_place({BlockCyclic::cyclic({20, 10, 8, 6}, {1, size(), 1, 1})},
                        {BlockCyclic::block({20, 10, 8, 6}, {size(), 1, 1, 1})}, 16,
                        IndexOrder::column_major, {.budget_bytes = 64U << 10});
}

}  // namespace
}  // namespace valet::test
