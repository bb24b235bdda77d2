// SPDX-License-Identifier: BSD-3-Clause
#include "graph.hpp"

#include <valet/error.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <numbers>
#include <random>
#include <sstream>
#include <system_error>

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

  /// The words of the next line, which may be empty; false at the end of the file.
  bool next(std::vector<std::string>& words) {
    words.clear();
    std::string line;
    do {
      ++number_;
      if (!std::getline(file_, line)) return false;
    } while (!line.empty() && line.front() == '%');
    std::istringstream stream(line);
    for (std::string word; stream >> word;) words.push_back(word);
    return true;
  }
  [[nodiscard]] std::uint64_t number_of(const std::string& word) const {
    std::uint64_t value = 0;
    const char* const end = word.data() + word.size();
    const auto [stop, code] = std::from_chars(word.data(), end, value);
    if (code != std::errc() || stop != end) fail("'" + word + "' is no number");
    return value;
  }
  /// The line read last.
  [[nodiscard]] std::uint64_t line() const { return number_; }
  [[noreturn]] void fail(const std::string& what) const { fail(number_, what); }
  [[noreturn]] void fail(std::uint64_t line, const std::string& what) const {
    throw Error(ErrorCode::invalid_argument,
                path_ + ", line " + std::to_string(line) + ": " + what);
  }

 private:
  std::string path_;
  std::ifstream file_;
  std::uint64_t number_ = 0;
};

/// The first line of a graph file.
struct GraphHead {
  std::uint64_t vertices = 0;
  std::uint64_t edges = 0;
  std::uint64_t skipped = 0;  ///< numbers of a vertex before its neighbours
  bool edge_weights = false;
};

GraphHead read_head(GraphFile& file) {
  std::vector<std::string> words;
  GraphHead head;
  if (!file.next(words) || words.size() < 2 || words.size() > 4)
    file.fail(
        "the numbers of vertices and edges are expected, perhaps a code for weights and "
        "their number");
  head.vertices = file.number_of(words[0]);
  head.edges = file.number_of(words[1]);
  if (head.vertices == 0 || head.vertices > 0x7fffffff)
    file.fail(words[0] + " vertices, but 1 to 2147483647 can be read");
  std::string code = words.size() > 2 ? words[2] : "0";
  if (code.size() > 3 || code.find_first_not_of("01") != std::string::npos)
    file.fail("'" + code + "' is no code for weights; 0, 1, 10, 11 or three digits of these");
  code.insert(0, 3 - code.size(), '0');
  const std::uint64_t weights = words.size() > 3 ? file.number_of(words[3]) : 1;
  head.edge_weights = code[2] == '1';
  head.skipped = (code[0] == '1' ? 1U : 0U) + (code[1] == '1' ? weights : 0U);
  return head;
}

/// Appends the neighbours of the next vertex.
void read_vertex(GraphFile& file, const GraphHead& head, Graph& graph) {
  std::vector<std::string> words;
  const std::uint64_t self = graph.first.size();  // from 1
  if (!file.next(words))
    file.fail("the file ends before vertex " + std::to_string(self) + " of " +
              std::to_string(head.vertices));
  const std::size_t step = head.edge_weights ? 2 : 1;
  if (words.size() < head.skipped || (words.size() - head.skipped) % step != 0)
    file.fail("a weight is missing");
  for (std::size_t k = 0; k < words.size(); ++k) {
    const std::uint64_t value = file.number_of(words[k]);
    if (k < head.skipped || (k - head.skipped) % step != 0) continue;
    if (value == 0 || value > head.vertices)
      file.fail("vertex " + words[k] + ", but they are 1 to " + std::to_string(head.vertices));
    if (value == self) file.fail("vertex " + words[k] + " is its own neighbour");
    graph.neighbours.push_back(static_cast<std::uint32_t>(value - 1));
  }
  graph.first.push_back(static_cast<std::uint32_t>(graph.neighbours.size()));
}

/// @param lines  Of every vertex.
void require_both_ways(const GraphFile& file, const Graph& graph,
                       const std::vector<std::uint64_t>& lines) {
  for (std::uint32_t v = 0; v < graph.vertices(); ++v)
    for (std::uint32_t e = graph.first[v]; e < graph.first[v + 1]; ++e) {
      const std::uint32_t other = graph.neighbours[e];
      const auto first = graph.neighbours.begin() + graph.first[other];
      const auto last = graph.neighbours.begin() + graph.first[other + 1];
      if (std::find(first, last, v) == last)
        file.fail(lines[v], "vertex " + std::to_string(v + 1) + " has the neighbour " +
                                std::to_string(other + 1) + ", which does not have it");
    }
}

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
  const GraphHead head = read_head(file);
  const std::uint64_t head_line = file.line();
  Graph graph;
  std::vector<std::uint64_t> lines;
  for (std::uint64_t v = 0; v < head.vertices; ++v) {
    read_vertex(file, head, graph);
    lines.push_back(file.line());
  }
  std::vector<std::string> words;
  while (file.next(words))
    if (!words.empty()) file.fail("more lines than " + std::to_string(head.vertices) + " vertices");
  require_both_ways(file, graph, lines);
  if (graph.neighbours.size() != 2 * head.edges)
    file.fail(head_line, std::to_string(head.edges) + " edges, but " +
                             std::to_string(graph.neighbours.size() / 2) + " are listed");
  return graph;
}

}  // namespace valet::bench
