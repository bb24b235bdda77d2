// SPDX-License-Identifier: BSD-3-Clause

// Maps that are layouts, and maps that are nearly: which of them are planned without exchanging
// counts, that the blocks end where the definition says either way, and the memory.

#include "plan/map_layout.hpp"

#include "filled_map.hpp"
#include "layout_oracle.hpp"

#include <map>
#include <tuple>

namespace {
/// Synchronous sends of this rank, which is how counts are exchanged.
long long counts = 0;
/// Calls of this rank in which all ranks take part: reductions, a word of everybody to everybody,
/// a word of everybody for everybody.
struct Collectives {
  long long reductions = 0, gathers = 0, exchanges = 0;
  bool operator==(const Collectives&) const = default;
} collectives;
}  // namespace

extern "C" {
__attribute__((visibility("default"))) int MPI_Issend(const void* buffer, int count,
                                                      MPI_Datatype type, int destination, int tag,
                                                      MPI_Comm comm, MPI_Request* request) {
  ++counts;
  return PMPI_Issend(buffer, count, type, destination, tag, comm, request);
}
__attribute__((visibility("default"))) int MPI_Allreduce(const void* sent, void* received,
                                                         int count, MPI_Datatype type,
                                                         MPI_Op operation, MPI_Comm comm) {
  ++collectives.reductions;
  return PMPI_Allreduce(sent, received, count, type, operation, comm);
}
__attribute__((visibility("default"))) int MPI_Allgather(const void* sent, int count,
                                                         MPI_Datatype type, void* received,
                                                         int of_each, MPI_Datatype received_type,
                                                         MPI_Comm comm) {
  ++collectives.gathers;
  return PMPI_Allgather(sent, count, type, received, of_each, received_type, comm);
}
__attribute__((visibility("default"))) int MPI_Alltoall(const void* sent, int count,
                                                        MPI_Datatype type, void* received,
                                                        int of_each, MPI_Datatype received_type,
                                                        MPI_Comm comm) {
  ++collectives.exchanges;
  return PMPI_Alltoall(sent, count, type, received, of_each, received_type, comm);
}
}

