// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// An unstructured mesh of triangles as a client of Zoltan has it: its triangles are spread over
/// the ranks without any order, in slots without any order, and query functions answer for
/// geometric, graph and hypergraph methods, for HIER and for fixed objects.

#include "test_comm.hpp"
#include "zoltan_lists.hpp"
#include <valet/zoltan/lists.hpp>

#include <zoltan.h>

namespace valet::test {

/// Squares, each cut in two along one of its diagonals at random, with vertices moved at random;
/// triangles and vertices are numbered at random. The same on all ranks.
class Mesh {
 public:
  static constexpr int dimensions = 2;
  using Triangle = std::array<std::uint32_t, 3>;  ///< vertices

  Mesh(std::uint32_t wide, std::uint32_t high, std::uint64_t seed)
      : random_(seed), vertices_((wide + 1) * (high + 1)), triangles_(2 * wide * high) {
    const std::vector<std::uint32_t> vertex = shuffled(vertices_.size());
    const std::vector<std::uint32_t> number = shuffled(triangles_.size());
    for (std::uint32_t y = 0; y <= high; ++y)
      for (std::uint32_t x = 0; x <= wide; ++x)
        vertices_[vertex[y * (wide + 1) + x]] = {x + unit() / 2, y + unit() / 2};
    for (std::uint32_t square = 0; square < wide * high; ++square) {
      const std::uint32_t corner = square / wide * (wide + 1) + square % wide;
      const std::array<std::uint32_t, 4> around{
          vertex[corner], vertex[corner + 1], vertex[corner + wide + 2], vertex[corner + wide + 1]};
      const std::size_t turn = random_() % 2;
      triangles_[number[2 * square]] = {around[turn], around[turn + 1], around[turn + 2]};
      triangles_[number[2 * square + 1]] = {around[turn + 2], around[(turn + 3) % 4], around[turn]};
    }
    find_neighbours();
  }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(triangles_.size()); }
  [[nodiscard]] const Triangle& triangle(std::uint32_t k) const { return triangles_[k]; }
  /// Triangles that share an edge with this one.
  [[nodiscard]] const std::vector<std::uint32_t>& neighbours(std::uint32_t k) const {
    return neighbours_[k];
  }
  /// Its work, for Zoltan where OBJ_WEIGHT_DIM is 1.
  [[nodiscard]] static float weight(std::uint32_t k) { return 1.0F + static_cast<float>(k % 4); }
  [[nodiscard]] double centre(std::uint32_t k, int d) const {
    double sum = 0;
    for (const std::uint32_t v : triangles_[k]) sum += vertices_[v][static_cast<std::size_t>(d)];
    return sum / 3;
  }

 private:
  double unit() { return static_cast<double>(random_() >> 11U) * 0x1p-53; }

  std::vector<std::uint32_t> shuffled(std::size_t size) {
    std::vector<std::uint32_t> order(size);
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random_);
    return order;
  }

  void find_neighbours() {
    struct Edge {
      std::uint32_t low, high, triangle;
    };
    std::vector<Edge> edges;
    for (std::uint32_t k = 0; k < size(); ++k)
      for (std::size_t e = 0; e < 3; ++e) {
        const auto [low, high] = std::minmax(triangles_[k][e], triangles_[k][(e + 1) % 3]);
        edges.push_back({low, high, k});
      }
    std::ranges::sort(edges, [](const Edge& a, const Edge& b) {
      return std::pair(a.low, a.high) < std::pair(b.low, b.high);
    });
    neighbours_.resize(size());
    for (std::size_t e = 1; e < edges.size(); ++e) {
      const Edge& a = edges[e - 1];
      const Edge& b = edges[e];
      if (a.low != b.low || a.high != b.high) continue;
      neighbours_[a.triangle].push_back(b.triangle);
      neighbours_[b.triangle].push_back(a.triangle);
    }
  }

  std::mt19937_64 random_;
  std::vector<std::array<double, dimensions>> vertices_;
  std::vector<Triangle> triangles_;
  std::vector<std::vector<std::uint32_t>> neighbours_;
};

/// Words of ids. The last word of a global id is the number of the triangle, the first of a local
/// id its slot.
struct IdWords {
  int gid = 1;
  int lid = 1;
};

