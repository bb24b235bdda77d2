// SPDX-License-Identifier: BSD-3-Clause
#include "overlap.hpp"

#include "measure.hpp"

#include <zoltan.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace valet::bench {
namespace {

/// The vertices that this rank offers to Zoltan: every rank an equal run of them.
struct Offered {
  const Graph& graph;
  int ranks;
  int rank;
  [[nodiscard]] std::uint32_t begin(int of) const {
    return static_cast<std::uint32_t>(std::uint64_t{graph.vertices()} *
                                      static_cast<std::uint64_t>(of) /
                                      static_cast<std::uint64_t>(ranks));
  }
  [[nodiscard]] int owner(std::uint32_t vertex) const {
    int of = static_cast<int>(std::uint64_t{vertex} * static_cast<std::uint64_t>(ranks) /
                              graph.vertices());
    while (of + 1 < ranks && begin(of + 1) <= vertex) ++of;
    return of;
  }
};

const Offered& offered(void* data) { return *static_cast<const Offered*>(data); }

int count_objects(void* data, int* error) {
  *error = ZOLTAN_OK;
  return static_cast<int>(offered(data).begin(offered(data).rank + 1) -
                          offered(data).begin(offered(data).rank));
}

void list_objects(void* data, int, int, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids, int, float*,
                  int* error) {
  const Offered& mine = offered(data);
  const std::uint32_t first = mine.begin(mine.rank);
  for (std::uint32_t v = first; v < mine.begin(mine.rank + 1); ++v) {
    gids[v - first] = v;
    lids[v - first] = v - first;
  }
  *error = ZOLTAN_OK;
}

void count_edges(void* data, int, int, int count, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR, int* edges,
                 int* error) {
  const Graph& graph = offered(data).graph;
  for (int k = 0; k < count; ++k)
    edges[k] = static_cast<int>(graph.first[gids[k] + 1] - graph.first[gids[k]]);
  *error = ZOLTAN_OK;
}

void list_edges(void* data, int, int, int count, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR, int*,
                ZOLTAN_ID_PTR neighbours, int* procs, int, float*, int* error) {
  const Graph& graph = offered(data).graph;
  for (int k = 0; k < count; ++k)
    for (std::uint32_t e = graph.first[gids[k]]; e < graph.first[gids[k] + 1]; ++e) {
      *neighbours++ = graph.neighbours[e];
      *procs++ = offered(data).owner(graph.neighbours[e]);
    }
  *error = ZOLTAN_OK;
}

/// Frees what Zoltan allocates.
class Handle {
 public:
  Handle() : zoltan_(Zoltan_Create(MPI_COMM_WORLD)) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { Zoltan_Destroy(&zoltan_); }
  void set(const char* name, const std::string& value) {
    if (Zoltan_Set_Param(zoltan_, name, value.c_str()) != ZOLTAN_OK)
      throw std::runtime_error(std::string("Zoltan refuses ") + name + " " + value);
  }
  [[nodiscard]] Zoltan_Struct* get() const { return zoltan_; }

 private:
  Zoltan_Struct* zoltan_;
};

/// The part of each vertex that this rank offered.
std::vector<int> own_parts(Zoltan_Struct* zoltan, std::size_t count) {
  int changes = 0, gid_entries = 0, lid_entries = 0, imports = 0, exports = 0;
  ZOLTAN_ID_PTR in_gids = nullptr, in_lids = nullptr, out_gids = nullptr, out_lids = nullptr;
  int *in_procs = nullptr, *in_parts = nullptr, *out_procs = nullptr, *out_parts = nullptr;
  const int code = Zoltan_LB_Partition(zoltan, &changes, &gid_entries, &lid_entries, &imports,
                                       &in_gids, &in_lids, &in_procs, &in_parts, &exports,
                                       &out_gids, &out_lids, &out_procs, &out_parts);
  std::vector<int> parts(count, 0);
  for (int k = 0; k < exports && code >= 0; ++k) parts[out_lids[k]] = out_parts[k];
  Zoltan_LB_Free_Part(&in_gids, &in_lids, &in_procs, &in_parts);
  Zoltan_LB_Free_Part(&out_gids, &out_lids, &out_procs, &out_parts);
  if (code < 0) throw std::runtime_error("Zoltan_LB_Partition failed");
  return parts;
}

/// One sweep of diffusion: from each part to each smaller one next to it a share of what it is
/// larger, vertices with the most neighbours there first.
void diffuse(const Graph& graph, const std::vector<std::uint64_t>& sizes, std::vector<int>& parts) {
  constexpr std::uint64_t share = 8;
  struct Candidate {
    int from;
    int to;
    int ties;  ///< neighbours in `to`
    std::uint32_t vertex;
  };
  std::vector<Candidate> candidates;
  std::vector<int> near;
  for (std::uint32_t v = 0; v < graph.vertices(); ++v) {
    near.clear();
    for (std::uint32_t e = graph.first[v]; e < graph.first[v + 1]; ++e)
      near.push_back(parts[graph.neighbours[e]]);
    const int to = *std::min_element(near.begin(), near.end(), [&](int a, int b) {
      return sizes[static_cast<std::size_t>(a)] < sizes[static_cast<std::size_t>(b)];
    });
    if (sizes[static_cast<std::size_t>(to)] < sizes[static_cast<std::size_t>(parts[v])])
      candidates.push_back(
          {parts[v], to, static_cast<int>(std::count(near.begin(), near.end(), to)), v});
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.from, a.to, -a.ties, a.vertex) <
           std::tuple(b.from, b.to, -b.ties, b.vertex);
  });
  std::uint64_t done = 0;  // between this pair of parts
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const Candidate& one = candidates[k];
    if (k > 0 && (candidates[k - 1].from != one.from || candidates[k - 1].to != one.to)) done = 0;
    const std::uint64_t surplus =
        sizes[static_cast<std::size_t>(one.from)] - sizes[static_cast<std::size_t>(one.to)];
    if (done++ < (surplus + share - 1) / share) parts[one.vertex] = one.to;
  }
}

}  // namespace

