// SPDX-License-Identifier: BSD-3-Clause

// Maps that ask ranks for more slots than they have, repaired, against what the whole of the map
// says in a plain way: every rank makes all maps, and all maps are brought together afterwards.

#include "counted_new.hpp"
#include "counted_reductions.hpp"
#include "gathered.hpp"
#include "promise.hpp"

namespace valet::test {
namespace {

using Counts = std::vector<std::uint64_t>;

/// Where the blocks of all ranks go (-1: a free slot), and slots for them.
struct AllMaps {
  std::vector<std::vector<int>> ranks;
  Counts slots;
  bool is_masked = false;

  [[nodiscard]] std::size_t size() const { return ranks.size(); }
};

Counts final_counts(const AllMaps& maps) {
  Counts counts(maps.size(), 0);
  for (const auto& row : maps.ranks)
    for (const int to : row)
      if (to >= 0) ++counts[static_cast<std::size_t>(to)];
  return counts;
}

std::uint64_t sum_of(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

/// What each rank may keep, and each further block to the emptiest rank with room.
Counts repaired_counts(const AllMaps& maps) {
  const Counts before = final_counts(maps);
  Counts counts = before;
  std::uint64_t excess = 0;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    counts[r] = std::min(before[r], maps.slots[r]);
    excess += before[r] - counts[r];
  }
  for (; excess > 0; --excess) {
    std::size_t best = counts.size();
    for (std::size_t r = 0; r < counts.size(); ++r)
      if (counts[r] < maps.slots[r] && before[r] <= maps.slots[r] &&
          (best == counts.size() || counts[r] < counts[best]))
        best = r;
    ++counts[best];
  }
  return counts;
}

/// A random map with ranks that nobody sends to and ranks that everybody does, ranks without blocks
/// and without slots; all slots together are enough, now and then just so.
AllMaps random_maps(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t end) { return random() % end; };
  const auto ranks = static_cast<std::uint64_t>(size());
  AllMaps maps;
  maps.is_masked = below(3) == 0;
  const std::uint64_t favourite = below(ranks), favour = below(4);
  for (std::uint64_t r = 0; r < ranks; ++r) {
    maps.ranks.emplace_back(below(5) == 0 ? 0 : below(200));
    for (int& to : maps.ranks.back()) {
      to = static_cast<int>(below(4) < favour ? favourite : below(ranks));
      if (maps.is_masked && below(4) == 0) to = -1;
    }
  }
  const std::uint64_t blocks = sum_of(final_counts(maps));
  maps.slots.assign(ranks, 0);
  for (std::uint64_t left = blocks + (below(3) == 0 ? 0 : below(blocks + 1)); left > 0;) {
    const std::uint64_t some = std::min(left, 1 + below(blocks / ranks + 20));
    const std::uint64_t r = below(ranks);
    if (r == ranks - 1 && left < blocks && below(2) == 0) continue;
    maps.slots[r] += some;
    left -= some;
  }
  if (below(10) == 0) maps.slots[below(ranks)] = std::numeric_limits<std::uint64_t>::max();
  return maps;
}

/// This rank's part of the maps, for the call.
struct OwnMap {
  explicit OwnMap(const AllMaps& maps)
      : is_masked(maps.is_masked),
        ranks(maps.ranks[static_cast<std::size_t>(rank())]),
        slots(maps.slots[static_cast<std::size_t>(rank())]) {
    for (const int to : ranks) mask.push_back(to >= 0 ? 1 : 0);
  }
  [[nodiscard]] Occupied occupied() const {
    return is_masked ? Occupied::masked(mask) : Occupied(ranks.size());
  }
  RepairResult repair() { return valet::repair(MPI_COMM_WORLD, occupied(), ranks, slots); }

