// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Graphs whose partitions give instances to the phases benchmark; every rank has all of it.

#include "tools/text_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <random>
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

/// The first line of a graph file.
struct GraphHead {
  std::uint64_t vertices = 0;
  std::uint64_t edges = 0;
  std::uint64_t skipped = 0;  ///< numbers of a vertex before its neighbours
  bool edge_weights = false;
};

inline GraphHead read_head(tools::TextFile& file) {
  const tools::TextFile::Words words = file.next().value_or(tools::TextFile::Words());
  GraphHead head;
  if (words.size() < 2 || words.size() > 4)
    file.fail(
        "the numbers of vertices and edges are expected, perhaps a code for weights and their "
        "number");
  head.vertices = file.number(words[0]);
  head.edges = file.number(words[1]);
  if (head.vertices == 0 || head.vertices > 0x7fffffff)
    file.fail(words[0], " vertices, but 1 to 2147483647 can be read");
  std::string code = words.size() > 2 ? words[2] : "0";
  if (code.size() > 3 || code.find_first_not_of("01") != std::string::npos)
    file.fail("'", code, "' is no code for weights; 0, 1, 10, 11 or three digits of these");
  code.insert(0, 3 - code.size(), '0');
  const std::uint64_t weights = words.size() > 3 ? file.number(words[3]) : 1;
  head.edge_weights = code[2] == '1';
  head.skipped = (code[0] == '1' ? 1U : 0U) + (code[1] == '1' ? weights : 0U);
  return head;
}

/// Appends the neighbours of the next vertex.
inline void read_vertex(tools::TextFile& file, const GraphHead& head, Graph& graph) {
  const std::uint64_t self = graph.first.size();  // from 1
  const std::optional<tools::TextFile::Words> words = file.next();
  if (!words) file.fail("the file ends before vertex ", self, " of ", head.vertices);
  const std::size_t step = head.edge_weights ? 2 : 1;
  if (words->size() < head.skipped || (words->size() - head.skipped) % step != 0)
    file.fail("a weight is missing");
  for (std::size_t k = 0; k < words->size(); ++k) {
    const std::string& word = (*words)[k];
    const std::uint64_t value = file.number(word);
    if (k < head.skipped || (k - head.skipped) % step != 0) continue;
    if (value == 0 || value > head.vertices)
      file.fail("vertex ", word, ", but they are 1 to ", head.vertices);
    if (value == self) file.fail("vertex ", word, " is its own neighbour");
    graph.neighbours.push_back(static_cast<std::uint32_t>(value - 1));
  }
  graph.end_vertex();
}

/// @param lines  The line of every vertex.
inline void require_both_ways(const tools::TextFile& file, const Graph& graph,
                              const std::vector<std::uint64_t>& lines) {
  for (std::uint32_t v = 0; v < graph.vertices(); ++v)
    for (const std::uint32_t other : graph.neighbours_of(v))
      if (std::ranges::count(graph.neighbours_of(other), v) == 0)
        file.fail_at(lines[v], "vertex ", v + 1, " has the neighbour ", other + 1,
                     ", which does not have it");
}

/// A grid of side^3 vertices, each with up to six neighbours.
[[nodiscard]] inline Graph grid_graph(std::uint32_t side) {
  Graph graph;
  const std::uint32_t steps[3] = {1, side, side * side};
  for (std::uint32_t v = 0; v < side * side * side; ++v) {
    for (const std::uint32_t step : steps) {
      const std::uint32_t at = v / step % side;
      if (at > 0) graph.neighbours.push_back(v - step);
      if (at + 1 < side) graph.neighbours.push_back(v + step);
    }
    graph.end_vertex();
  }
  return graph;
}

/// Random points in the unit square, joined where they are close: about `degree` neighbours each.
[[nodiscard]] inline Graph geometric_graph(std::uint32_t vertices, double degree,
                                           std::uint64_t seed) {
  const double reach = std::sqrt(degree / (std::numbers::pi * static_cast<double>(vertices)));
  // Points sorted into square cells as wide as the reach, so that neighbours are in adjacent ones.
  const std::uint32_t side = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(1 / reach));
  const auto cell = [=](double at) {
    return std::min(side - 1, static_cast<std::uint32_t>(at * side));
  };
  std::vector<std::vector<std::uint32_t>> cells(std::size_t{side} * side);
  std::vector<double> x, y;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> anywhere(0, 1);
  for (std::uint32_t v = 0; v < vertices; ++v) {
    x.push_back(anywhere(random));
    y.push_back(anywhere(random));
    cells[std::size_t{cell(x[v])} * side + cell(y[v])].push_back(v);
  }
  Graph graph;
  for (std::uint32_t v = 0; v < vertices; ++v) {
    const std::uint32_t i = cell(x[v]), j = cell(y[v]);
    for (std::uint32_t row = i - std::min(i, 1U); row <= std::min(i + 1, side - 1); ++row)
      for (std::uint32_t column = j - std::min(j, 1U); column <= std::min(j + 1, side - 1);
           ++column)
        for (const std::uint32_t other : cells[std::size_t{row} * side + column])
          if (other != v && std::hypot(x[v] - x[other], y[v] - y[other]) < reach)
            graph.neighbours.push_back(other);
    graph.end_vertex();
  }
  return graph;
}

/// Reads the format of METIS and Chaco: a line with the vertices, the edges and perhaps a code for
/// weights, then a line with the neighbours of each vertex, from 1; % begins a comment. Weights are
/// skipped.
/// @throws Error invalid_argument that names the file, the line and what is wrong.
[[nodiscard]] inline Graph read_graph(const std::string& path) {
  tools::TextFile file(path, "%");
  const GraphHead head = read_head(file);
  const std::uint64_t head_line = file.line();
  Graph graph;
  std::vector<std::uint64_t> lines;
  for (std::uint64_t v = 0; v < head.vertices; ++v) {
    read_vertex(file, head, graph);
    lines.push_back(file.line());
  }
  if (!file.next_words().empty()) file.fail("more lines than ", head.vertices, " vertices");
  require_both_ways(file, graph, lines);
  if (graph.neighbours.size() != 2 * head.edges)
    file.fail_at(head_line, head.edges, " edges, but ", graph.neighbours.size() / 2, " are listed");
  return graph;
}

}  // namespace valet::bench