namespace valet::test {
namespace {

using Maps = std::vector<std::vector<int>>;  // per rank and block

/// As Zoltan's CYCLIC does it, with blocks: all blocks of all ranks in a row are cyclic.
Maps cyclic_in_a_row(std::mt19937_64& random, std::size_t ranks) {
  const std::uint64_t block = pick(random, 1, 4);
  Maps maps(ranks);
  std::uint64_t number = 0;
  for (auto& map : maps)
    for (std::uint64_t k = pick(random, 0, 30); k > 0; --k, ++number)
      map.push_back(static_cast<int>(number / block % ranks));
  return maps;
}

/// Every rank in a way of its own; some have nothing.
Maps regular_by_each(std::mt19937_64& random, std::size_t ranks) {
  Maps maps(ranks);
  for (auto& map : maps)
    if (pick(random, 0, 3) > 0) map = regular_map(random, ranks);
  return maps;
}

/// All ranks in the same way: a matrix of tiles that each rank has a part of, ranks in one order.
Maps regular_in_a_row(std::mt19937_64& random, std::size_t ranks) {
  const std::uint64_t way = random();
  Maps maps(ranks);
  for (auto& map : maps) {
    std::mt19937_64 same(way);
    map = regular_map(same, ranks);
  }
  return maps;
}

/// As Zoltan's BLOCK does it: blocks of any lengths, also none, over all ranks in a row.
Maps cut_in_blocks(std::mt19937_64& random, std::size_t ranks) {
  Maps maps(ranks);
  std::vector<int> row;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    row.insert(row.end(), pick(random, 0, 2) == 0 ? 0 : pick(random, 0, 40),
               static_cast<int>(rank));
  std::size_t next = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::size_t left = row.size() - next;
    const std::size_t count = rank + 1 == ranks ? left : pick(random, 0, left);
    maps[rank].assign(row.begin() + static_cast<std::ptrdiff_t>(next),
                      row.begin() + static_cast<std::ptrdiff_t>(next + count));
    next += count;
  }
  return maps;
}

Maps a_layout(std::mt19937_64& random, std::size_t ranks) {
  switch (pick(random, 0, 3)) {
    case 0: return cyclic_in_a_row(random, ranks);
    case 1: return regular_in_a_row(random, ranks);
    case 2: return cut_in_blocks(random, ranks);
    default: return regular_by_each(random, ranks);
  }
}

/// Other ranks for all blocks of a rank.
void spoil(std::mt19937_64& random, Maps& maps) {
  auto& map = maps[pick(random, 0, maps.size() - 1)];
  map.resize(300);
  for (int& rank : map) rank = static_cast<int>(pick(random, 0, maps.size() - 1));
}
/// Another rank for one block, often the last one of a map; or two maps exchanged. Some of this is
/// regular, too.
void change(std::mt19937_64& random, Maps& maps) {
  auto& map = maps[pick(random, 0, maps.size() - 1)];
  if (map.empty() || pick(random, 0, 3) == 0) {
    std::swap(map, maps.back());
    return;
  }
  const std::size_t k = pick(random, 0, 1) == 0 ? map.size() - 1 : pick(random, 0, map.size() - 1);
  map[k] = static_cast<int>(pick(random, 0, maps.size() - 1));
}

/// The same map with free slots between the blocks.
GlobalMap with_gaps(std::mt19937_64& random, GlobalMap map) {
  for (std::size_t r = 0; r < map.slots.size(); ++r) {
    auto& row = map.destination[r];
    for (std::uint64_t gaps = pick(random, 0, 9); gaps > 0; --gaps)
      row.insert(row.begin() + static_cast<std::ptrdiff_t>(pick(random, 0, row.size())),
                 std::nullopt);
    map.slots[r] = row.size();
  }
  return map;
}

Options random_options(std::mt19937_64& random) {
  constexpr std::array methods{Method::stream, Method::stream, Method::direct, Method::phased,
                               Method::cyclic};
  Options options;
  options.method = methods[pick(random, 0, methods.size() - 1)];
  options.order = all_orders[pick(random, 0, 2)];
  options.share_memory = pick(random, 0, 1) == 0;
  // Receivers must know the message size of every sender, which follows from the sender's budget.
  constexpr std::array<std::size_t, 4> blocks{1, 2, 7, 100};
  const std::size_t own =
      blocks[(pick(random, 0, 3) + static_cast<std::size_t>(rank())) % blocks.size()];
  options.budget_bytes = 40 * (options.method == Method::direct ? 1000 : own);
  return options;
}

/// Plans, moves and checks everything that is promised. @return Whether it was a layout.
bool move(const GlobalMap& map, const Options& options) {
  FilledMap filled(map, rank(), Shape::dense);
  const long long before = counts;
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
  const long long sent = sum_over_ranks(counts - before);
  const Report report = execute(plan, filled.storage());
  const int from_layout = report.plan_from_layout ? 1 : 0;
  EXPECT_EQ(sum_over_ranks(from_layout), from_layout * size()) << "the same on all ranks";
  const bool leaves = sum_over_ranks(static_cast<long long>(report.blocks_sent)) > 0;
  EXPECT_EQ(sent > 0, size() > plan::few_ranks && leaves && !report.plan_from_layout)
      << "counts were exchanged " << sent << " times";
  EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, options.order)), 0);
  EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= report.extra_bytes_bound))
      << report.peak_extra_bytes << " bytes, promised " << report.extra_bytes_bound;
  return report.plan_from_layout;
}

TEST(MapLayout, LayoutsAndNothingElseArePlannedWithoutExchangingCounts) {
  constexpr std::uint64_t maps_tried = 500;  // 2,000 on 1, 2, 3 and 5 ranks
  for (std::uint64_t number = 0; number < maps_tried; ++number) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(number)));
    std::mt19937_64 random(seed() + number);
    Maps maps = a_layout(random, static_cast<std::size_t>(size()));
    const std::uint64_t kind = number % 4;
    if (kind == 2) change(random, maps);
    if (kind == 3) spoil(random, maps);
    GlobalMap map = map_to(maps, pick(random, 0, 3));
    if (pick(random, 0, 1) == 0) map = with_gaps(random, std::move(map));
    const bool is_layout = move(map, random_options(random));
    if (kind != 2) {
      EXPECT_TRUE(is_layout == (kind < 2 || size() == 1)) << "expected a layout: " << (kind < 2);
    }
    ASSERT_TRUE(all_ranks(!HasFailure()));
  }
}

