// SPDX-License-Identifier: BSD-3-Clause

// The promise of a junction: what one side puts arrives on the other in the other's layout,
// whatever the two are, within the memory that is promised, and a contradiction is one error on
// both sides.

#include "named_budget.hpp"
#include "numbered_cases.hpp"
#include "two_sides.hpp"
#include <valet/junction.hpp>

namespace valet::test {
namespace {

/// What a junction promises to take beside the application's memory, with descriptions of layouts
/// of less than 16 KiB.
std::uint64_t promised(const Report& report, const JunctionOptions& options) {
  return options.budget_bytes + (64U << 10) + 256 * report.neighbours +
         64 * static_cast<std::uint64_t>(size()) + (16U << 10);
}

/// One side's part of an array that goes through a junction once.
void exchange_array(Junction& junction, bool puts, const GridLayout& layout, int rank,
                    const JunctionOptions& options, Element first) {
  std::vector<Element> values(elements_of(layout, rank), untouched);
  if (puts)
    for_every_local(layout, rank,
                    [&](std::size_t k, Element number) { values[k] = first + number; });
  const Report report = puts ? junction.put(std::span<const Element>(values), layout).wait()
                             : junction.get(std::span(values), layout).wait();
  long long wrong = 0;
  for_every_local(layout, rank, [&](std::size_t k, Element number) {
    wrong += values[k] == first + number ? 0 : 1;
  });
  EXPECT_EQ(sum_over_ranks(wrong), 0);
  EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= report.extra_bytes_bound));
  EXPECT_TRUE(all_ranks(report.extra_bytes_bound <= promised(report, options)));
  EXPECT_TRUE(all_ranks(report.verified == options.verify));
}

/// The budget that the error of a smaller one names.
std::size_t least_budget(const TwoSides& sides, const GridLayout& layout) {
  Junction junction = Junction::connect(sides.between(), "least", {.budget_bytes = 1});
  std::vector<Element> values(elements_of(layout, sides.own_rank));
  const Outcome outcome = outcome_of([&] {
    (sides.is_first ? junction.put(std::span<const Element>(values), layout)
                    : junction.get(std::span(values), layout))
        .wait();
  });
  EXPECT_TRUE(outcome.code == ErrorCode::success || outcome.code == ErrorCode::budget_too_small);
  return std::max<std::size_t>(named_budget(outcome.text), 1);
}

