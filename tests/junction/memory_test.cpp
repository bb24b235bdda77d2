// SPDX-License-Identifier: BSD-3-Clause

// What the process asks for while an array or numbered blocks go through a junction, shared memory
// included, is within the bound of the report.

#include "counted_new.hpp"
#include "numbered_cases.hpp"
#include "two_sides.hpp"
#include <valet/junction.hpp>

namespace valet::test {
namespace {

constexpr std::array<std::size_t, 3> budgets{std::size_t{64} << 10, std::size_t{1} << 20,
                                             std::size_t{4} << 20};

/// Connects, and waits for the transfer that `begin` begins.
template <class Begin>
void expect_within_bound(const TwoSides& sides, const JunctionOptions& options, Begin&& begin) {
  SCOPED_TRACE(std::to_string(options.budget_bytes) + " bytes, " +
               (options.share_memory ? "shared memory" : "none shared"));
  const AskedBytes asked;
  Report report;
  {
    Junction junction = Junction::connect(sides.between(), "memory", options);
    report = begin(junction).wait();
  }
  const std::uint64_t most_asked = asked.most();
  EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= report.extra_bytes_bound));
  EXPECT_TRUE(all_ranks(most_asked <= report.extra_bytes_bound))
      << most_asked << " of " << report.extra_bytes_bound;
}

template <class Begin>
void for_each_budget(Begin&& begin) {
  if (size() < 2) return;
  for (const int first : std::set{1, (size() + 1) / 2}) {
    const TwoSides sides(first);
    for (const std::size_t budget : budgets)
      for (const bool share : {false, true}) {
        const JunctionOptions options{.budget_bytes = budget, .share_memory = share};
        begin(sides, options);
      }
  }
}

TEST(JunctionMemory, OfArraysIsWithinTheBound) {
  for_each_budget([](const TwoSides& sides, const JunctionOptions& options) {
    const GridLayout blocks{BlockCyclic({600, 700}, {7, 30}, {1, sides.own_ranks})};
    GridLayout cells{BlockCyclic::cut_at({{0, 250, 600}, {0, 100, 333, 700}})};
    for (int cell = 0; cell < cells.layout.ranks(); ++cell)
      cells.ranks.push_back(cell % sides.own_ranks);
    const GridLayout& own = sides.is_first ? blocks : cells;
    std::vector<Element> values(elements_of(own, sides.own_rank));
    expect_within_bound(sides, options, [&](Junction& junction) {
      return sides.is_first ? junction.put(std::span<const Element>(values), own)
                            : junction.get(std::span(values), own);
    });
  });
}

TEST(JunctionMemory, OfNumberedBlocksIsWithinTheBound) {
  for_each_budget([](const TwoSides& sides, const JunctionOptions& options) {
    constexpr std::size_t objects = 40'000;
    const ObjectLayout own = sides.is_first ? ObjectLayout::balanced() : ObjectLayout::cyclic(3);
    const std::size_t count = numbers_in(own, objects, sides.own_rank, sides.own_ranks).size();
    std::vector<std::array<Element, 4>> blocks(count);
    expect_within_bound(sides, options, [&](Junction& junction) {
      return sides.is_first ? junction.put({field(blocks)}, count, own)
                            : junction.get({field(blocks)}, own);
    });
  });
}

TEST(JunctionMemory, OfBlocksToRanksIsWithinTheBound) {
  for_each_budget([](const TwoSides& sides, const JunctionOptions& options) {
    constexpr std::size_t count = 20'000;
    std::vector<std::array<Element, 4>> blocks(count * static_cast<std::size_t>(size()));
    std::vector<int> ranks(count);
    for (std::size_t k = 0; k < count; ++k) ranks[k] = static_cast<int>(k) % sides.other_ranks;
    expect_within_bound(sides, options, [&](Junction& junction) {
      return sides.is_first ? junction.put({field(blocks)}, count, ranks)
                            : junction.get({field(blocks)});
    });
  });
}

}  // namespace
}  // namespace valet::test
