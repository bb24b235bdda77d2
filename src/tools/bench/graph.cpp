// SPDX-License-Identifier: BSD-3-Clause
#include "graph.hpp"

#include <valet/error.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <random>
#include <sstream>

namespace valet::bench {
namespace {

/// Points sorted into square cells as wide as the reach, so that neighbours are in adjacent ones.
class Cells {
 public:
  Cells(std::uint32_t points, double reach, std::uint64_t seed)
      : side_(std::max<std::uint32_t>(1, static_cast<std::uint32_t>(1 / reach))),
        reach_(reach),
        cells_(std::size_t{side_} * side_) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> anywhere(0, 1);
    for (std::uint32_t p = 0; p < points; ++p) {
      x_.push_back(anywhere(random));
      y_.push_back(anywhere(random));
      cells_[std::size_t{column(x_[p])} * side_ + column(y_[p])].push_back(p);
    }
  }

  void append_neighbours(std::uint32_t p, std::vector<std::uint32_t>& list) const {
    const std::uint32_t cx = column(x_[p]);
    const std::uint32_t cy = column(y_[p]);
    for (std::uint32_t i = cx - std::min(cx, 1U); i <= std::min(cx + 1, side_ - 1); ++i)
      for (std::uint32_t j = cy - std::min(cy, 1U); j <= std::min(cy + 1, side_ - 1); ++j)
        for (const std::uint32_t q : cells_[std::size_t{i} * side_ + j])
          if (q != p && std::hypot(x_[p] - x_[q], y_[p] - y_[q]) < reach_) list.push_back(q);
  }

 private:
  [[nodiscard]] std::uint32_t column(double at) const {
    return std::min(side_ - 1, static_cast<std::uint32_t>(at * side_));
  }

  std::uint32_t side_;
  double reach_;
  std::vector<std::vector<std::uint32_t>> cells_;
  std::vector<double> x_, y_;
};

/// Lines of a graph file that are no comments, and what is wrong with them.
class GraphFile {
 public:
  explicit GraphFile(const std::string& path) : path_(path), file_(path) {
    if (!file_) throw Error(ErrorCode::invalid_argument, "cannot read the graph " + path);
  }
  std::istringstream next() {
    std::string line;
    do {
      if (!std::getline(file_, line)) fail("the file ends before all vertices");
      ++number_;
    } while (!line.empty() && line.front() == '%');
    return std::istringstream(line);
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::invalid_argument,
                path_ + ", line " + std::to_string(number_) + ": " + what);
  }

 private:
  std::string path_;
  std::ifstream file_;
  std::uint64_t number_ = 0;
};

}  // namespace

Graph grid_graph(std::uint32_t side) {
  Graph graph;
  const std::uint32_t steps[3] = {1, side, side * side};
  for (std::uint32_t v = 0; v < side * side * side; ++v) {
    for (const std::uint32_t step : steps) {
      const std::uint32_t at = v / step % side;
      if (at > 0) graph.neighbours.push_back(v - step);
      if (at + 1 < side) graph.neighbours.push_back(v + step);
    }
    graph.first.push_back(static_cast<std::uint32_t>(graph.neighbours.size()));
  }
  return graph;
}

Graph geometric_graph(std::uint32_t vertices, double degree, std::uint64_t seed) {
  const double reach = std::sqrt(degree / (std::numbers::pi * static_cast<double>(vertices)));
  const Cells cells(vertices, reach, seed);
  Graph graph;
  for (std::uint32_t v = 0; v < vertices; ++v) {
    cells.append_neighbours(v, graph.neighbours);
    graph.first.push_back(static_cast<std::uint32_t>(graph.neighbours.size()));
  }
  return graph;
}

Graph read_graph(const std::string& path) {
  GraphFile file(path);
  std::istringstream head = file.next();
  std::uint64_t vertices = 0;
  std::uint64_t edges = 0;
  std::string code = "0";
  std::uint64_t weights = 0;
  if (!(head >> vertices >> edges) || vertices == 0 || vertices > 0xffffffff)
    file.fail("the numbers of vertices and edges are expected");
  head >> code >> weights;
  if (code.size() > 3 || code.find_first_not_of("01") != std::string::npos)
    file.fail("'" + code + "' is no code for weights; 0, 1, 10, 11 or three digits of these");
  code.insert(0, 3 - code.size(), '0');
  const bool edge_weights = code[2] == '1';
  const std::uint64_t skipped =
      (code[0] == '1' ? 1U : 0U) + (code[1] == '1' ? std::max<std::uint64_t>(1, weights) : 0U);
  Graph graph;
  for (std::uint64_t v = 0; v < vertices; ++v) {
    std::istringstream line = file.next();
    std::uint64_t value = 0;
    for (std::uint64_t k = 0; k < skipped; ++k) line >> value;
    while (line >> value) {
      if (value == 0 || value > vertices)
        file.fail("vertex " + std::to_string(value) + ", but they are 1 to " +
                  std::to_string(vertices));
      graph.neighbours.push_back(static_cast<std::uint32_t>(value - 1));
      if (edge_weights) line >> value;
    }
    if (!line.eof()) file.fail("a number is expected");
    graph.first.push_back(static_cast<std::uint32_t>(graph.neighbours.size()));
  }
  if (graph.neighbours.size() != 2 * edges)
    file.fail(std::to_string(graph.neighbours.size()) + " neighbours in all, but " +
              std::to_string(edges) + " edges have " + std::to_string(2 * edges));
  return graph;
}

}  // namespace valet::bench