// Few ranks tell each other everything at once: the same as more ranks find out.
TEST(MapLayout, IsKnownToFewRanksAtOnce) {
  if (size() > plan::few_ranks) GTEST_SKIP() << "many ranks";
  const mpi::Channel channel = mpi::Channel::open(MPI_COMM_WORLD);
  Ledger ledger;
  for (std::uint64_t number = 0; number < 1000; ++number) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(number)));
    std::mt19937_64 random(seed() + number);
    Maps maps = a_layout(random, static_cast<std::size_t>(size()));
    if (number % 3 == 1) change(random, maps);
    if (number % 3 == 2) spoil(random, maps);
    // All ascend, and the whole perhaps: a rank without blocks is passed.
    if (number % 6 == 0)
      for (auto& each : maps) {
        each.resize(pick(random, 0, 2) == 0 ? 0 : pick(random, 1, 20));
        for (int& to : each) to = static_cast<int>(pick(random, 0, maps.size() - 1));
        std::ranges::sort(each);
      }
    const std::vector<int>& map = row_of(maps, rank());
    // One that has found something wrong, or whose map is to slots, has no pattern.
    const bool has_pattern = number % 7 > 0 || rank() != static_cast<int>(pick(random, 0, 3));
    const layout::MapPattern mine =
        has_pattern ? layout::recognise(map, size()) : layout::MapPattern{};
    const std::uint64_t detail = pick(random, 1, 1000) + static_cast<std::uint64_t>(rank());
    std::map<int, std::uint64_t> counts_of;
    for (const int to : map)
      if (to != rank()) ++counts_of[to];
    std::vector<mpi::SparseCount> leaving;
    for (const auto& [to, count] : counts_of) leaving.push_back({to, count, detail});
    const std::uint64_t bytes = number % 5 > 0 ? 24 : 8 * (1 + static_cast<std::uint64_t>(rank()));
    const std::uint64_t block_bytes = map.empty() ? 0 : bytes;

    const plan::ToldMaps told(channel, mine, block_bytes, leaving);
    Vector<mpi::SparseCount> listed(ledger), received(ledger);
    told.list_arriving(listed);
    mpi::exchange_sparse_counts(channel, ledger, leaving, received);
    const plan::JointMap few = told.joint();
    const plan::JointMap many = plan::agree_on_map(channel, mine, leaving.size(), block_bytes);
    EXPECT_EQ(few.layout, many.layout);
    EXPECT_EQ(few.degree, many.degree);
    EXPECT_EQ(few.block_bytes, many.block_bytes);
    const long long leave = sum_over_ranks(static_cast<long long>(leaving.size()));
    EXPECT_EQ(many.degree, (static_cast<std::uint64_t>(leave) + maps.size() - 1) / maps.size());
    if (number % 5 > 0) {
      const bool is_known = sum_over_ranks(map.empty() ? 0 : 1) > 0;
      EXPECT_EQ(many.block_bytes, is_known ? bytes : 0);
    }
    const auto words = [](const mpi::SparseCount& c) {
      return std::tuple(c.rank, c.count, c.detail);
    };
    EXPECT_TRUE(std::ranges::equal(listed, received, {}, words, words));
    ASSERT_TRUE(all_ranks(!HasFailure()));
  }
}

/// What planning a map to ranks takes.
Collectives collectives_of(const Maps& maps) {
  FilledMap filled(map_to(maps), rank(), Shape::dense);
  const Options options{.method = Method::stream, .order = Order::fill, .share_memory = false};
  collectives = {};
  const Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
  return collectives;
}

TEST(MapLayout, TakesOneGatherAndNothingThatGrowsWithEveryPair) {
  const auto ranks = static_cast<std::size_t>(size());
  Maps cyclic(ranks), blocks(ranks), resident(ranks), irregular(ranks);
  for (std::size_t r = 0; r < ranks; ++r)
    for (std::size_t k = 0; k < 6 * ranks; ++k) {
      cyclic[r].push_back(static_cast<int>(k % ranks));
      blocks[r].push_back(r == 0 ? std::min<int>(static_cast<int>(k) / 2, 2) : size() - 1);
      resident[r].push_back(static_cast<int>(r));
    }
  std::mt19937_64 random(seed());
  spoil(random, irregular);
  static_cast<void>(collectives_of(cyclic));  // whatever the first plan takes
  if (size() <= plan::few_ranks) {
    for (const Maps* const maps : {&cyclic, &resident, &irregular})
      EXPECT_EQ(collectives_of(*maps), (Collectives{1, 0, 1}));
    return;
  }
  // Is it a layout, the agreement.
  EXPECT_EQ(collectives_of(cyclic), (Collectives{2, 1, 0}));
  EXPECT_EQ(collectives_of(resident), (Collectives{2, 1, 0})) << "whether it ascends or not";
  EXPECT_EQ(collectives_of(blocks), (Collectives{4, 1, 0})) << "does it ascend, and all lengths";
  EXPECT_EQ(collectives_of(irregular), (Collectives{2, 0, 0}));
}

/// What planning the same distribution takes on every rank.
Collectives collectives_of(const std::vector<int>& map) {
  return collectives_of(Maps(static_cast<std::size_t>(size()), map));
}

