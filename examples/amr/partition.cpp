// SPDX-License-Identifier: BSD-3-Clause
#include "partition.hpp"

#include <zoltan.h>

#include <algorithm>
#include <cmath>

namespace amr {
namespace {

/// What Zoltan's query functions for edges look at.
struct Graph {
  const Mesh& mesh;
  const Transition& transition;
  Balance balance;
  std::vector<LeafIndex> own;  ///< units whose first leaf is at home here

  [[nodiscard]] const Unit& unit(ZOLTAN_ID_TYPE number) const { return transition.units[number]; }
  /// Units that share a face with this one, each once.
  [[nodiscard]] std::vector<LeafIndex> neighbours(LeafIndex number) const {
    std::vector<LeafIndex> found;
    const Unit& self = unit(number);
    for (LeafIndex leaf = self.first; leaf < self.first + self.members; ++leaf)
      for (int axis = 0; axis < 3; ++axis)
        for (const int direction : {-1, 1}) {
          const FaceNeighbours behind = face_neighbours(mesh, leaf, axis, direction);
          for (int n = 0; n < behind.count; ++n)
            found.push_back(transition.unit_of[behind.leaf[n]]);
        }
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    std::erase(found, number);
    return found;
  }
};

const Graph& graph_of(void* data) { return *static_cast<const Graph*>(data); }

void numbers_of_edges(void* data, int, int, int count, ZOLTAN_ID_PTR global_ids, ZOLTAN_ID_PTR,
                      int* numbers, int* error) {
  for (int k = 0; k < count; ++k)
    numbers[k] = static_cast<int>(graph_of(data).neighbours(global_ids[k]).size());
  *error = ZOLTAN_OK;
}

void list_of_edges(void* data, int, int, int count, ZOLTAN_ID_PTR global_ids, ZOLTAN_ID_PTR, int*,
                   ZOLTAN_ID_PTR neighbour_ids, int* neighbour_ranks, int, float*, int* error) {
  const Graph& graph = graph_of(data);
  for (int k = 0; k < count; ++k)
    for (const LeafIndex neighbour : graph.neighbours(global_ids[k])) {
      *neighbour_ids++ = neighbour;
      *neighbour_ranks++ = graph.mesh.home[graph.unit(neighbour).first];
    }
  *error = ZOLTAN_OK;
}

valet::zoltan::RebalancerOptions options_of(Method method) {
  valet::zoltan::RebalancerOptions options;
  options.method = method == Method::hsfc ? "HSFC" : "GRAPH";
  options.imbalance_tolerance = 1.02;
  options.granularity = 1;
  if (method == Method::graph)
    options.parameters = {{"GRAPH_PACKAGE", "PHG"},
                          {"LB_APPROACH", "REPARTITION"},
                          // A patch that moves costs as much as its layers do in this many steps;
                          // 100 without being said.
                          {"PHG_REPART_MULTIPLIER", "1"}};
  return options;
}

}  // namespace

Partitioner::Partitioner(MPI_Comm communicator, Method method)
    : communicator_(communicator), method_(method) {
  MPI_Comm_rank(communicator, &rank_);
  MPI_Comm_size(communicator, &size_);
  if (method != Method::curve) rebalancer_.emplace(communicator, options_of(method));
}

std::vector<int> Partitioner::partition(Forest& forest, const Mesh& mesh,
                                        const Transition& transition, Balance balance,
                                        std::uint64_t slots_per_rank) {
  if (method_ != Method::curve) return with_zoltan(mesh, transition, balance);
  if (balance == Balance::count) {
    const std::vector<int> ranks = cut_within_slots(transition.units, size_, slots_per_rank);
    std::vector<int> home(mesh.size());
    for (LeafIndex leaf = 0; leaf < mesh.size(); ++leaf)
      home[leaf] = ranks[transition.unit_of[leaf]];
    return home;
  }
  std::vector<int> weights(mesh.size());
  for (LeafIndex leaf = 0; leaf < mesh.size(); ++leaf) {
    const Unit& unit = transition.units[transition.unit_of[leaf]];
    // p4est's weights are integers: 256 is the work of a patch without a front.
    weights[leaf] = std::max(1, static_cast<int>(std::lround(256 * unit.work / unit.members)));
  }
  return forest.cut(weights);
}

std::vector<int> Partitioner::with_zoltan(const Mesh& mesh, const Transition& transition,
                                          Balance balance) {
  Graph graph{mesh, transition, balance, {}};
  for (LeafIndex u = 0; u < transition.units.size(); ++u)
    if (mesh.home[transition.units[u].first] == rank_) graph.own.push_back(u);
  std::vector<double> centres;
  std::vector<double> weights;
  for (const LeafIndex u : graph.own) {
    const Unit& unit = graph.unit(u);
    const Leaf first = leaf_of(mesh.keys[unit.first]);
    const Leaf whole = unit.members == 1 ? first : first.parent();
    for (int axis = 0; axis < 3; ++axis) centres.push_back(whole.centre(axis));
    weights.push_back(balance == Balance::work ? unit.work
                                               : static_cast<double>(unit.most_patches()));
  }
  const std::size_t own = graph.own.size();
  rebalancer_->coordinates(valet::array_columns(centres.data(), own, 3));
  rebalancer_->weights(valet::array_columns(weights.data(), own, 1));
  // A unit's global id is its number along the curve.
  rebalancer_->global_ids(valet::array_columns(graph.own.data(), own, 1));
  if (method_ == Method::graph) {
    Zoltan_Set_Num_Edges_Multi_Fn(rebalancer_->handle(), numbers_of_edges, &graph);
    Zoltan_Set_Edge_List_Multi_Fn(rebalancer_->handle(), list_of_edges, &graph);
  }
  const valet::zoltan::Partition partition = rebalancer_->partition(own);
  std::vector<int> unit_ranks(transition.units.size(), -1);
  for (std::size_t k = 0; k < own; ++k) unit_ranks[graph.own[k]] = partition.ranks()[k];
  MPI_Allreduce(MPI_IN_PLACE, unit_ranks.data(), static_cast<int>(unit_ranks.size()), MPI_INT,
                MPI_MAX, communicator_);
  std::vector<int> home(mesh.size());
  for (LeafIndex leaf = 0; leaf < mesh.size(); ++leaf)
    home[leaf] = unit_ranks[transition.unit_of[leaf]];
  return home;
}

}  // namespace amr