/// Which triangles this rank has, by slot; and the answers to Zoltan's questions.
class MeshClient {
 public:
  /// `some_rank_is_empty`: the last of several ranks has nothing.
  MeshClient(const Mesh& mesh, IdWords words, bool some_rank_is_empty)
      : mesh_(mesh), words_(words), owners_(mesh.size()) {
    std::mt19937_64 random(seed());
    const int owners = some_rank_is_empty && valet::test::size() > 1 ? valet::test::size() - 1
                                                                     : valet::test::size();
    for (int& owner : owners_) owner = static_cast<int>(random() % static_cast<unsigned>(owners));
    for (std::uint32_t k = 0; k < mesh.size(); ++k)
      if (owners_[k] == valet::test::rank()) mine_.push_back(k);
    std::shuffle(mine_.begin(), mine_.end(), random);
  }

  [[nodiscard]] const Mesh& mesh() const { return mesh_; }
  [[nodiscard]] const IdWords& words() const { return words_; }
  /// The triangle in each slot of this rank.
  [[nodiscard]] const std::vector<std::uint32_t>& mine() const { return mine_; }
  /// The rank of each triangle.
  [[nodiscard]] const std::vector<int>& owners() const { return owners_; }
  [[nodiscard]] std::uint32_t triangle_of(const ZOLTAN_ID_TYPE* gid) const {
    return gid[words_.gid - 1];
  }

  void write_gid(std::uint32_t triangle, ZOLTAN_ID_TYPE* gid) const {
    std::fill_n(gid, words_.gid, 7U);
    gid[words_.gid - 1] = triangle;
  }
  void write_lid(std::size_t slot, ZOLTAN_ID_TYPE* lid) const {
    if (words_.lid > 0) std::fill_n(lid, words_.lid, 99U);
    if (words_.lid > 0) *lid = static_cast<ZOLTAN_ID_TYPE>(slot);
  }

 private:
  const Mesh& mesh_;
  IdWords words_;
  std::vector<int> owners_;
  std::vector<std::uint32_t> mine_;
};

/// Zoltan's handle with all query functions of a client.
class MeshZoltan : public ZoltanHandle {
 public:
  using Parameters = ZoltanParameters;

  /// @param tells_objects  Otherwise only how they are related: somebody else says which there are.
  MeshZoltan(MeshClient& client, const Parameters& parameters, bool tells_objects = true) {
    set("NUM_GID_ENTRIES", std::to_string(client.words().gid));
    set("NUM_LID_ENTRIES", std::to_string(client.words().lid));
    for (const auto& [name, value] : parameters) set(name, value);
    tell_relations(get(), client);
    if (!tells_objects) return;
    Zoltan_Set_Num_Obj_Fn(get(), number, &client);
    Zoltan_Set_Obj_List_Fn(get(), list, &client);
    Zoltan_Set_Num_Geom_Fn(get(), geometry_dimensions, &client);
    Zoltan_Set_Geom_Multi_Fn(get(), geometry, &client);
  }

  /// Registers the queries for graphs, hypergraphs and levels.
  static void tell_relations(Zoltan_Struct* zoltan, MeshClient& client) {
    Zoltan_Set_Num_Edges_Multi_Fn(zoltan, edge_numbers, &client);
    Zoltan_Set_Edge_List_Multi_Fn(zoltan, edge_lists, &client);
    Zoltan_Set_HG_Size_CS_Fn(zoltan, hyperedge_sizes, &client);
    Zoltan_Set_HG_CS_Fn(zoltan, hyperedges, &client);
    Zoltan_Set_Hier_Num_Levels_Fn(zoltan, levels, &client);
    Zoltan_Set_Hier_Part_Fn(zoltan, part_at_level, &client);
    Zoltan_Set_Hier_Method_Fn(zoltan, method_at_level, &client);
  }

 private:
  static const MeshClient& client(void* data) { return *static_cast<MeshClient*>(data); }