TEST(MapLayout, TakesOneReductionMoreForWhatHasSeveralParts) {
  if (size() <= plan::few_ranks) return;  // they tell each other everything at once
  std::mt19937_64 random(seed());
  std::vector<int> descending, fewer, tiles;
  for (int k = 0; k < 300; ++k) {
    descending.push_back(size() - 1 - k / 5 % size());
    fewer.push_back(k / 5 % (size() - 1));
    tiles.push_back(k / 30 % 2 == 0 ? k % 2 : 2);
  }
  static_cast<void>(collectives_of(descending));
  EXPECT_EQ(collectives_of(descending), (Collectives{2, 1, 0}));
  EXPECT_EQ(collectives_of(fewer), (Collectives{2, 1, 0}));
  EXPECT_EQ(collectives_of(tiles), (Collectives{3, 1, 0}));
}

TEST(MapLayout, OfOneRankIsNoneWhereOneBlockIsElsewhere) {
  if (size() < 3) GTEST_SKIP() << "with two ranks much is dealt in turn";
  Maps maps(static_cast<std::size_t>(size()));
  for (auto& map : maps)
    for (int k = 0; k < 300; ++k) map.push_back(k / 5 % size());
  EXPECT_TRUE(move(map_to(maps), {}));
  for (const std::size_t k : {11U, 150U, 299U}) {
    Maps changed = maps;
    int& to = changed[1][k];
    to = (to + 1) % size();
    EXPECT_FALSE(move(map_to(changed), {})) << k;
  }
}

TEST(MapLayout, PlanIsExecutedAgainAndTheReportCoversAllRanks) {
  std::mt19937_64 random(seed());
  FilledMap filled(map_to(cyclic_in_a_row(random, static_cast<std::size_t>(size())), 1), rank(),
                   Shape::dense);
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, {});
  for (int round = 0; round < 2; ++round) {
    filled.fill();
    const Report report = summed_over_ranks(execute(plan, filled.storage()), MPI_COMM_WORLD);
    EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, Order::any)), 0);
    EXPECT_TRUE(all_ranks(report.plan_from_layout));
    expect_words(report.to_string(), {"planned from the layout"});
    EXPECT_GT(report.periods, 0U);
    EXPECT_EQ(report.segments > 0, report.blocks_sent > 0);
  }
}

TEST(MapLayout, MapToSlotsIsNone) {
  FilledMap filled(ring_map(size(), 12, 12, 0), rank(), Shape::dense);
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_slots, {});
  EXPECT_TRUE(all_ranks(!execute(plan, filled.storage()).plan_from_layout));
}

TEST(MapLayout, ErrorsAreTheSameAsForOtherMaps) {
  constexpr std::uint64_t slots = 10;
  AddressedBlocks blocks(Shape::dense, slots);
  // Everything goes to rank 0, which has no room for it.
  std::vector<int> map(slots, 0);
  Plan plan = plan_to_ranks(MPI_COMM_WORLD, blocks.storage(), slots, map, {});
  EXPECT_TRUE(all_ranks(plan.required_slots() ==
                        (rank() == 0 ? slots * static_cast<std::uint64_t>(size()) : 0)));
  const Outcome full = outcome_of([&] { execute(plan, blocks.storage()); });
  expect_error(full, size() == 1 ? ErrorCode::success : ErrorCode::infeasible, {});
  // A rank that is not there, at the end of a cyclic map of one rank.
  for (std::size_t k = 0; k < slots; ++k) map[k] = static_cast<int>(k) % size();
  if (rank() == size() - 1) map.back() = size();
  const Outcome bad = outcome_of(
      [&] { static_cast<void>(plan_to_ranks(MPI_COMM_WORLD, blocks.storage(), slots, map, {})); });
  expect_error(bad, ErrorCode::rank_out_of_range, {"slot 9"});
}

// As on many ranks, where each has parts that are too many to tell.
TEST(MapLayout, AscendsWhereARankGoesOnWithTheLastOneOfTheRankBelow) {
  const mpi::Channel channel = mpi::Channel::open(MPI_COMM_WORLD);
  layout::MapPattern mine;
  mine.count = 10;
  mine.first_rank = rank();
  mine.last_rank = rank() + 1;
  const plan::JointPatterns all{.regular = false, .ascending = true, .more_parts = 0};
  EXPECT_EQ(plan::agree_on_layout(channel, mine, all), plan::MapLayout::blocks);
  mine.last_rank = rank() + 2;
  EXPECT_EQ(plan::agree_on_layout(channel, mine, all),
            size() == 1 ? plan::MapLayout::blocks : plan::MapLayout::none);
}

TEST(MapLayout, ManyRanksHoldATableOnlyForManyDestinations) {
  EXPECT_TRUE(plan::worth_a_table(512, 0));
  EXPECT_FALSE(plan::worth_a_table(100'000, 300'000));
  EXPECT_TRUE(plan::worth_a_table(100'000, std::uint64_t{100'000} * 100'000));
}

}  // namespace
}  // namespace valet::test