  bool is_masked;
  std::vector<int> ranks;
  std::vector<std::uint8_t> mask;
  std::uint64_t slots;
};

/// The repaired maps of all ranks, brought together.
AllMaps all_of(const AllMaps& before, const OwnMap& own) {
  AllMaps after = before;
  after.ranks = gathered(own.ranks);
  for (std::size_t r = 0; r < after.size(); ++r) after.ranks[r].resize(before.ranks[r].size());
  return after;
}

/// The blocks that changed, in the order of old destinations, sources and slots, go to ascending
/// ranks; of each flow they are the last ones, in proportion to what its source sends.
void check_changes(const AllMaps& before, const AllMaps& after, std::uint64_t excess) {
  const Counts counts = final_counts(before);
  std::uint64_t changed = 0;
  int lowest = 0;
  for (std::size_t to = 0; to < before.size(); ++to) {
    if (counts[to] == 0) continue;
    const std::uint64_t surplus = counts[to] - std::min(counts[to], before.slots[to]);
    for (std::size_t from = 0; from < before.size(); ++from) {
      std::uint64_t flow = 0, share = 0;
      for (std::size_t slot = 0; slot < before.ranks[from].size(); ++slot) {
        if (before.ranks[from][slot] != static_cast<int>(to)) continue;
        ++flow;
        const int now = after.ranks[from][slot];
        if (now == static_cast<int>(to)) {
          EXPECT_EQ(share, 0U) << "slot " << slot << " of rank " << from << " is not the last";
          continue;
        }
        ++share;
        EXPECT_GE(now, lowest) << "rank " << from << ", slot " << slot;
        lowest = now;
      }
      changed += share;
      EXPECT_LT(share * counts[to], flow * surplus + counts[to]) << from << " to " << to;
      EXPECT_LT(flow * surplus, share * counts[to] + counts[to]) << from << " to " << to;
    }
  }
  EXPECT_EQ(changed, excess);
}

std::uint64_t changed_here(const AllMaps& before, const OwnMap& own) {
  const auto& row = before.ranks[static_cast<std::size_t>(rank())];
  std::uint64_t changed = 0;
  for (std::size_t slot = 0; slot < row.size(); ++slot) changed += row[slot] != own.ranks[slot];
  return changed;
}

TEST(Repair, HasTheFewestChangesAndTheLeastLargestCount) {
  std::mt19937_64 random(seed());
  const std::uint64_t maps = size() < 2 ? 0 : cases_wanted(size() == 8 ? 1000 : 200);
  for (std::uint64_t test_case = 0, infeasible = 0; infeasible < maps;) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(test_case++)));
    const AllMaps before = random_maps(random);
    const Counts counts = final_counts(before), wanted = repaired_counts(before);
    std::uint64_t excess = 0;
    for (std::size_t r = 0; r < counts.size(); ++r)
      excess += counts[r] - std::min(counts[r], wanted[r]);
    infeasible += excess > 0 ? 1 : 0;
    OwnMap own(before);
    const RepairResult result = own.repair();
    const AllMaps after = all_of(before, own);
    EXPECT_EQ(final_counts(after), wanted);
    for (std::size_t r = 0; r < counts.size(); ++r) EXPECT_LE(wanted[r], before.slots[r]);
    EXPECT_EQ(result.changed_in_all, excess);
    EXPECT_EQ(result.changed, changed_here(before, own));
    check_changes(before, after, excess);
    if (!all_ranks(!HasFailure())) return;
  }
}

TEST(Repair, MakesAMapThatMigrates) {
  constexpr std::uint64_t slots = 60;
  const std::uint64_t count = 55 - 5 * static_cast<std::uint64_t>(rank() % 3);
  std::vector<int> ranks(count, 0);
  std::vector<std::uint64_t> data(slots, 0);
  for (std::uint64_t k = 0; k < count; ++k) data[k] = 100 * static_cast<std::uint64_t>(rank()) + k;
  const long long before = sum_over_ranks(
      static_cast<long long>(std::accumulate(data.begin(), data.end(), std::uint64_t{0})));
  const RepairResult result = repair(MPI_COMM_WORLD, count, ranks, slots);
  const BlockStorage storage{field(data.data(), slots, 1)};
  const Options options{.verify = true};
  const Report report = migrate(MPI_COMM_WORLD, storage, count, ranks, options);
  std::fill(data.begin() + static_cast<std::ptrdiff_t>(report.blocks_after), data.end(), 0);
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(
                std::accumulate(data.begin(), data.end(), std::uint64_t{0}))),
            before);
  EXPECT_EQ(result.changed_in_all > 0, size() > 1);
}

