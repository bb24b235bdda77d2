// SPDX-License-Identifier: BSD-3-Clause

// The table of least budgets in memory.md: with that budget everything arrives, and with a byte
// less all ranks are told this number. Ranks that are alike, so that it is the same on all.

#include "moved_arrays.hpp"
#include "named_budget.hpp"

namespace valet::test {
namespace {

/// @param call  With this budget; whether all of it is right.
void expect_least(std::uint64_t least, const std::function<bool(std::size_t)>& call) {
  const auto budget = static_cast<std::size_t>(least);
  const Outcome refused = outcome_of([&] { static_cast<void>(call(budget - 1)); });
  ASSERT_EQ(refused.code, ErrorCode::budget_too_small) << refused.text;
  EXPECT_EQ(named_budget(refused.text), least) << refused.text;
  bool is_right = false;
  EXPECT_EQ(outcome_of([&] { is_right = call(budget); }).text, "");
  EXPECT_TRUE(all_ranks(is_right));
}

TEST(LeastBudgets, BlocksOfOneSize) {
  for (const std::size_t block : {1U, 24U, 5000U})
    expect_least(block, [&](std::size_t budget) {
      std::vector<std::byte> blocks(10 * block, static_cast<std::byte>(rank()));
      const std::vector<int> to(10, (rank() + 1) % size());
      Field rows;
      rows.data = blocks.data();
      rows.slots = 10;
      rows.slot_stride_bytes = static_cast<std::ptrdiff_t>(block);
      rows.element_bytes = block;
      migrate(MPI_COMM_WORLD, {rows}, 10, to, {.budget_bytes = budget});
      return std::ranges::count(blocks, static_cast<std::byte>((rank() + size() - 1) % size())) ==
             static_cast<std::ptrdiff_t>(10 * block);
    });
}

TEST(LeastBudgets, BlocksOfDifferentSizes) {
  constexpr std::uint64_t page = 512, list = 4096;
  for (const std::uint64_t columns : {0U, 7U}) {
    const std::uint64_t arrays = 2 + columns;  // one of them the lengths
    const std::uint64_t destinations = static_cast<std::uint64_t>(size());
    const std::uint64_t lists = 2 * destinations * (160 * arrays - 64);
    const std::uint64_t least = (2 * destinations + 2) * page + lists -
                                std::min<std::uint64_t>(lists, 16 << 10) +
                                list * (arrays - std::min<std::uint64_t>(arrays, 5));
    expect_least(least, [&](std::size_t budget) {
      const auto count = static_cast<std::size_t>(size());
      std::vector<std::uint64_t> lengths(2 * count, 3000);
      std::vector<std::uint64_t> bytes(2 * count * 3000 / 8);
      std::fill_n(bytes.begin(), bytes.size() / 2, static_cast<std::uint64_t>(rank()));
      std::vector<std::vector<int>> more(columns, std::vector<int>(2 * count, rank()));
      std::vector<int> to(count);
      for (int r = 0; r < size(); ++r) to[static_cast<std::size_t>(r)] = r;
      RaggedField ragged;
      ragged.data = bytes.data();
      ragged.capacity_bytes = bytes.size() * 8;
      ragged.lengths = lengths.data();
      ragged.block_capacity = lengths.size();
      std::vector<Field> fields;
      for (std::vector<int>& column : more) fields.push_back(field(column));
      migrate(MPI_COMM_WORLD, RaggedStorage(std::vector<RaggedField>{ragged}, fields), count, to,
              {.budget_bytes = budget});
      std::vector<std::uint64_t> sums(count, 0);
      for (std::size_t k = 0; k < count * 3000 / 8; ++k) ++sums[bytes[k]];
      return std::ranges::all_of(sums, [](std::uint64_t sum) { return sum == 3000 / 8; });
    });
  }
}

/// From as many numbers in a row on each rank to single ones in turn.
struct Dealt {
  static constexpr std::size_t element = sizeof(double);
  std::uint64_t ranks = static_cast<std::uint64_t>(size());
  std::uint64_t numbers;  ///< on each rank
  /// What one layout shares with the other: a family of segments for each rank.
  std::uint64_t shared = 40 * ranks + 8 * (ranks + 1);
  GridLayout from{BlockCyclic({as_extent(numbers * ranks)}, {as_extent(numbers)}, {size()})};
  GridLayout to{BlockCyclic({as_extent(numbers * ranks)}, {1}, {size()})};
  Part before{from, element, IndexOrder::row_major}, after{to, element, IndexOrder::row_major};

