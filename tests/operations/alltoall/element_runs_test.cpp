// SPDX-License-Identifier: BSD-3-Clause

// The tables of runs, and BITONIC's network and tables on any number of ranks, without MPI.

#include "operations/alltoall/element_runs.hpp"

#include "operations/alltoall/swap_methods.hpp"
#include "test_comm.hpp"

namespace valet::test {

using namespace valet::operations;
namespace {

/// One slot of a table.
struct Slot {
  std::int32_t destination = 0, origin = 0;
  std::uint64_t place = 0;
  [[nodiscard]] bool operator==(const Slot&) const = default;
};

std::vector<Slot> slots_in(const ElementRuns& runs) {
  std::vector<Slot> slots;
  for (const ElementRun& run : runs)
    for (std::uint64_t k = 0; k < run.count; ++k)
      slots.push_back({run.destination, run.origin, is_free(run) ? 0 : run.first + k});
  return slots;
}

ElementRuns random_runs(Ledger& ledger, std::mt19937_64& random) {
  ElementRuns runs{LedgerAllocator<ElementRun>(ledger)};
  for (std::int32_t destination = 0; destination < 5; ++destination)
    for (const std::int32_t origin : {0, 1, free_slot})
      append(runs, {destination, origin, origin == free_slot ? 0 : random() % 100, random() % 6});
  return runs;
}

TEST(ElementRuns, RangesAreKeptAndRemoved) {
  for (std::uint64_t k = 0; k < 2000; ++k) {
    std::mt19937_64 random(seed() + k);
    Ledger ledger;
    const ElementRuns runs = random_runs(ledger, random);
    const std::vector<Slot> all = slots_in(runs);
    ASSERT_EQ(slots_of(runs), all.size());
    const std::uint64_t begin = random() % (all.size() + 1);
    const std::uint64_t count = random() % (all.size() + 1 - begin);
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto to = from + static_cast<std::ptrdiff_t>(count);
    ElementRuns kept = runs, rest = runs;
    keep(kept, {begin, count});
    remove(rest, {begin, count});
    std::vector<Slot> others(all.begin(), from);
    others.insert(others.end(), to, all.end());
    ASSERT_EQ(slots_in(kept), std::vector<Slot>(from, to)) << seed_note(seed() + k);
    ASSERT_EQ(slots_in(rest), others) << seed_note(seed() + k);
    ASSERT_LE(rest.size(), runs.size() + 1);
    ASSERT_EQ(elements_before(runs, begin),
              static_cast<std::uint64_t>(std::count_if(
                  all.begin(), from, [](const Slot& slot) { return slot.origin != free_slot; })));
  }
}

TEST(ElementRuns, ContinuedOnesAreJoined) {
  Ledger ledger;
  ElementRuns runs{LedgerAllocator<ElementRun>(ledger)};
  append(runs, {1, 0, 10, 5});
  append(runs, {1, 0, 15, 2});
  append(runs, {1, 0, 18, 1});
  append(runs, {1, free_slot, 0, 3});
  append(runs, {1, free_slot, 0, 4});
  append(runs, {2, free_slot, 0, 0});
  const std::vector<ElementRun> expected{{1, 0, 10, 7}, {1, 0, 18, 1}, {1, free_slot, 0, 7}};
  EXPECT_TRUE(std::equal(runs.begin(), runs.end(), expected.begin(), expected.end()));
}

// Each rank holds as many numbers; a step leaves the lower ones of both with the lower rank. Then
// the numbers are sorted over the ranks, which by the 0-1 principle zeros and ones prove.
TEST(BitonicNetwork, SortsOnAnyNumberOfRanks) {
  constexpr std::size_t slots = 4;
  std::mt19937_64 random(seed());
  for (int ranks = 1; ranks <= 40; ++ranks)
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::vector<std::vector<int>> held(static_cast<std::size_t>(ranks));
      for (auto& numbers : held) {
        for (std::size_t k = 0; k < slots; ++k)
          numbers.push_back(static_cast<int>(repeat % 2 == 0 ? random() % 2 : random() % 1000));
        std::sort(numbers.begin(), numbers.end());
      }
      std::vector<int> steps(held.size(), 0);
      for (int phase = 1; phase <= bitonic_phases(ranks); ++phase)
        for (int step = 0; step < phase; ++step)
          for (int rank = 0; rank < ranks; ++rank) {
            const int partner = bitonic_partner(rank, phase, step);
            ASSERT_EQ(bitonic_partner(partner, phase, step), rank);
            if (partner >= ranks) continue;
            ++steps[static_cast<std::size_t>(rank)];
            if (partner < rank) continue;
            auto& low = held[static_cast<std::size_t>(rank)];
            auto& high = held[static_cast<std::size_t>(partner)];
            std::vector<int> both = low;
            both.insert(both.end(), high.begin(), high.end());
            std::sort(both.begin(), both.end());
            low.assign(both.begin(), both.begin() + slots);
            high.assign(both.begin() + slots, both.end());
          }
      for (int rank = 0; rank + 1 < ranks; ++rank)
        ASSERT_LE(held[static_cast<std::size_t>(rank)].back(),
                  held[static_cast<std::size_t>(rank) + 1].front())
            << ranks << " ranks";
      const int phases = bitonic_phases(ranks);
      ASSERT_EQ(*std::max_element(steps.begin(), steps.end()), phases * (phases + 1) / 2);
      ASSERT_TRUE(ranks <= 1 << phases && (ranks == 1 || ranks > 1 << (phases - 1)));
    }
}

/// What each rank has at first, ascending by destination: elements for some ranks, and free slots.
std::vector<ElementRuns> random_tables(Ledger& ledger, std::mt19937_64& random, int ranks,
                                       std::uint64_t slots) {
  std::vector<ElementRuns> tables;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<std::pair<std::int32_t, bool>> all;
    const std::uint64_t most_free = random() % (slots + 1);
    for (std::uint64_t k = 0; k < slots; ++k)
      all.emplace_back(random() % static_cast<std::uint64_t>(ranks), k < most_free);
    std::sort(all.begin(), all.end());
    ElementRuns& runs = tables.emplace_back(LedgerAllocator<ElementRun>(ledger));
    for (const auto& [destination, free] : all) {
      ElementRun run{destination, free ? free_slot : rank, 0, 1};
      if (!free) run.first = runs.empty() ? 0 : runs.back().first + runs.back().count;
      append(runs, run);
    }
  }
  return tables;
}

