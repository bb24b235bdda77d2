// SPDX-License-Identifier: BSD-3-Clause

// Every block of a random map is where it must be, bit for bit, in arenas that are exactly full,
// with budgets down to the smallest, whatever the lengths and the alignment.
//
// VALET_TEST_CASES says how many maps, and with 1 the VALET_TEST_SEED that a failure names runs its
// map again.

#include "layout_oracle.hpp"
#include "ragged_case.hpp"

namespace valet::test {
namespace {

/// Two of the smallest pages for each destination, and two, as the documentation has it.
std::size_t least_budget(const RaggedBlocks& blocks) {
  std::vector<int> destinations;
  for (const RaggedBlock& block : blocks) destinations.push_back(block.to);
  std::ranges::sort(destinations);
  const auto end = std::unique(destinations.begin(), destinations.end());
  return static_cast<std::size_t>(2 * (end - destinations.begin()) + 2) * 512;
}

Options random_options(std::mt19937_64& random, const RaggedBlocks& blocks) {
  constexpr std::array methods{Method::stream, Method::stream, Method::automatic,
                               Method::phased, Method::cyclic, Method::direct};
  Options options;
  options.method = methods[pick(random, 0, methods.size() - 1)];
  options.order = pick(random, 0, 1) == 0 ? Order::stable : Order::any;
  options.share_memory = pick(random, 0, 1) == 0;
  options.keep_memory = pick(random, 0, 1) == 0;
  options.verify = pick(random, 0, 1) == 0;
  const std::uint64_t budget = pick(random, 0, 3);
  options.budget_bytes = budget == 0   ? least_budget(blocks)
                         : budget == 1 ? 5 * least_budget(blocks) + 100
                         : budget == 2 ? std::size_t{100'000}
                                       : std::size_t{4} << 20;
  // That needs room for all that moves; the phases need lists.
  if (options.method == Method::direct) options.budget_bytes = std::size_t{64} << 20;
  if (options.method == Method::phased)
    options.budget_bytes = std::max<std::size_t>(options.budget_bytes, 100'000);
  return options;
}

/// Other blocks, which go to ranks in a regular way.
void make_regular(std::mt19937_64& random, RaggedCase& c) {
  for (std::size_t r = 0; r < c.before.size(); ++r) {
    c.before[r].clear();
    for (const int to : regular_map(random, c.before.size()))
      c.before[r].push_back(
          {random_length(random, 4), static_cast<int>(r), c.before[r].size(), to});
  }
}

/// RaggedBlocks that are wrong on this rank.
long long wrong_blocks_of(std::uint64_t case_seed, bool is_regular) {
  std::mt19937_64 random(case_seed);
  RaggedCase c = random_case(random, size());
  if (is_regular) make_regular(random, c);
  const OwnBlocks own(c);
  const auto& [before, after, alignment, bytes, count] = own;
  const std::uint64_t spare_bytes = pick(random, 0, 1) == 0 ? 0 : pick(random, 0, 5000);
  const std::uint64_t spare_blocks = pick(random, 0, 1) == 0 ? 0 : pick(random, 0, 50);
  RaggedArrays arrays(before, alignment, bytes + spare_bytes, count + spare_blocks);
  const Options options = random_options(random, before);
  const Report report =
      migrate(MPI_COMM_WORLD, arrays.storage(), before.size(), arrays.ranks, options);
  EXPECT_EQ(report.blocks_before, before.size());
  EXPECT_EQ(report.blocks_after, after.size());
  EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound);
  EXPECT_TRUE(report.plan_from_layout || !is_regular);
  return arrays.wrong(after);
}

TEST(RaggedMigrate, BringsEveryBlockOfRandomMapsWhereItBelongs) {
  const std::uint64_t cases = cases_wanted(500);
  for (std::uint64_t k = 0; k < cases; ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    long long wrong = 0;
    const Outcome outcome = outcome_of([&] { wrong = wrong_blocks_of(seed() + k, k % 3 == 0); });
    ASSERT_EQ(outcome.text, "");
    wrong = sum_over_ranks(wrong);
    ASSERT_EQ(wrong, 0);
    if (!all_ranks(!::testing::Test::HasFailure())) return;
  }
}

/// Every rank sends every third block on, the others stay.
RaggedCase ring_case(std::uint64_t alignment, std::uint64_t blocks, std::uint64_t most_bytes) {
  RaggedCase c;
  c.alignment = alignment;
  std::mt19937_64 random(7);
  for (int r = 0; r < size(); ++r) {
    c.before.emplace_back();
    for (std::uint64_t k = 0; k < blocks; ++k)
      c.before.back().push_back(
          {pick(random, 0, most_bytes), r, k, k % 3 == 0 ? (r + 1) % size() : r});
  }
  return c;
}

TEST(RaggedMigrate, CarriesAPlanOutAgainAndAgain) {
  const RaggedCase c = ring_case(8, 300, 700);
  const OwnBlocks own(c);
  const RaggedBlocks &before = own.before, &after = own.after;
  RaggedArrays first = own.arrays();
  RaggedPlan plan = plan_to_ranks(MPI_COMM_WORLD, first.storage(), before.size(), first.ranks);
  EXPECT_EQ(plan.blocks_before(), before.size());
  EXPECT_EQ(plan.blocks_after(), after.size());
  EXPECT_EQ(plan.required_bytes(), bytes_of(after, c.alignment));
  const std::uint64_t held = plan.extra_bytes();
  for (int repeat = 0; repeat < 3; ++repeat) {
    RaggedArrays arrays = own.arrays();
    const Report report = execute(plan, arrays.storage(), arrays.ranks);
    EXPECT_EQ(sum_over_ranks(arrays.wrong(after)), 0);
    EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound);
    EXPECT_EQ(plan.extra_bytes(), held);
  }
}

TEST(RaggedMigrate, LetsTheArenaGrowBetweenPlanAndExecution) {
  RaggedCase c;  // all to rank 0
  for (int r = 0; r < size(); ++r) {
    c.before.emplace_back();
    for (std::uint64_t k = 0; k < 40; ++k) c.before.back().push_back({100 + 13 * k, r, k, 0});
  }
  const RaggedBlocks& before = c.before[static_cast<std::size_t>(rank())];
  const RaggedBlocks after = c.after(rank());
  RaggedArrays small(before, 1, bytes_of(before, 1), before.size());
  RaggedPlan plan = plan_to_ranks(MPI_COMM_WORLD, small.storage(), before.size(), small.ranks);
  RaggedArrays grown(before, 1, std::max(plan.required_bytes(), bytes_of(before, 1)),
                     std::max<std::uint64_t>(plan.blocks_after(), before.size()));
  execute(plan, grown.storage(), grown.ranks);
  EXPECT_EQ(sum_over_ranks(grown.wrong(after)), 0);
}

TEST(RaggedMigrate, MovesSeveralFieldsUnderOneMap) {
  const RaggedCase c = ring_case(16, 200, 900), other = ring_case(1, 200, 30);
  const auto self = static_cast<std::size_t>(rank());
  const RaggedBlocks after = c.after(rank());
  RaggedBlocks short_blocks = other.before[self];
  for (RaggedBlock& block : short_blocks) block.length /= 2;
  RaggedCase shorter = other;
  for (RaggedBlocks& blocks : shorter.before)
    for (RaggedBlock& block : blocks) block.length /= 2;
  const RaggedBlocks short_after = shorter.after(rank());
  const std::uint64_t room = c.before[self].size() + after.size();
  RaggedArrays a(c.before[self], 16, std::max(bytes_of(c.before[self], 16), bytes_of(after, 16)),
                 room);
  RaggedArrays b(short_blocks, 1, std::max(bytes_of(short_blocks, 1), bytes_of(short_after, 1)),
                 room);
  const RaggedStorage storage({a.field(), b.field()}, {field(a.names), field(b.names)});
  const Options options{.budget_bytes = 20'000};
  migrate(MPI_COMM_WORLD, storage, c.before[self].size(), a.ranks, options);
  EXPECT_EQ(sum_over_ranks(a.wrong(after)), 0);
  EXPECT_EQ(sum_over_ranks(b.wrong(short_after)), 0);
}

TEST(RaggedMigrate, GivesTheSameBytesWhateverTheMethodAndTheBudget) {
  const RaggedCase c = ring_case(4, 400, 2000);
  const OwnBlocks own(c);
  for (const Method method : {Method::stream, Method::phased, Method::cyclic, Method::automatic})
    for (const std::size_t budget : {std::size_t{30'000}, std::size_t{1} << 20}) {
      RaggedArrays arrays = own.arrays();
      const Options options{.budget_bytes = budget, .method = method};
      migrate(MPI_COMM_WORLD, arrays.storage(), own.before.size(), arrays.ranks, options);
      EXPECT_EQ(sum_over_ranks(arrays.wrong(own.after)), 0) << to_string(method) << ", " << budget;
    }
}

TEST(RaggedMigrate, FindsBlocksThatWereSpoiltOnTheWay) {
  if (size() == 1) return;
  const RaggedCase c = ring_case(4, 400, 2000);
  const OwnBlocks own(c);
  const RaggedBlocks& before = own.before;
  RaggedArrays arrays = own.arrays();
  Options options{.verify = true};
  EXPECT_TRUE(
      migrate(MPI_COMM_WORLD, arrays.storage(), before.size(), arrays.ranks, options).verified);
  arrays.fill(before);
  bool spoilt = false;  // once: a second time would fix it
  if (rank() == size() - 1)
    options.progress = [&](const Progress&) {
      if (spoilt) return;
      for (std::byte& byte : arrays.arena.bytes()) byte ^= std::byte{1};
      spoilt = true;
    };
  const Outcome outcome = outcome_of(
      [&] { migrate(MPI_COMM_WORLD, arrays.storage(), before.size(), arrays.ranks, options); });
  expect_error(outcome, ErrorCode::corrupted, {});
}

TEST(RaggedMigrate, KeepsOffsetsWhereThoseAreGiven) {
  RaggedCase c = ring_case(8, 200, 90);
  for (RaggedBlocks& blocks : c.before)
    for (RaggedBlock& block : blocks) block.length *= 8;
  const OwnBlocks own(c);
  const RaggedBlocks &before = own.before, &after = own.after;
  for (const bool verify : {false, true}) {
    RaggedArrays arrays = own.arrays();
    std::vector<std::uint64_t> offsets(own.count + 1, 0);
    for (std::size_t k = 0; k < before.size(); ++k) offsets[k + 1] = offsets[k] + before[k].length;
    RaggedField field = ragged_field_by_offsets(arrays.arena.bytes(), std::span(offsets));
    field.alignment_bytes = 8;
    const Options options{.verify = verify};
    migrate(MPI_COMM_WORLD, RaggedStorage({field}, {valet::field(arrays.names)}), before.size(),
            arrays.ranks, options);
    long long wrong = offsets[0] == 0 ? 0 : 1;
    for (std::size_t k = 0; k < after.size(); ++k) {
      arrays.lengths[k] = after[k].length;
      wrong += offsets[k + 1] - offsets[k] == after[k].length ? 0 : 1;
    }
    EXPECT_EQ(sum_over_ranks(wrong + arrays.wrong(after)), 0);
  }
}

// Every second rank has lengths, the others offsets, which point at the blocks whatever their
// lengths were.
TEST(RaggedMigrate, LetsRanksWithLengthsAndRanksWithOffsetsExchangeBlocks) {
  for (const std::uint64_t alignment : {1, 8, 64}) {
    SCOPED_TRACE("alignment " + std::to_string(alignment));
    const bool has_offsets = rank() % 2 == 1;
    RaggedCase c = ring_case(alignment, 200, 90);
    for (std::size_t r = 1; r < c.before.size(); r += 2)
      for (RaggedBlock& block : c.before[r]) block.length = padded(block.length, alignment);
    const OwnBlocks own(c);
    const RaggedBlocks &before = own.before, &after = own.after;
    RaggedArrays arrays = own.arrays();
    std::vector<std::uint64_t> offsets(own.count + 1, 0);
    for (std::size_t k = 0; k < before.size(); ++k) offsets[k + 1] = offsets[k] + before[k].length;
    RaggedField field = arrays.field();
    if (has_offsets) field.lengths = offsets.data();
    field.are_offsets = has_offsets;
    const RaggedStorage storage({field}, {valet::field(arrays.names)});
    const Options options{.verify = true};
    const Report report = migrate(MPI_COMM_WORLD, storage, before.size(), arrays.ranks, options);
    long long wrong = offsets[0] == 0 ? 0 : 1;
    for (std::size_t k = 0; has_offsets && k < after.size(); ++k) {
      arrays.lengths[k] = after[k].length;
      wrong += offsets[k + 1] - offsets[k] == padded(after[k].length, alignment) ? 0 : 1;
    }
    EXPECT_EQ(sum_over_ranks(wrong + arrays.wrong(after)), 0);
    // What came can go on.
    const std::vector<int> stay(report.blocks_after, rank());
    EXPECT_EQ(migrate(MPI_COMM_WORLD, storage, report.blocks_after, stay, options).blocks_after,
              after.size());
  }
}

TEST(RaggedMigrate, DoesWithoutBlocksAndWithoutMemory) {
  std::vector<std::uint64_t> none;
  const RaggedStorage nothing{RaggedField{.lengths = none.data()}};
  const Report report = migrate(MPI_COMM_WORLD, nothing, 0, {});
  EXPECT_EQ(report.blocks_after, 0U);
  // RaggedBlocks without bytes still go where they are sent.
  const auto all = static_cast<std::uint64_t>(size());
  std::vector<std::uint64_t> lengths(3 * all, 0);
  std::vector<int> ranks(3, (rank() + 1) % size());
  const RaggedStorage empty{
      RaggedField{.lengths = lengths.data(), .block_capacity = lengths.size()}};
  EXPECT_EQ(migrate(MPI_COMM_WORLD, empty, 3, ranks).blocks_after, 3U);
}

}  // namespace
}  // namespace valet::test