std::vector<int> partition(const Graph& graph, int part_count, std::uint64_t seed) {
  Offered mine{graph, world_size(), world_rank()};
  Handle zoltan;
  zoltan.set("DEBUG_LEVEL", "0");
  zoltan.set("LB_METHOD", "GRAPH");
  zoltan.set("GRAPH_PACKAGE", "PHG");
  zoltan.set("LB_APPROACH", "PARTITION");
  zoltan.set("RETURN_LISTS", "PARTS");
  zoltan.set("NUM_GLOBAL_PARTS", std::to_string(part_count));
  zoltan.set("SEED", std::to_string(seed));
  Zoltan_Set_Num_Obj_Fn(zoltan.get(), count_objects, &mine);
  Zoltan_Set_Obj_List_Fn(zoltan.get(), list_objects, &mine);
  Zoltan_Set_Num_Edges_Multi_Fn(zoltan.get(), count_edges, &mine);
  Zoltan_Set_Edge_List_Multi_Fn(zoltan.get(), list_edges, &mine);
  const std::vector<int> own =
      own_parts(zoltan.get(), mine.begin(mine.rank + 1) - mine.begin(mine.rank));
  std::vector<int> counts, begins;
  for (int rank = 0; rank < mine.ranks; ++rank) {
    begins.push_back(static_cast<int>(mine.begin(rank)));
    counts.push_back(static_cast<int>(mine.begin(rank + 1) - mine.begin(rank)));
  }
  std::vector<int> parts(graph.vertices());
  MPI_Allgatherv(own.data(), static_cast<int>(own.size()), MPI_INT, parts.data(), counts.data(),
                 begins.data(), MPI_INT, MPI_COMM_WORLD);
  return parts;
}

std::vector<int> renamed_to_stay(const std::vector<int>& parts, const std::vector<int>& before,
                                 int part_count) {
  const auto count = static_cast<std::size_t>(part_count);
  std::vector<std::uint32_t> common(count * count, 0);
  for (std::size_t v = 0; v < parts.size(); ++v)
    ++common[static_cast<std::size_t>(parts[v]) * count + static_cast<std::size_t>(before[v])];
  std::vector<std::size_t> pairs(common.size());
  std::iota(pairs.begin(), pairs.end(), std::size_t{0});
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&](std::size_t a, std::size_t b) { return common[a] > common[b]; });
  std::vector<int> name(count, -1);
  std::vector<bool> taken(count, false);
  for (const std::size_t pair : pairs) {
    if (name[pair / count] >= 0 || taken[pair % count]) continue;
    name[pair / count] = static_cast<int>(pair % count);
    taken[pair % count] = true;
  }
  std::vector<int> renamed;
  renamed.reserve(parts.size());
  for (const int part : parts) renamed.push_back(name[static_cast<std::size_t>(part)]);
  return renamed;
}

std::vector<std::uint64_t> overlapped_sizes(const Graph& graph, const std::vector<int>& parts,
                                            int part_count, int layers) {
  std::vector<std::vector<std::uint32_t>> members(static_cast<std::size_t>(part_count));
  for (std::uint32_t v = 0; v < graph.vertices(); ++v)
    members[static_cast<std::size_t>(parts[v])].push_back(v);
  std::vector<std::uint64_t> sizes;
  std::vector<int> reached_by(graph.vertices(), -1);
  for (int part = 0; part < part_count; ++part) {
    std::vector<std::uint32_t>& reached = members[static_cast<std::size_t>(part)];
    for (const std::uint32_t v : reached) reached_by[v] = part;
    std::size_t first = 0;  // of the last layer
    for (int layer = 0; layer < layers; ++layer) {
      const std::size_t last = reached.size();
      for (std::size_t k = std::exchange(first, last); k < last; ++k)
        for (std::uint32_t e = graph.first[reached[k]]; e < graph.first[reached[k] + 1]; ++e) {
          const std::uint32_t next = graph.neighbours[e];
          if (std::exchange(reached_by[next], part) != part) reached.push_back(next);
        }
    }
    sizes.push_back(reached.size());
  }
  return sizes;
}

std::vector<int> balance_overlap(const Graph& graph, const std::vector<int>& parts, int part_count,
                                 int layers) {
  constexpr int most_sweeps = 200;
  constexpr int patience = 20;
  std::vector<int> best = parts;
  std::vector<int> moved = parts;
  std::vector<std::uint64_t> sizes = overlapped_sizes(graph, moved, part_count, layers);
  std::uint64_t least = *std::max_element(sizes.begin(), sizes.end());
  for (int sweep = 0, last_gain = 0; sweep < most_sweeps && sweep - last_gain < patience; ++sweep) {
    diffuse(graph, sizes, moved);
    sizes = overlapped_sizes(graph, moved, part_count, layers);
    const std::uint64_t largest = *std::max_element(sizes.begin(), sizes.end());
    if (largest >= least) continue;
    least = largest;
    last_gain = sweep;
    best = moved;
  }
  return best;
}

}  // namespace valet::bench
