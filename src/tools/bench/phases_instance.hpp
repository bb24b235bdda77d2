// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Instances of A. Pinar, B. Hendrickson, "Interprocessor Communication with Limited Memory", IEEE
/// TPDS 15(7), 2004, section 7: vertices of a graph go from a partition by Zoltan to one whose
/// overlapped subdomains are balanced. As there, one graph gives many instances: its partitions
/// differ by their seed.

#include "block_comparison.hpp"
#include "graph.hpp"
#include "tools/schedules.hpp"
#include <valet/dimension.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <zoltan.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace valet::bench {

/// The part of each vertex.
using Parts = std::vector<std::uint32_t>;

/// A partition and the one that it is to become. A part is a processor; there may be more of them
/// than ranks.
struct Instance {
  /// Where the new partition comes from. "diffuse": the old one, adjusted as in the paper; a few
  /// blocks move, most of them one way. "scratch": another one of Zoltan, adjusted, parts numbered
  /// to keep what they can; much moves both ways, and many phases are needed where memory is tight.
  std::string remap;
  std::uint64_t number = 0;
  std::uint32_t parts = 0;
  Parts before, after;

  [[nodiscard]] schedule::TransferMatrix matrix() const {
    std::vector<schedule::TransferEntry> transfers;
    for (std::size_t v = 0; v < before.size(); ++v) transfers.push_back({before[v], after[v], 1});
    return {parts, std::move(transfers)};
  }
  /// The same vertices on as many processors as there are ranks: part p on rank p mod P.
  [[nodiscard]] Instance folded() const {
    Instance result = *this;
    result.parts = static_cast<std::uint32_t>(world_size());
    for (std::uint32_t& part : result.before) part %= result.parts;
    for (std::uint32_t& part : result.after) part %= result.parts;
    return result;
  }
  /// A block for each vertex, and slots for those before and those after. Parts are ranks.
  [[nodiscard]] Map map() const {
    // Destinations of the blocks of each rank, ascending by vertex.
    using Destinations = std::vector<std::vector<int>>;
    const auto all = std::make_shared<Destinations>(parts);
    for (std::size_t v = 0; v < before.size(); ++v)
      (*all)[before[v]].push_back(static_cast<int>(after[v]));
    const auto blocks = [all](int rank) -> std::uint64_t {
      return (*all)[static_cast<std::size_t>(rank)].size();
    };
    const auto blocks_after = std::ranges::count(after, static_cast<std::uint32_t>(world_rank()));
    return {std::max(blocks(world_rank()), static_cast<std::uint64_t>(blocks_after)), blocks,
            [all](int rank, std::uint64_t slot) {
              return Address{(*all)[static_cast<std::size_t>(rank)][slot], 0};
            }};
  }
};

/// The vertices of a graph on their ranks: every rank offers a run of them to Zoltan.
struct Offered {
  const Graph& graph;
  layout::Dimension layout;
};

inline const Offered& offered(void* data) { return *static_cast<const Offered*>(data); }

inline void count_edges(void* data, int, int, int count, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR,
                        int* edges, int* error) {
  for (int k = 0; k < count; ++k)
    edges[k] = static_cast<int>(offered(data).graph.neighbours_of(gids[k]).size());
  *error = ZOLTAN_OK;
}

inline void list_edges(void* data, int, int, int count, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR, int*,
                       ZOLTAN_ID_PTR neighbours, int* procs, int, float*, int* error) {
  for (int k = 0; k < count; ++k)
    for (const std::uint32_t neighbour : offered(data).graph.neighbours_of(gids[k])) {
      *neighbours++ = neighbour;
      *procs++ = offered(data).layout.owner(neighbour);
    }
  *error = ZOLTAN_OK;
}

