// SPDX-License-Identifier: BSD-3-Clause
#include "plan/map_layout.hpp"

#include "mpi/agreement.hpp"

#include <algorithm>
#include <array>

namespace valet::plan {
namespace {

/// What one rank sends all others.
struct MapDescription {
  layout::CyclicDistribution distribution;
  std::int64_t detail = 0;
};
static_assert(sizeof(MapDescription) == 5 * sizeof(std::int64_t));

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

/// @param destinations  Summed over the ranks, runs of maps.
MapLayout agree_on_layout(const mpi::Channel& channel, const layout::MapPattern& mine,
                          std::uint64_t not_periodic, std::uint64_t not_ascending,
                          std::uint64_t destinations) {
  if (!worth_a_table(channel.size(), destinations)) return MapLayout::none;
  if (not_periodic == 0) return MapLayout::cyclic;
  if (not_ascending > 0) return MapLayout::none;
  // Every rank's map ascends; so does the whole if none goes back behind the ranks below it.
  const std::int64_t below = mpi::maximum_of_lower(channel, mine.last_rank);
  std::array<std::uint64_t, 1> goes_back{mine.runs > 0 && below > mine.first_rank ? 1U : 0U};
  mpi::maximum(channel, std::span<std::uint64_t>(goes_back));
  return goes_back[0] == 0 ? MapLayout::blocks : MapLayout::none;
}

}  // namespace

bool worth_a_table(int ranks, std::uint64_t destinations) {
  constexpr int small = 512;          // 24 KiB
  constexpr std::uint64_t many = 16;  // one rank in so many is a destination
  const auto all = static_cast<std::uint64_t>(ranks);
  return ranks <= small || destinations / all >= all / many;
}

layout::MapPattern pattern_of(const MapCounts& map_counts, std::span<const int> map, int ranks) {
  if (map_counts.initially_free.next(0) < map_counts.blocks_before) return {};
  return layout::recognise(map.first(static_cast<std::size_t>(map_counts.blocks_before)), ranks);
}

JointMap agree_on_map(const mpi::Channel& channel, const layout::MapPattern& mine,
                      std::uint64_t destinations, std::uint64_t block_bytes) {
  const auto runs = static_cast<std::uint64_t>(std::min<std::int64_t>(mine.runs, channel.size()));
  std::array<std::uint64_t, 6> sums{
      mine.periodic ? 0U : 1U,  mine.ascending ? 0U : 1U, runs, destinations, block_bytes,
      block_bytes > 0 ? 1U : 0U};
  mpi::sum(channel, sums);
  const auto ranks = static_cast<std::uint64_t>(channel.size());
  return {agree_on_layout(channel, mine, sums[0], sums[1], sums[2]), (sums[3] + ranks - 1) / ranks,
          sums[4] / std::max<std::uint64_t>(1, sums[5])};
}

void compute_counts(const mpi::Channel& channel, Ledger& ledger, MapLayout layout,
                    const layout::CyclicDistribution& mine, const MapCounts& map_counts,
                    std::uint64_t detail, Vector<mpi::SparseCount>& received) {
  const int ranks = channel.size();
  const int self = channel.rank();
  Array<MapDescription> all(ledger, static_cast<std::size_t>(ranks));
  const MapDescription own{mine, static_cast<std::int64_t>(detail)};
  mpi::gather_everywhere(channel, std::as_bytes(std::span(&own, 1)),
                         std::as_writable_bytes(std::span(all)));
  // All blocks in a row are cut by the ranks before and by the ranks after: adjacent pieces belong
  // to adjacent ranks, as in ASPEN, with blocks of any lengths.
  std::int64_t first = 0, behind = 0;
  if (layout == MapLayout::blocks) {
    const Array<std::uint64_t> after = lengths_after(channel, ledger, map_counts);
    for (int rank = 0; rank <= self; ++rank) {
      first = behind;
      behind += static_cast<std::int64_t>(after[static_cast<std::size_t>(rank)]);
    }
  }
  const auto for_each = [&](auto&& action) {
    std::int64_t start = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const MapDescription& sender = all[static_cast<std::size_t>(rank)];
      const std::int64_t end = start + sender.distribution.count;
      const std::int64_t count = layout == MapLayout::cyclic
                                     ? sender.distribution.count_of(self, ranks)
                                     : std::min(end, behind) - std::max(start, first);
      if (rank != self && count > 0)
        action(mpi::SparseCount{rank, static_cast<std::uint64_t>(count),
                                static_cast<std::uint64_t>(sender.detail)});
      start = end;
    }
  };
  std::size_t sources = 0;  // so that the list is not larger than it must be
  for_each([&](const mpi::SparseCount&) { ++sources; });
  received.reserve(sources);
  for_each([&](const mpi::SparseCount& count) { received.push_back(count); });
}

}  // namespace valet::plan