  static int number(void* data, int* error) {
    *error = ZOLTAN_OK;
    return static_cast<int>(client(data).mine().size());
  }
  static void list(void* data, int, int, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids, int dimensions,
                   float* weights, int* error) {
    *error = ZOLTAN_OK;
    const MeshClient& all = client(data);
    for (std::size_t slot = 0; slot < all.mine().size(); ++slot) {
      all.write_gid(all.mine()[slot], gids);
      all.write_lid(slot, lids);
      if (dimensions > 0) weights[slot] = Mesh::weight(all.mine()[slot]);
      gids += all.words().gid;
      lids += all.words().lid;
    }
  }
  static int geometry_dimensions(void*, int* error) {
    *error = ZOLTAN_OK;
    return Mesh::dimensions;
  }
  static void geometry(void* data, int, int, int count, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR,
                       int dimensions, double* centres, int* error) {
    *error = ZOLTAN_OK;
    const MeshClient& all = client(data);
    for (int k = 0; k < count; ++k)
      for (int d = 0; d < dimensions; ++d)
        *centres++ = all.mesh().centre(all.triangle_of(gids + k * all.words().gid), d);
  }
  static void edge_numbers(void* data, int, int, int count, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR,
                           int* numbers, int* error) {
    *error = ZOLTAN_OK;
    const MeshClient& all = client(data);
    for (int k = 0; k < count; ++k)
      numbers[k] = static_cast<int>(
          all.mesh().neighbours(all.triangle_of(gids + k * all.words().gid)).size());
  }
  static void edge_lists(void* data, int, int, int count, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR, int*,
                         ZOLTAN_ID_PTR neighbours, int* ranks, int, float*, int* error) {
    *error = ZOLTAN_OK;
    const MeshClient& all = client(data);
    for (int k = 0; k < count; ++k)
      for (const std::uint32_t neighbour :
           all.mesh().neighbours(all.triangle_of(gids + k * all.words().gid))) {
        all.write_gid(neighbour, neighbours);
        neighbours += all.words().gid;
        *ranks++ = all.owners()[neighbour];
      }
  }
  /// Each triangle is a vertex, and a hyperedge of itself and its neighbours.
  static void hyperedge_sizes(void* data, int* lists, int* pins, int* format, int* error) {
    *error = ZOLTAN_OK;
    const MeshClient& all = client(data);
    *lists = static_cast<int>(all.mine().size());
    *pins = *lists;
    for (const std::uint32_t k : all.mine())
      *pins += static_cast<int>(all.mesh().neighbours(k).size());
    *format = ZOLTAN_COMPRESSED_EDGE;
  }
  static void hyperedges(void* data, int, int, int, int, ZOLTAN_ID_PTR edges, int* first,
                         ZOLTAN_ID_PTR pins, int* error) {
    *error = ZOLTAN_OK;
    const MeshClient& all = client(data);
    int next = 0;
    const auto add = [&](std::uint32_t triangle) {
      all.write_gid(triangle, pins + next++ * all.words().gid);
    };
    for (const std::uint32_t k : all.mine()) {
      all.write_gid(k, edges);
      edges += all.words().gid;
      *first++ = next;
      add(k);
      for (const std::uint32_t neighbour : all.mesh().neighbours(k)) add(neighbour);
    }
  }
  /// HIER: halves of the ranks by RCB, then ranks by HSFC.
  static int levels(void*, int* error) {
    *error = ZOLTAN_OK;
    return 2;
  }
  static int part_at_level(void*, int level, int* error) {
    *error = ZOLTAN_OK;
    const int half = (size() + 1) / 2;
    return level == 0 ? rank() / half : rank() % half;
  }
  static void method_at_level(void*, int level, Zoltan_Struct* zoltan, int* error) {
    *error = ZOLTAN_OK;
    Zoltan_Set_Param(zoltan, "LB_METHOD", level == 0 ? "RCB" : "HSFC");
  }
};

/// The lists of Zoltan's partition as Valet takes them.
class MeshLists : public ZoltanLists {
 public:
  explicit MeshLists(const MeshZoltan& zoltan) : ZoltanLists(zoltan.get()) {}
  [[nodiscard]] zoltan::PartitionLists lists() const {
    const auto list_of = [](const Arrays& all) {
      return zoltan::PartitionList{all.count, all.gids, all.lids, all.procs, all.parts};
    };
    return {gid_entries(), lid_entries(), list_of(imports()), list_of(exports())};
  }
};

}  // namespace valet::test