TEST(Junction, BringsRandomArraysFromOneLayoutToAnother) {
  if (size() < 2) return;
  const std::uint64_t cases = cases_wanted(60);
  for (std::uint64_t k = 0; k < cases; ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random(seed() + k);
    const TwoSides sides(static_cast<int>(pick(random, 1, static_cast<std::size_t>(size() - 1))));
    const BlockCyclic::Extents extents = some_extents(random);
    const int first_ranks = sides.is_first ? sides.own_ranks : sides.other_ranks;
    const GridLayout first = some_layout(random, extents, first_ranks);
    const GridLayout second = some_layout(random, extents, size() - first_ranks);
    JunctionOptions options;
    options.verify = pick(random, 0, 1) == 0;
    options.share_memory = pick(random, 0, 1) == 0;
    if (pick(random, 0, 1) == 0)
      options.budget_bytes = least_budget(sides, sides.is_first ? first : second);
    Junction junction = Junction::connect(sides.between(), "test", options);
    EXPECT_EQ(junction.ranks(), sides.own_ranks);
    EXPECT_EQ(junction.other_ranks(), sides.other_ranks);
    for (Element step = 0; step < 3; ++step)  // there, back, and there
      exchange_array(junction, sides.is_first == (step != 1), sides.is_first ? first : second,
                     sides.own_rank, options, step);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Junction, WaitsForTheOtherSideOnlyWhenAsked) {
  if (size() < 2) return;
  const TwoSides sides(1);
  Junction junction = Junction::connect(sides.between(), "test", {.budget_bytes = 4096});
  const GridLayout layout{BlockCyclic::block({10'000}, {sides.own_ranks})};
  const std::size_t count = elements_of(layout, sides.own_rank);
  std::vector<Element> one(count), two(count);
  for_every_local(layout, sides.own_rank, [&](std::size_t k, Element number) {
    if (!sides.is_first) return;
    one[k] = number;
    two[k] = ~number;
  });
  const auto begin = [&](std::vector<Element>& values, const char* label) {
    return sides.is_first ? junction.put(std::span(values), layout, label)
                          : junction.get(std::span(values), layout, label);
  };
  JunctionTransfer first = begin(one, "one");
  JunctionTransfer second = begin(two, "two");
  EXPECT_FALSE(second.is_ready()) << "the one before is not over";
  while (!first.is_ready()) {
  }
  second.wait();
  EXPECT_TRUE(first.is_ready());
  first.wait();
  expect_thrown(ErrorCode::invalid_argument, {"waited for already"}, [&] { first.wait(); });
  long long wrong = 0;
  for_every_local(layout, sides.own_rank, [&](std::size_t k, Element number) {
    wrong += one[k] == number && two[k] == ~number ? 0 : 1;
  });
  EXPECT_EQ(sum_over_ranks(wrong), 0);
}

TEST(Junction, GivesAnArrayToSeveralConsumers) {
  if (size() < 3) return;
  // Rank 0 produces; rank 1 and all others are two consumers.
  const int group = std::min(rank(), 2);
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, group, 0, &own);
  std::vector<Junction> junctions;
  for (const int consumer : {1, 2}) {
    if (group != 0 && group != consumer) continue;
    MPI_Comm between = MPI_COMM_NULL;
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, group == 0 ? consumer : 0, consumer, &between);
    junctions.push_back(Junction::connect(between, "consumer"));
    MPI_Comm_free(&between);
  }
  const int ranks = junctions.front().ranks();
  const GridLayout layout{
      group == 1 ? BlockCyclic::cut_at({{0, 1, 500}}) : BlockCyclic::cyclic({500}, {ranks}),
      group == 1 ? std::vector{0, 0} : std::vector<int>{}};
  const int own_rank = std::max(rank() - 2, 0);
  std::vector<Element> values(elements_of(layout, own_rank));
  for (Element step = 0; step < 5; ++step) {
    if (group == 0) {
      for_every_local(layout, 0, [&](std::size_t k, Element number) { values[k] = step + number; });
      const std::span<const Element> put(values);
      JunctionTransfer first = junctions[0].put(put, layout),
                       second = junctions[1].put(put, layout);
      second.wait();
      first.wait();
    } else {
      junctions[0].get(std::span(values), layout).wait();
    }
    long long wrong = 0;
    for_every_local(layout, own_rank, [&](std::size_t k, Element number) {
      wrong += values[k] == step + number ? 0 : 1;
    });
    EXPECT_EQ(wrong, 0);
  }
  junctions.clear();
  MPI_Comm_free(&own);
}

/// Particles of a producer, each for a rank of the consumer.
TEST(Junction, BringsBlocksToTheirRanks) {
  if (size() < 2) return;
  for (std::uint64_t k = 0; k < 20; ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random(seed() + k);
    const TwoSides sides(static_cast<int>(pick(random, 1, static_cast<std::size_t>(size() - 1))));
    JunctionOptions options;
    options.budget_bytes = pick(random, 0, 1) == 0 ? 512 : std::size_t{4} << 20;
    options.verify = pick(random, 0, 1) == 0;
    Junction junction = Junction::connect(sides.between(), "test", options);
    const bool puts = sides.is_first == (k % 2 == 0);
    std::mt19937_64 own(seed() + 1000 * k + static_cast<std::uint64_t>(rank()));
    const std::size_t count = puts ? pick(own, 0, 200) : 0;
    std::vector<int> ranks(count);
    std::vector<Element> ids(count);
    std::vector<double> weights(count);
    for (std::size_t b = 0; b < count; ++b) {
      ranks[b] = static_cast<int>(pick(own, 0, static_cast<std::size_t>(sides.other_ranks - 1)));
      ids[b] = static_cast<Element>(sides.own_rank) << 32U | b;
      weights[b] = ranks[b] + 0.5;
    }
    const std::vector<Element> before = ids;
    if (puts) {
      const Report report = junction.put({field(ids), field(weights)}, count, ranks).wait();
      EXPECT_EQ(report.blocks_sent, count);
      EXPECT_EQ(ids, before) << "what was put has changed";
    } else {
      const auto grow = [&](std::uint64_t blocks) {
        ids.resize(blocks);
        weights.resize(blocks);
        return BlockStorage{field(ids), field(weights)};
      };
      const Report report = junction.get(grow).wait();
      EXPECT_EQ(report.blocks_after, ids.size());
      EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end())) << "not by source rank and slot";
      for (const double weight : weights) EXPECT_EQ(weight, sides.own_rank + 0.5);
    }
    EXPECT_EQ(sum_over_ranks(static_cast<long long>(puts ? count : 0)),
              sum_over_ranks(static_cast<long long>(puts ? 0 : ids.size())));
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Junction, BringsNumberedBlocksIntoTheOtherLayout) {
  if (size() < 2) return;
  const TwoSides sides(1);
  Junction junction = Junction::connect(sides.between(), "test");
  constexpr std::int64_t objects = 101;
  const std::vector<ObjectLayout> layouts{
      ObjectLayout::cyclic(3), ObjectLayout::balanced(), ObjectLayout::cyclic(1),
      ObjectLayout::tiles(BlockCyclic({1, objects}, {1, 7}, {1, sides.own_ranks}))};
  for (std::size_t l = 0; l < layouts.size(); ++l) {
    const ObjectLayout& layout = layouts[sides.is_first ? l : layouts.size() - 1 - l];
    // The oracle: the owner of each number by the definitions of the layouts.
    std::vector<Element> due;
    for (std::int64_t g = 0; g < objects; ++g) {
      const auto block = static_cast<std::int64_t>(layout.tiling ? 7 : layout.block_size);
      std::int64_t owner = 0;
      if (block > 0) {
        owner = g / block % sides.own_ranks;
      } else {
        while (g >= (2 * objects * (owner + 1) + sides.own_ranks) / (2 * sides.own_ranks)) ++owner;
      }
      if (owner == sides.own_rank) due.push_back(static_cast<Element>(g));
    }
    std::vector<Element> ids = due;
    if (sides.is_first) {
      junction.put({field(ids)}, ids.size(), layout).wait();
    } else {
      std::fill(ids.begin(), ids.end(), untouched);
      junction.get({field(ids)}, layout).wait();
    }
    EXPECT_TRUE(all_ranks(ids == due));
  }
}

TEST(Junction, BringsNumberedBlocksOfDifferentSizesIntoTheOtherLayout) {
  if (size() < 2) return;
  const std::uint64_t cases = cases_wanted(30);
  for (std::uint64_t k = 0; k < cases; ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random(seed() + k);
    const TwoSides sides(static_cast<int>(pick(random, 1, static_cast<std::size_t>(size() - 1))));
    JunctionOptions options;
    options.verify = pick(random, 0, 1) == 0;
    options.budget_bytes = pick(random, 0, 1) == 0 ? 200 : std::size_t{4} << 20;
    Junction junction = Junction::connect(sides.between(), "test", options);
    const std::size_t objects = pick(random, 1, 300);
    const int first_ranks = sides.is_first ? sides.own_ranks : sides.other_ranks;
    const ObjectLayout first = some_numbering(random, objects, first_ranks),
                       second = some_numbering(random, objects, size() - first_ranks);
    const std::vector<Element> own =
        numbers_in(sides.is_first ? first : second, objects, sides.own_rank, sides.own_ranks);
    const bool puts = sides.is_first == (k % 2 == 0), by_offsets = pick(random, 0, 1) == 0;
    NumberedLists lists(own);
    const RaggedStorage storage = lists.storage(by_offsets == puts);
    if (puts) lists.fill(own, by_offsets == puts);
    const Report report =
        puts ? junction.put(storage, own.size(), sides.is_first ? first : second, "lists").wait()
             : junction.get(storage, sides.is_first ? first : second, "lists").wait();
    EXPECT_TRUE(all_ranks(lists.has(own, by_offsets == puts)));
    EXPECT_EQ(report.blocks_after, puts ? 0 : own.size());
    EXPECT_EQ(report.verified, options.verify);
    EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound);
    EXPECT_LE(report.extra_bytes_bound,
              promised(report, options) + 320 * static_cast<unsigned>(size()) + 104 * own.size());
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Junction, BringsBlocksOfDifferentSizes) {
  if (size() < 2) return;
  const TwoSides sides(1);
  Junction junction = Junction::connect(sides.between(), "test");
  const std::size_t count = sides.is_first ? 30 : 0;
  std::vector<std::uint64_t> lengths(100);
  std::vector<std::uint32_t> values(2000);
  std::vector<int> ranks(count);
  std::size_t value = 0;
  for (std::size_t b = 0; b < count; ++b) {
    lengths[b] = 4 * (b % 7);
    for (std::size_t v = 0; v < b % 7; ++v) values[value++] = static_cast<std::uint32_t>(b);
    ranks[b] = static_cast<int>(b) % sides.other_ranks;
  }
  const RaggedStorage storage{ragged_field(std::span(values), std::span(lengths))};
  if (sides.is_first) {
    junction.put(storage, count, ranks).wait();
  } else {
    const Report report = junction.get(storage).wait();
    std::size_t at = 0, block = 0;
    for (std::size_t b = static_cast<std::size_t>(sides.own_rank); b < 30;
         b += static_cast<std::size_t>(sides.own_ranks), ++block) {
      EXPECT_EQ(lengths[block], 4 * (b % 7));
      for (std::size_t v = 0; v < b % 7; ++v) EXPECT_EQ(values[at++], b);
    }
    EXPECT_EQ(report.blocks_after, block);
  }
}

}  // namespace
}  // namespace valet::test
