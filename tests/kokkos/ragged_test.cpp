// SPDX-License-Identifier: BSD-3-Clause

// Blocks of different sizes in Views: with lengths and offsets, in Views that grow, and Views that
// cannot be used.

#include "kokkos_environment.hpp"
#include "ragged_case.hpp"
#include <valet/kokkos/ragged.hpp>

#include <Kokkos_Core.hpp>

namespace valet::test {
namespace {

using Words = Kokkos::View<std::uint64_t*, Kokkos::HostSpace>;
using Bytes = Kokkos::View<std::byte*, Kokkos::HostSpace>;
using Doubles = Kokkos::View<double*, Kokkos::HostSpace>;

/// A random map of blocks of whole doubles.
RaggedCase case_of_doubles(std::uint64_t case_seed) {
  std::mt19937_64 random(case_seed);
  RaggedCase c = random_case(random, size());
  c.alignment = 1;
  for (RaggedBlocks& blocks : c.before)
    for (RaggedBlock& block : blocks) block.length -= block.length % sizeof(double);
  return c;
}

/// Blocks of this rank in Views of a value type, with lengths or offsets and their names.
template <class Values>
struct RaggedViews {
  using Value = typename Values::value_type;

  RaggedViews(const RaggedBlocks& blocks, std::uint64_t bytes, std::uint64_t block_capacity)
      : values("values", bytes / sizeof(Value)),
        lengths("lengths", block_capacity),
        offsets("offsets", block_capacity + 1),
        names("names", block_capacity) {
    auto* next = reinterpret_cast<std::byte*>(values.data());
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      blocks[k].write(next);
      next += blocks[k].length;
      lengths(k) = blocks[k].length;
      offsets(k + 1) = offsets(k) + blocks[k].length / sizeof(Value);
      names(k) = blocks[k].name();
      ranks.push_back(blocks[k].to);
    }
  }

  [[nodiscard]] Field column() const { return valet::field(names.data(), names.extent(0)); }
  /// Blocks that are not where they must be.
  [[nodiscard]] long long wrong(const RaggedBlocks& blocks) const {
    long long count = 0;
    const auto* next = reinterpret_cast<const std::byte*>(values.data());
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      count += names(k) == blocks[k].name() && blocks[k].is_at(next) ? 0 : 1;
      next += blocks[k].length;
    }
    return count;
  }
  [[nodiscard]] long long wrong_lengths(const RaggedBlocks& blocks) const {
    long long count = 0;
    for (std::size_t k = 0; k < blocks.size(); ++k) count += lengths(k) == blocks[k].length ? 0 : 1;
    return count;
  }

  Values values;
  Words lengths, offsets, names;
  std::vector<int> ranks;
};

template <class Values>
void expect_moved(const RaggedCase& c, std::uint64_t budget_bytes) {
  const auto [before, after, alignment, bytes, count] = OwnBlocks(c);
  const RaggedViews<Values> views(before, bytes, count);
  const RaggedStorage storage({kokkos::ragged_field(views.values, views.lengths)},
                              {views.column()});
  const Options options{.budget_bytes = budget_bytes, .verify = true};
  const Report report = migrate(MPI_COMM_WORLD, storage, before.size(), views.ranks, options);
  EXPECT_EQ(report.blocks_after, after.size());
  EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound);
  EXPECT_EQ(sum_over_ranks(views.wrong(after) + views.wrong_lengths(after)), 0);
}