/// One sweep of diffusion: from each part to each smaller one next to it a share of what it is
/// larger, vertices with the most neighbours there first.
inline void diffuse(const Graph& graph, const std::vector<std::uint64_t>& sizes, Parts& parts) {
  constexpr std::uint64_t share = 8;
  struct Candidate {
    std::uint32_t from, to;
    std::ptrdiff_t ties;  ///< neighbours in `to`
    std::uint32_t vertex;
  };
  std::vector<Candidate> candidates;
  Parts near;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    near.clear();
    for (const std::uint32_t neighbour : graph.neighbours_of(v)) near.push_back(parts[neighbour]);
    if (near.empty()) continue;
    const std::uint32_t to =
        std::ranges::min(near, {}, [&](std::uint32_t part) { return sizes[part]; });
    if (sizes[to] < sizes[parts[v]])
      candidates.push_back({parts[v], to, std::ranges::count(near, to), v});
  }
  std::ranges::sort(candidates, {}, [](const Candidate& one) {
    return std::tuple(one.from, one.to, -one.ties, one.vertex);
  });
  std::uint64_t done = 0;  // between this pair of parts
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const auto& [from, to, ties, vertex] = candidates[k];
    if (k > 0 && (candidates[k - 1].from != from || candidates[k - 1].to != to)) done = 0;
    if (done++ < (sizes[from] - sizes[to] + share - 1) / share) parts[vertex] = to;
  }
}

/// Vertices of each part, and those of other parts that are `layers` edges away from it at most.
inline std::vector<std::uint64_t> overlapped_sizes(const Graph& graph, const Parts& parts,
                                                   std::uint32_t part_count, int layers) {
  std::vector<std::vector<std::uint32_t>> members(part_count);
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) members[parts[v]].push_back(v);
  std::vector<std::uint64_t> sizes;
  Parts reached_by(graph.vertices(), part_count);  // by none yet
  for (std::uint32_t part = 0; part < part_count; ++part) {
    std::vector<std::uint32_t>& reached = members[part];
    for (const std::uint32_t v : reached) reached_by[v] = part;
    std::size_t first = 0;  // where the last layer begins
    for (int layer = 0; layer < layers; ++layer) {
      const std::size_t last = reached.size();
      for (std::size_t k = std::exchange(first, last); k < last; ++k)
        for (const std::uint32_t next : graph.neighbours_of(reached[k]))
          if (std::exchange(reached_by[next], part) != part) reached.push_back(next);
    }
    sizes.push_back(reached.size());
  }
  return sizes;
}

/// One of `part_count` parts for every vertex, by Zoltan's hypergraph partitioner. Collective over
/// MPI_COMM_WORLD; every rank gets all.
/// @throws Error when Zoltan fails.
inline Parts partition(const Graph& graph, std::uint32_t part_count, std::uint64_t seed) {
  const std::int64_t vertices = graph.vertices();
  const int ranks = world_size();
  Offered mine{graph, {vertices, (vertices + ranks - 1) / ranks, ranks}};
  std::vector<int> extents(static_cast<std::size_t>(ranks));
  std::ranges::generate(extents, [&, rank = 0]() mutable {
    return static_cast<int>(mine.layout.local_extent(rank++));
  });
  const Counts counts(std::move(extents));
  const auto self = static_cast<std::size_t>(world_rank());
  std::vector<int> ids(static_cast<std::size_t>(counts.counts[self]));
  std::iota(ids.begin(), ids.end(), counts.begins[self]);
  zoltan::RebalancerOptions options{.method = "GRAPH", .imbalance_tolerance = 1.1};
  options.parameters = {{"GRAPH_PACKAGE", "PHG"},
                        {"LB_APPROACH", "PARTITION"},
                        {"NUM_GLOBAL_PARTS", std::to_string(part_count)},
                        {"SEED", std::to_string(seed)}};
  zoltan::Rebalancer rebalancer(MPI_COMM_WORLD, options);
  rebalancer.global_ids(zoltan::array_columns(ids.data(), ids.size(), 1));
  Zoltan_Set_Num_Edges_Multi_Fn(rebalancer.handle(), count_edges, &mine);
  Zoltan_Set_Edge_List_Multi_Fn(rebalancer.handle(), list_edges, &mine);
  const zoltan::Partition partition = rebalancer.partition(ids.size());
  const std::span<const int> own =
      partition.parts().empty() ? partition.ranks() : partition.parts();
  std::vector<int> parts(graph.vertices());
  MPI_Allgatherv(own.data(), counts.counts[self], MPI_INT, parts.data(), counts.counts.data(),
                 counts.begins.data(), MPI_INT, MPI_COMM_WORLD);
  return {parts.begin(), parts.end()};
}

