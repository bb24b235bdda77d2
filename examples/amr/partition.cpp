// SPDX-License-Identifier: BSD-3-Clause
#include "partition.hpp"

#include <zoltan.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace amr {
namespace {

/// What Zoltan's query functions look at.
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

int number_of_units(void* data, int* error) {
  *error = ZOLTAN_OK;
  return static_cast<int>(graph_of(data).own.size());
}

// A unit's global id is its number along the curve, its local id the place in `own`.
void list_of_units(void* data, int, int, ZOLTAN_ID_PTR global_ids, ZOLTAN_ID_PTR local_ids, int,
                   float* weights, int* error) {
  const Graph& graph = graph_of(data);
  for (std::size_t k = 0; k < graph.own.size(); ++k) {
    global_ids[k] = graph.own[k];
    local_ids[k] = static_cast<ZOLTAN_ID_TYPE>(k);
    const Unit& unit = graph.unit(graph.own[k]);
    weights[k] = graph.balance == Balance::work ? static_cast<float>(unit.work)
                                                : static_cast<float>(unit.most_patches());
  }
  *error = ZOLTAN_OK;
}

int number_of_axes(void*, int* error) {
  *error = ZOLTAN_OK;
  return 3;
}

void list_of_centres(void* data, int, int, int count, ZOLTAN_ID_PTR global_ids, ZOLTAN_ID_PTR, int,
                     double* centres, int* error) {
  const Graph& graph = graph_of(data);
  for (int k = 0; k < count; ++k) {
    const Unit& unit = graph.unit(global_ids[k]);
    const Leaf first = leaf_of(graph.mesh.keys[unit.first]);
    const Leaf whole = unit.members == 1 ? first : first.parent();
    for (int axis = 0; axis < 3; ++axis) *centres++ = whole.centre(axis);
  }
  *error = ZOLTAN_OK;
}

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

/// The leaving units of this rank as Zoltan gives them.
struct Exports {
  int count = 0;
  ZOLTAN_ID_PTR global_ids = nullptr;
  ZOLTAN_ID_PTR local_ids = nullptr;
  int* ranks = nullptr;
  int* parts = nullptr;

  Exports() = default;
  Exports(const Exports&) = delete;
  Exports& operator=(const Exports&) = delete;
  ~Exports() { Zoltan_LB_Free_Part(&global_ids, &local_ids, &ranks, &parts); }
};

void call_zoltan(Zoltan_Struct* zoltan, Exports& exports, MPI_Comm communicator) {
  int changes = 0;
  int gid_entries = 1;
  int lid_entries = 1;
  int imports = 0;
  ZOLTAN_ID_PTR import_gids = nullptr;
  ZOLTAN_ID_PTR import_lids = nullptr;
  int* import_ranks = nullptr;
  int* import_parts = nullptr;
  const int code =
      Zoltan_LB_Partition(zoltan, &changes, &gid_entries, &lid_entries, &imports, &import_gids,
                          &import_lids, &import_ranks, &import_parts, &exports.count,
                          &exports.global_ids, &exports.local_ids, &exports.ranks, &exports.parts);
  Zoltan_LB_Free_Part(&import_gids, &import_lids, &import_ranks, &import_parts);
  int failed = code == ZOLTAN_OK || code == ZOLTAN_WARN ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, communicator);
  if (failed != 0) throw std::runtime_error("Zoltan could not partition; it says why above");
}

}  // namespace

void Partitioner::Destroy::operator()(Zoltan_Struct* zoltan) const { Zoltan_Destroy(&zoltan); }

Partitioner::Partitioner(MPI_Comm communicator, Method method)
    : communicator_(communicator), method_(method) {
  MPI_Comm_rank(communicator, &rank_);
  MPI_Comm_size(communicator, &size_);
  if (method == Method::curve) return;
  float version = 0;
  Zoltan_Initialize(0, nullptr, &version);
  zoltan_.reset(Zoltan_Create(communicator));
  const auto set = [this](const char* name, const char* value) {
    if (Zoltan_Set_Param(zoltan_.get(), name, value) != ZOLTAN_OK)
      throw std::runtime_error(std::string("Zoltan refuses the parameter ") + name);
  };
  set("DEBUG_LEVEL", "0");
  set("LB_METHOD", method == Method::hsfc ? "HSFC" : "GRAPH");
  if (method == Method::graph) {
    set("GRAPH_PACKAGE", "PHG");
    set("LB_APPROACH", "REPARTITION");
    // A patch that moves costs as much as its layers do in this many steps; 100 without being said.
    set("PHG_REPART_MULTIPLIER", "1");
  }
  set("NUM_GID_ENTRIES", "1");
  set("NUM_LID_ENTRIES", "1");
  set("OBJ_WEIGHT_DIM", "1");
  set("RETURN_LISTS", "EXPORT");
  set("IMBALANCE_TOL", "1.02");
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
  Zoltan_Struct* const zoltan = zoltan_.get();
  Zoltan_Set_Num_Obj_Fn(zoltan, number_of_units, &graph);
  Zoltan_Set_Obj_List_Fn(zoltan, list_of_units, &graph);
  Zoltan_Set_Num_Geom_Fn(zoltan, number_of_axes, &graph);
  Zoltan_Set_Geom_Multi_Fn(zoltan, list_of_centres, &graph);
  Zoltan_Set_Num_Edges_Multi_Fn(zoltan, numbers_of_edges, &graph);
  Zoltan_Set_Edge_List_Multi_Fn(zoltan, list_of_edges, &graph);
  Exports exports;
  call_zoltan(zoltan, exports, communicator_);
  std::vector<int> unit_ranks(transition.units.size(), -1);
  for (const LeafIndex u : graph.own) unit_ranks[u] = rank_;
  for (int k = 0; k < exports.count; ++k) unit_ranks[exports.global_ids[k]] = exports.ranks[k];
  MPI_Allreduce(MPI_IN_PLACE, unit_ranks.data(), static_cast<int>(unit_ranks.size()), MPI_INT,
                MPI_MAX, communicator_);
  std::vector<int> home(mesh.size());
  for (LeafIndex leaf = 0; leaf < mesh.size(); ++leaf)
    home[leaf] = unit_ranks[transition.unit_of[leaf]];
  return home;
}

}  // namespace amr