  explicit Dealt(std::uint64_t on_each_rank) : numbers(on_each_rank) { before.fill(); }
  static std::int64_t as_extent(std::uint64_t value) { return static_cast<std::int64_t>(value); }
};

TEST(LeastBudgets, Redistribute) {
  Dealt dealt(60 * static_cast<std::uint64_t>(size()));
  expect_least(2 * Dealt::element + 2 * dealt.shared, [&](std::size_t budget) {
    redistribute(MPI_COMM_WORLD, dealt.from, dealt.to, Dealt::element, dealt.before.source(),
                 dealt.after.target(), {.budget_bytes = budget});
    return dealt.after.wrong_bytes() == 0;
  });
}

TEST(LeastBudgets, RedistributeInPlace) {
  if (size() == 1) GTEST_SKIP() << "nothing leaves";
  Dealt dealt(60 * static_cast<std::uint64_t>(size()));
  const std::uint64_t part = dealt.numbers * Dealt::element, neighbours = 2 * dealt.ranks;
  const auto needed = [&](std::uint64_t budget) {
    const std::uint64_t share = budget / (4 * dealt.ranks + 4);
    const std::uint64_t buffers = std::max((neighbours + 2) * Dealt::element,
                                           (budget + 1) / 2);  // as n + 2 = (4 * m + 4) / 2
    const std::uint64_t page = std::max<std::uint64_t>(share / Dealt::element, 1) * Dealt::element;
    return 104 * neighbours + 4 * 2 * dealt.ranks + 32 * (part / page) +
           std::max(buffers, dealt.shared);
  };
  std::uint64_t least = 1;
  while (needed(least) > least) ++least;
  expect_least(least, [&](std::size_t budget) {
    std::vector<std::byte> memory = dealt.before.bytes();
    redistribute_in_place(MPI_COMM_WORLD, dealt.from, dealt.to, Dealt::element,
                          {.data = memory.data(), .bytes = memory.size()},
                          {.budget_bytes = budget});
    std::ranges::copy(memory, dealt.after.bytes().begin());
    return dealt.after.wrong_bytes() == 0;
  });
}

// Larger pages need longer buffers, but no step of them may take more than the budget has grown.
TEST(LeastBudgets, NoLargerOneIsRefused) {
  for (const std::uint64_t numbers : {4U, 10U, 33U}) {
    Dealt dealt(numbers);
    bool was_accepted = false;
    for (std::size_t budget = 200; budget < 3000; budget += 8) {
      std::vector<std::byte> memory = dealt.before.bytes();
      memory.resize(std::max(memory.size(), dealt.after.bytes().size()));
      const Outcome outcome = outcome_of([&] {
        redistribute_in_place(MPI_COMM_WORLD, dealt.from, dealt.to, Dealt::element,
                              {.data = memory.data(), .bytes = memory.size()},
                              {.budget_bytes = budget, .method = Method::stream});
      });
      ASSERT_TRUE(outcome.text.empty() || !was_accepted) << outcome.text;
      was_accepted = outcome.text.empty();
    }
    EXPECT_TRUE(was_accepted);
  }
}

TEST(LeastBudgets, AllToAll) {
  const auto ranks = static_cast<std::uint64_t>(size());
  if (ranks == 1) GTEST_SKIP() << "nothing leaves";
  constexpr std::uint64_t each = 5000, element = sizeof(double);
  const std::uint64_t buffer = ranks * each * element;
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (std::uint64_t page = element; page <= 64 << 10; page *= 2)
    least = std::min(least,
                     page + 20 * (buffer / page) + std::min(2 * ranks * (page - element), buffer));
  expect_least(least, [&](std::size_t budget) {
    std::vector<double> numbers(ranks * each, rank());
    const std::vector<std::int64_t> counts(ranks, each);
    alltoallv_in_place(MPI_COMM_WORLD,
                       {.data = numbers.data(),
                        .bytes = numbers.size() * sizeof(double),
                        .element_bytes = sizeof(double)},
                       counts, {}, {.budget_bytes = budget, .method = AlltoallMethod::stream});
    for (std::size_t k = 0; k < numbers.size(); ++k)
      if (numbers[k] != static_cast<double>(k / each)) return false;
    return true;
  });
}

}  // namespace
}  // namespace valet::test
