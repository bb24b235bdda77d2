// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Graphs whose partitions give instances to the phases benchmark; every rank has all of it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace valet::bench {

/// Neighbours of vertex v: neighbours[first[v]] to neighbours[first[v + 1] - 1].
struct Graph {
  std::vector<std::uint32_t> first{0};
  std::vector<std::uint32_t> neighbours;
  [[nodiscard]] std::uint32_t vertices() const {
    return static_cast<std::uint32_t>(first.size() - 1);
  }
  [[nodiscard]] std::span<const std::uint32_t> neighbours_of(std::uint32_t vertex) const {
    return {neighbours.begin() + first[vertex], neighbours.begin() + first[vertex + 1]};
  }
  /// The neighbours appended since the last call are those of the next vertex.
  void end_vertex() { first.push_back(static_cast<std::uint32_t>(neighbours.size())); }
};

/// A grid of side^3 vertices, each with up to six neighbours.
[[nodiscard]] Graph grid_graph(std::uint32_t side);

/// Random points in the unit square, joined where they are close: about `degree` neighbours each.
[[nodiscard]] Graph geometric_graph(std::uint32_t vertices, double degree, std::uint64_t seed);

/// Reads the format of METIS and Chaco: a line with the vertices, the edges and perhaps a code for
/// weights, then a line with the neighbours of each vertex, from 1; % begins a comment. Weights are
/// skipped.
/// @throws Error invalid_argument that names the file, the line and what is wrong.
[[nodiscard]] Graph read_graph(const std::string& path);

}  // namespace valet::bench
