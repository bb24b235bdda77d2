// SPDX-License-Identifier: BSD-3-Clause
#include "plan/map_layout.hpp"

#include "mpi/agreement.hpp"

#include <algorithm>
#include <array>

namespace valet::plan {
namespace {

/// What one rank tells all others.
struct Description {
  layout::CyclicDistribution distribution;
  std::int64_t detail = 0;
};
static_assert(sizeof(Description) == 5 * sizeof(std::int64_t));

/// Writes the non-empty counts of the other ranks; count_from(rank) is asked twice for each, so
/// that the list is not larger than it must be.
template <class CountFrom>
void list_counts(std::span<const Description> all, int own_rank, CountFrom&& count_from,
                 Vector<mpi::SparseCount>& received) {
  const auto for_each = [&](auto&& action) {
    for (std::size_t r = 0; r < all.size(); ++r) {
      const int rank = static_cast<int>(r);
      const std::int64_t count = rank == own_rank ? 0 : count_from(rank);
      if (count > 0)
        action(mpi::SparseCount{rank, static_cast<std::uint64_t>(count),
                                static_cast<std::uint64_t>(all[r].detail)});
    }
  };
  std::size_t sources = 0;
  for_each([&](const mpi::SparseCount&) { ++sources; });
  received.reserve(sources);
  for_each([&](const mpi::SparseCount& count) { received.push_back(count); });
}

/// Blocks on every rank at the end.
Array<std::uint64_t> lengths_after(const mpi::Channel& channel, Ledger& ledger,
                                   const MapCounts& map_counts) {
  Array<std::uint64_t> after(ledger, static_cast<std::size_t>(channel.size()));
  std::fill(after.begin(), after.end(), 0);
  after[static_cast<std::size_t>(channel.rank())] =
      map_counts.blocks_before - map_counts.blocks_leaving;
  map_counts.leaving.for_each(
      [&](int rank, std::uint64_t count) { after[static_cast<std::size_t>(rank)] = count; });
  mpi::sum(channel, after);
  return after;
}

/// Where the ranks' blocks begin among all blocks, asked for ascending ranks.
class Starts {
 public:
  explicit Starts(std::span<const Description> all) : all_(all) {}
  std::int64_t operator()(int rank) {
    if (rank < next_) {
      next_ = 0;
      start_ = 0;
    }
    for (; next_ < rank; ++next_)
      start_ += all_[static_cast<std::size_t>(next_)].distribution.count;
    return start_;
  }

 private:
  std::span<const Description> all_;
  int next_ = 0;
  std::int64_t start_ = 0;
};

}  // namespace

bool worth_a_table(int ranks, std::uint64_t destinations) {
  constexpr int small = 512;          // 24 KiB
  constexpr std::uint64_t many = 16;  // of the ranks, one in so many is a destination
  const auto all = static_cast<std::uint64_t>(ranks);
  return ranks <= small || destinations / all >= all / many;
}

layout::MapPattern pattern_of(const MapCounts& map_counts, std::span<const int> map, int ranks) {
  if (map_counts.initially_free.next(0) < map_counts.blocks_before) return {};
  return layout::recognise(map.first(static_cast<std::size_t>(map_counts.blocks_before)), ranks);
}

MapLayout agree_on_layout(const mpi::Channel& channel, const layout::MapPattern& mine) {
  const auto destinations =
      static_cast<std::uint64_t>(std::min<std::int64_t>(mine.runs, channel.size()));
  std::array<std::uint64_t, 3> sums{mine.periodic ? 0U : 1U, mine.ascending ? 0U : 1U,
                                    destinations};
  mpi::sum(channel, sums);
  if (!worth_a_table(channel.size(), sums[2])) return MapLayout::none;
  if (sums[0] == 0) return MapLayout::cyclic;
  if (sums[1] > 0) return MapLayout::none;
  // Every rank's map ascends; so does the whole if none goes back behind the ranks below it.
  const std::int64_t below = mpi::maximum_of_lower(channel, mine.last_rank);
  std::array<std::uint64_t, 1> goes_back{mine.runs > 0 && below > mine.first_rank ? 1U : 0U};
  mpi::maximum(channel, std::span<std::uint64_t>(goes_back));
  return goes_back[0] == 0 ? MapLayout::blocks : MapLayout::none;
}

void compute_counts(const mpi::Channel& channel, Ledger& ledger, MapLayout layout,
                    const layout::CyclicDistribution& mine, const MapCounts& map_counts,
                    std::uint64_t detail, Vector<mpi::SparseCount>& received) {
  const int ranks = channel.size();
  const int self = channel.rank();
  Array<Description> all(ledger, static_cast<std::size_t>(ranks));
  const Description own{mine, static_cast<std::int64_t>(detail)};
  mpi::gather_everywhere(channel, std::as_bytes(std::span(&own, 1)),
                         std::as_writable_bytes(std::span(all)));
  if (layout == MapLayout::cyclic) {
    list_counts(
        all, self,
        [&](int rank) {
          return all[static_cast<std::size_t>(rank)].distribution.count_of(self, ranks);
        },
        received);
    return;
  }
  // All blocks in a row are cut by the ranks before and by the ranks after: adjacent pieces belong
  // to adjacent ranks, as in ASPEN, with blocks of any lengths.
  const Array<std::uint64_t> after = lengths_after(channel, ledger, map_counts);
  std::int64_t first = 0;
  for (int rank = 0; rank < self; ++rank)
    first += static_cast<std::int64_t>(after[static_cast<std::size_t>(rank)]);
  const std::int64_t behind =
      first + static_cast<std::int64_t>(after[static_cast<std::size_t>(self)]);
  Starts starts(all);
  list_counts(
      all, self,
      [&](int rank) {
        const std::int64_t start = starts(rank);
        const std::int64_t end = start + all[static_cast<std::size_t>(rank)].distribution.count;
        return std::min(end, behind) - std::max(start, first);
      },
      received);
}

template <class Index>
void list_cyclic_exports(Ledger& ledger, Flows<Index>& flows,
                         const layout::CyclicDistribution& distribution, int own_rank, int ranks) {
  const layout::CyclicRuns runs(ledger, distribution, ranks);
  const auto count_of = [&](int rank) {
    return rank == own_rank ? 0 : distribution.count_of(rank, ranks);
  };
  std::size_t destinations = 0;
  for (int rank = 0; rank < ranks; ++rank) destinations += count_of(rank) > 0 ? 1 : 0;
  flows.outgoing.reserve(destinations);
  flows.exports = Array<Index>(
      ledger,
      static_cast<std::size_t>(distribution.count - distribution.count_of(own_rank, ranks)));
  Index* next = flows.exports.begin();
  for (int rank = 0; rank < ranks; ++rank) {
    if (count_of(rank) == 0) continue;
    flows.outgoing.push_back({rank, static_cast<Index>(count_of(rank)),
                              static_cast<Index>(next - flows.exports.begin())});
    runs.for_each(rank, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t slot = first; slot < first + count; ++slot)
        *next++ = static_cast<Index>(slot);
    });
  }
}

template void list_cyclic_exports(Ledger&, Flows<std::uint32_t>&, const layout::CyclicDistribution&,
                                  int, int);
template void list_cyclic_exports(Ledger&, Flows<std::uint64_t>&, const layout::CyclicDistribution&,
                                  int, int);

}  // namespace valet::plan