TEST(Repair, EmptiesARankWithoutSlots) {
  std::vector<int> ranks(40, rank());
  const std::uint64_t slots = rank() == 0 && size() > 1 ? 0 : 100;
  const RepairResult result = repair(MPI_COMM_WORLD, ranks.size(), ranks, slots);
  if (size() == 1) {
    EXPECT_EQ(result.changed_in_all, 0U);
    return;
  }
  EXPECT_EQ(result.changed_in_all, 40U);
  EXPECT_EQ(result.changed, rank() == 0 ? 40U : 0U);
  EXPECT_EQ(std::count(ranks.begin(), ranks.end(), 0), 0);
}

// A map that fits costs what finding that out costs: no table, no third reduction.
TEST(Repair, OfAMapThatFitsIsTwoReductions) {
  std::vector<int> ranks(40, (rank() + 1) % size()), before = ranks;
  static_cast<void>(repair(MPI_COMM_WORLD, ranks.size(), ranks, 40));
  const int first = reductions;
  const RepairResult result = repair(MPI_COMM_WORLD, ranks.size(), ranks, 40);
  EXPECT_EQ(reductions - first, 2);
  EXPECT_EQ(result.changed + result.changed_in_all, 0U);
  EXPECT_EQ(ranks, before);
}

TEST(Repair, TakesNoMoreMemoryThanPromised) {
  const std::uint64_t blocks = 300'000;
  std::vector<int> ranks(blocks), again;
  std::mt19937_64 random(seed() + static_cast<std::uint64_t>(rank()));
  for (int& to : ranks)
    to = static_cast<int>(random() % 3 * random() % static_cast<std::uint64_t>(size()));
  again = ranks;
  static_cast<void>(repair(MPI_COMM_WORLD, blocks, again, blocks));
  again = ranks;
  const AskedBytes asked;
  static_cast<void>(repair(MPI_COMM_WORLD, blocks, again, blocks));
  const auto others = static_cast<std::uint64_t>(size() - 1);
  EXPECT_LE(asked.most(), promised_bytes(0, others, others + 1));
}

/// An error that all ranks get alike, and that changes no map.
void expect_refused(const Occupied& occupied, std::vector<int> ranks, std::uint64_t slots,
                    ErrorCode code, const std::string& text) {
  const std::vector<int> before = ranks;
  const Outcome outcome =
      outcome_of([&] { static_cast<void>(repair(MPI_COMM_WORLD, occupied, ranks, slots)); });
  expect_error(outcome, code, {text});
  EXPECT_EQ(ranks, before);
}

TEST(Repair, RefusesMoreBlocksThanSlotsWithTheNumbers) {
  const std::string all = std::to_string(40 * size()), slots = std::to_string(39 * size());
  expect_refused(40, std::vector<int>(40, 0), 39, ErrorCode::infeasible,
                 "the map has " + all + " blocks, but all ranks together have " + slots +
                     " slots, " + std::to_string(size()) + " too few");
}

TEST(Repair, RefusesRanksThatThereAreNot) {
  std::vector<int> ranks(40, 0);
  if (rank() == size() - 1) ranks[33] = size();
  const std::string last = std::to_string(size() - 1);
  expect_refused(40, ranks, 100, ErrorCode::rank_out_of_range,
                 "rank " + last + ": the block in slot 33 is sent to rank " +
                     std::to_string(size()) + ", but the communicator has ranks 0 to " + last);
  if (rank() == size() - 1) ranks[33] = -1;
  expect_refused(40, ranks, 100, ErrorCode::rank_out_of_range,
                 "rank " + last + ": the block in slot 33 is sent to rank -1");
}

TEST(Repair, RefusesAMapOfAnotherLength) {
  const std::vector<int> ranks(rank() == size() - 1 ? 39 : 40, 0);
  expect_refused(40, ranks, 100, ErrorCode::invalid_argument,
                 "rank " + std::to_string(size() - 1) +
                     ": the map has 39 entries for 40 blocks; it needs one for each");
}

}  // namespace
}  // namespace valet::test