/// The same parts with other numbers: those that have most vertices in common with a part of before
/// get its number, greedily.
inline Parts renamed_to_stay(const Parts& parts, const Parts& before, std::uint32_t count) {
  std::vector<std::uint32_t> common(std::size_t{count} * count, 0);
  for (std::size_t v = 0; v < parts.size(); ++v)
    ++common[std::size_t{parts[v]} * count + before[v]];
  std::vector<std::size_t> pairs(common.size());
  std::iota(pairs.begin(), pairs.end(), std::size_t{0});
  std::ranges::stable_sort(pairs, std::greater(), [&](std::size_t pair) { return common[pair]; });
  Parts name(count, count);  // none yet
  std::vector<bool> taken(count, false);
  for (const std::size_t pair : pairs) {
    if (name[pair / count] < count || taken[pair % count]) continue;
    name[pair / count] = static_cast<std::uint32_t>(pair % count);
    taken[pair % count] = true;
  }
  Parts renamed(parts.size());
  std::ranges::transform(parts, renamed.begin(), [&](std::uint32_t part) { return name[part]; });
  return renamed;
}

/// Moves vertices between adjacent parts, from larger to smaller overlapped sizes, and returns the
/// partition whose largest is least. The same on all ranks.
inline Parts balance_overlap(const Graph& graph, const Parts& parts, std::uint32_t part_count,
                             int layers) {
  constexpr int most_sweeps = 200;
  constexpr int patience = 20;
  Parts best = parts;
  Parts moved = parts;
  std::vector<std::uint64_t> sizes = overlapped_sizes(graph, moved, part_count, layers);
  std::uint64_t least = std::ranges::max(sizes);
  for (int sweep = 0, last_gain = 0; sweep < most_sweeps && sweep - last_gain < patience; ++sweep) {
    diffuse(graph, sizes, moved);
    sizes = overlapped_sizes(graph, moved, part_count, layers);
    const std::uint64_t largest = std::ranges::max(sizes);
    if (largest >= least) continue;
    least = largest;
    last_gain = sweep;
    best = moved;
  }
  return best;
}

/// Memory of a processor beyond what it needs in the end, if it is one `part`th of the most that
/// one receives, which one phase needs; at least one block.
[[nodiscard]] inline std::uint64_t memory_of(const schedule::TransferMatrix& matrix,
                                             std::uint64_t part) {
  const std::vector<std::uint64_t> none(matrix.ranks(), 0);
  const std::uint64_t most =
      std::ranges::max(matrix.totals(none), {}, &schedule::RankTotals::received).received;
  return std::max<std::uint64_t>(1, (most + part - 1) / part);
}

/// `count` instances of each remap. Collective over MPI_COMM_WORLD; every rank gets all.
/// @throws Error when Zoltan fails.
[[nodiscard]] inline std::vector<Instance> make_instances(const Graph& graph, std::uint32_t parts,
                                                          int layers,
                                                          const std::vector<std::string>& remaps,
                                                          std::uint64_t count, std::uint64_t seed) {
  // One partition more than instances: each is the next one of the partition before it.
  std::vector<Parts> partitions;
  for (std::uint64_t k = 0; k <= count; ++k)
    partitions.push_back(partition(graph, parts, seed + k));
  std::vector<Instance> instances;
  for (const std::string& remap : remaps)
    for (std::uint64_t k = 0; k < count; ++k)
      instances.push_back({remap, k, parts, partitions[k],
                           remap == "diffuse"
                               ? partitions[k]
                               : renamed_to_stay(partitions[k + 1], partitions[k], parts)});
  // The ranks share the work; all know the result.
  for (std::size_t k = static_cast<std::size_t>(world_rank()); k < instances.size();
       k += static_cast<std::size_t>(world_size()))
    instances[k].after = balance_overlap(graph, instances[k].after, parts, layers);
  int rank = 0;
  for (Instance& instance : instances) {
    std::uint32_t* const after = instance.after.data();
    MPI_Bcast(after, static_cast<int>(graph.vertices()), MPI_UINT32_T, rank, MPI_COMM_WORLD);
    rank = (rank + 1) % world_size();
  }
  return instances;
}

}  // namespace valet::bench