/// A step between two ranks, without the elements.
void split_tables(Ledger& ledger, ElementRuns& low, ElementRuns& high, std::uint64_t slots) {
  const std::uint64_t count = lowest_in_second(low, high, slots);
  ElementRuns given = low, got = high;
  keep(given, {slots - count, count});
  keep(got, {0, count});
  remove(low, {slots - count, count});
  remove(high, {0, count});
  const auto merge = [&](ElementRuns& kept, const ElementRuns& other) {
    ElementRuns merged{LedgerAllocator<ElementRun>(ledger)};
    merge_runs(kept, other, [&](const ElementRun& run, bool) { append(merged, run); });
    kept = std::move(merged);
  };
  merge(low, got);
  merge(high, given);
}

// What the number in budget_too_small is made of: one slot for each run is the worst.
TEST(BitonicTables, StayWithinTheirBound) {
  std::mt19937_64 random(seed());
  Ledger ledger;
  std::uint64_t longest_of_100 = 0;
  for (const int ranks : {2, 3, 5, 16, 33, 64, 100})
    for (const std::uint64_t slots : {1U, 7U, 64U, 400U}) {
      std::vector<ElementRuns> tables = random_tables(ledger, random, ranks, slots);
      for (int phase = 1; phase <= bitonic_phases(ranks); ++phase) {
        for (int rank = 0; rank < ranks; ++rank)
          number_runs(tables[static_cast<std::size_t>(rank)], rank, phase, slots);
        for (int step = 0; step < phase; ++step)
          for (int rank = 0; rank < ranks; ++rank) {
            const int partner = bitonic_partner(rank, phase, step);
            if (partner < rank || partner >= ranks) continue;
            ElementRuns& low = tables[static_cast<std::size_t>(rank)];
            ElementRuns& high = tables[static_cast<std::size_t>(partner)];
            ASSERT_LE(low.size() + high.size() + 4, most_bitonic_runs(ranks)) << seed_note();
            if (ranks == 100) longest_of_100 = std::max(longest_of_100, low.size() + high.size());
            split_tables(ledger, low, high, slots);
          }
      }
      std::int32_t last = 0;
      for (const ElementRuns& runs : tables)
        for (const ElementRun& run : runs) {
          ASSERT_GE(run.destination, last) << seed_note();
          last = run.destination;
        }
    }
  EXPECT_GE(longest_of_100, most_bitonic_runs(100) / 5);
}

}  // namespace
}  // namespace valet::test