TEST(KokkosRagged, MovesBlocksOfRandomMaps) {
  for (std::uint64_t k = 0; k < 20; ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    expect_moved<Bytes>(case_of_doubles(seed() + k), k % 2 == 0 ? 20'000 : 1 << 20);
    expect_moved<Doubles>(case_of_doubles(seed() + k), k % 2 == 0 ? 1 << 20 : 20'000);
  }
}

/// One block of r + 1 words from each rank r to the last one, whose Views are too small.
TEST(KokkosRagged, GrowingViewsAreResizedWhereTheyMust) {
  for (const bool offsets : {false, true}) {
    const auto mine = static_cast<std::size_t>(rank()) + 1, all = static_cast<std::size_t>(size());
    Words values("values", mine), words("words", offsets ? 2 : 1);
    Kokkos::deep_copy(values, mine);
    words(offsets ? 1 : 0) = 8 * mine;
    const RaggedStorage storage(
        {offsets ? kokkos::ragged_field_by_offsets(growing(values), growing(words))
                 : kokkos::ragged_field(growing(values), growing(words))});
    migrate(MPI_COMM_WORLD, storage, 1, std::vector<int>{size() - 1});
    if (rank() != size() - 1) continue;
    ASSERT_EQ(words.extent(0), all + (offsets ? 1 : 0));
    ASSERT_EQ(values.extent(0), all * (all + 1) / 2);
    std::size_t at = 0;  // its own block comes first
    for (std::size_t k = 0; k < all; ++k) {
      const std::size_t length = k == 0 ? all : k;
      EXPECT_EQ(offsets ? words(k + 1) - words(k) : words(k), 8 * length);
      for (std::size_t v = 0; v < length; ++v) EXPECT_EQ(values(at++), length);
    }
  }
}

/// Rank 0 gives a block of one word to each rank; others have neither a word nor an offset.
TEST(KokkosRagged, GrowingViewsMayHaveNoOffsetYet) {
  const std::size_t mine = rank() == 0 ? static_cast<std::size_t>(size()) : 0;
  Words values("values", mine), offsets("offsets", mine == 0 ? 0 : mine + 1);
  std::vector<int> to(mine);
  std::iota(to.begin(), to.end(), 0);
  for (std::size_t k = 0; k < mine; ++k) {
    values(k) = k;
    offsets(k + 1) = 8 * (k + 1);
  }
  const RaggedStorage storage({kokkos::ragged_field_by_offsets(growing(values), growing(offsets))});
  EXPECT_EQ(migrate(MPI_COMM_WORLD, storage, mine, to).blocks_after, 1U);
  EXPECT_EQ(offsets.extent(0), mine == 0 ? 2 : mine + 1);
  EXPECT_EQ(offsets(1), 8U);
  EXPECT_EQ(values(0), static_cast<std::uint64_t>(rank()));
}

TEST(KokkosRagged, KeepsOffsetsThatCountValues) {
  for (std::uint64_t k = 0; k < 20; ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    const RaggedCase c = case_of_doubles(seed() + k);
    const auto [before, after, alignment, bytes, count] = OwnBlocks(c);
    const RaggedViews<Doubles> views(before, bytes, count);
    kokkos::values_to_bytes<double>(views.offsets);
    const RaggedStorage storage({kokkos::ragged_field_by_offsets(views.values, views.offsets)},
                                {views.column()});
    migrate(MPI_COMM_WORLD, storage, before.size(), views.ranks);
    kokkos::bytes_to_values<double>(views.offsets);
    long long wrong = views.wrong(after) + (views.offsets(0) == 0 ? 0 : 1);
    for (std::size_t b = 0; b < after.size(); ++b)
      wrong += views.offsets(b + 1) - views.offsets(b) == after[b].length / sizeof(double) ? 0 : 1;
    EXPECT_EQ(sum_over_ranks(wrong), 0);
  }
}

/// All blocks of all ranks to rank 0.
RaggedCase case_to_first() {
  RaggedCase c;
  for (int r = 0; r < size(); ++r) {
    c.before.emplace_back();
    for (std::uint64_t k = 0; k < 40; ++k) c.before.back().push_back({8 * (k % 9), r, k, 0});
  }
  return c;
}

TEST(KokkosRagged, LetsViewsGrowBetweenPlanAndExecution) {
  const RaggedCase c = case_to_first();
  const RaggedBlocks& before = c.before[static_cast<std::size_t>(rank())];
  const RaggedBlocks after = c.after(rank());
  RaggedViews<Doubles> views(before, bytes_of(before, 1), before.size());
  const auto storage_of = [&] {
    return RaggedStorage({kokkos::ragged_field(views.values, views.lengths)}, {views.column()});
  };
  RaggedStorage storage = storage_of();
  RaggedPlan plan = plan_to_ranks(MPI_COMM_WORLD, storage, before.size(), views.ranks);
  EXPECT_EQ(plan.blocks_after(), after.size());
  EXPECT_EQ(plan.required_bytes(), bytes_of(after, 1));
  if (size() > 1) {
    const Outcome outcome = outcome_of([&] { execute(plan, storage, views.ranks); });
    expect_error(outcome, ErrorCode::infeasible, {"ragged field 'values'"});
    EXPECT_EQ(sum_over_ranks(views.wrong(before)), 0);
  }
  if (plan.required_bytes() > views.values.extent(0) * sizeof(double))
    Kokkos::resize(views.values, plan.required_bytes() / sizeof(double));
  if (plan.blocks_after() > views.lengths.extent(0)) {
    Kokkos::resize(views.lengths, plan.blocks_after());
    Kokkos::resize(views.names, plan.blocks_after());
  }
  storage = storage_of();
  execute(plan, storage, views.ranks);
  EXPECT_EQ(sum_over_ranks(views.wrong(after) + views.wrong_lengths(after)), 0);
}

TEST(KokkosRagged, KeepsTheViewsAlive) {
  Words lengths("lengths", 1);
  const RaggedField field = kokkos::ragged_field(Doubles("values", 100), lengths);
  EXPECT_EQ(lengths.use_count(), 2);
  lengths = Words();
  static_cast<double*>(field.data)[99] = 1.5;  // the sanitizers would say
  field.lengths[0] = 800;
  const std::vector<int> to_first(1, rank());
  EXPECT_EQ(migrate(MPI_COMM_WORLD, RaggedStorage({field}), 1, to_first).blocks_after, 1U);
  EXPECT_EQ(static_cast<double*>(field.data)[99], 1.5);
}

TEST(KokkosRagged, TakesStridedViewsThatAreContiguous) {
  using Strided = Kokkos::View<double*, Kokkos::LayoutStride, Kokkos::HostSpace>;
  const Kokkos::View<double* [2], Kokkos::LayoutRight, Kokkos::HostSpace> pairs("pairs", 8);
  const Words lengths("lengths", 4);
  const Doubles whole("whole", 8);
  const std::vector<int> ranks(1, (rank() + 1) % size());
  lengths(0) = 16;
  whole(1) = 10 + rank();
  const auto moved = [&](const Strided& values) {
    return outcome_of([&] {
      migrate(MPI_COMM_WORLD, RaggedStorage({kokkos::ragged_field(values, lengths)}), 1, ranks);
    });
  };
  EXPECT_EQ(moved(whole).text, "");
  EXPECT_TRUE(all_ranks(whole(1) == 10 + (rank() + size() - 1) % size()));
  // Every second value, on one rank alone.
  const Strided second = Kokkos::subview(pairs, Kokkos::ALL, 1);
  const Outcome outcome = moved(rank() == size() - 1 ? second : Strided(whole));
  expect_error(outcome, ErrorCode::invalid_argument, {});
  const std::string culprit =
      "rank " + std::to_string(size() - 1) + ": the values of View 'pairs' are 2 apart";
  expect_words(outcome.text, {culprit});
}

TEST(KokkosRagged, RefusesOffsetsThatCountValues) {
  const Doubles values("values", 100);
  const Words offsets("offsets", 3);
  offsets(1) = 3;
  offsets(2) = 5;
  const std::vector<int> ranks(2, rank());
  const Outcome outcome = outcome_of([&] {
    const RaggedField field = kokkos::ragged_field_by_offsets(values, offsets, "rows");
    migrate(MPI_COMM_WORLD, RaggedStorage({field}), 2, ranks);
  });
  expect_error(outcome, ErrorCode::invalid_argument, {});
  const std::string words =
      "ragged field 'rows' has 3 as its offset 1, no multiple of its alignment";
  expect_words(outcome.text, {words});
}

TEST(KokkosRagged, RefusesLengthsThatCountValues) {
  const Doubles values("values", 100);
  const Words lengths("lengths", 2);
  lengths(0) = 8;
  lengths(1) = 5;
  const std::vector<int> ranks(2, rank());
  const Outcome outcome = outcome_of([&] {
    migrate(MPI_COMM_WORLD, RaggedStorage({kokkos::ragged_field(values, lengths)}), 2, ranks);
  });
  expect_error(outcome, ErrorCode::invalid_argument, {});
  const std::string words =
      "ragged field 'values' has block 1 of 5 bytes, no multiple of the 8 bytes of its values";
  expect_words(outcome.text, {words});
}

}  // namespace
}  // namespace valet::test
